"""YAML read in one way everywhere: the types of YAML 1.2, no key twice, and nothing that blows up."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

__all__ = ["YamlError", "load_yaml"]

# As deep as the JSON reader goes. Without a limit the C loader ends the whole process.
_DEEPEST = 200
_MOST_NODES = 1_000_000
_MERGE = "tag:yaml.org,2002:merge"
_TYPES = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
        r"|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    "merge": (r"<<", ["<"]),
}


class YamlError(ValueError):
    """The text is not YAML, or not YAML that is taken; `line` counts from 1, if it is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem if line is None else f"{problem} (line {line})")
        self.problem = problem
        self.line = line


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Values as YAML 1.2 and JSON mean them: `no` and `22:22` are texts, and so is a date."""

    depth = 0
    text_keys = False

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise YamlError(f"more than {_DEEPEST} levels deep")
        super().descend_resolver(current_node, current_index)

    def ascend_resolver(self) -> None:
        self.depth -= 1
        super().ascend_resolver()

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        made = super().construct_mapping(node, deep)
        return {_as_text(key): value for key, value in made.items()} if self.text_keys else made

    def construct_yaml_int(self, node: Any) -> int:
        text = self.construct_scalar(node)
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_Loader.yaml_implicit_resolvers = {}
for _name, (_pattern, _first) in _TYPES.items():
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), _first
    )
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def load_yaml(
    text: str | bytes,
    *,
    unique_keys: bool = True,
    text_keys: bool = False,
    aliases: bool = True,
) -> tuple[Any, Any]:
    """The value in `text`, and PyYAML's node of it, which knows the lines; or a `YamlError`.

    `unique_keys=False` lets the last of two equal keys win, for documents that others wrote;
    `text_keys` makes every key a text, as in JSON. An alias may neither contain itself nor multiply
    beyond reason; with `aliases=False` there is none.
    """
    try:
        loader = _Loader(text)
        loader.text_keys = text_keys
        try:
            node = loader.get_single_node()
            if node is not None and (unique_keys or not aliases or _may_have_aliases(text)):
                _Check(unique_keys, aliases).size(node)
            return (None if node is None else loader.construct_document(node)), node
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        raise YamlError(problem, None if mark is None else mark.line + 1) from error
    except YamlError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(str(error)) from error


def _as_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _may_have_aliases(text: str | bytes) -> bool:
    if isinstance(text, bytes):
        return b"&" in text and b"*" in text
    return "&" in text and "*" in text


class _Check:
    """Looks at the nodes before values are made of them, where an alias is one node met again."""

    def __init__(self, unique_keys: bool, aliases: bool) -> None:
        self._unique_keys = unique_keys
        self._aliases = aliases
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()

    def size(self, node: Any) -> int:
        """How many nodes there are with all aliases written out; `YamlError` if that is too much."""
        line = node.start_mark.line + 1
        if id(node) in self._open:
            raise YamlError("an alias contains itself", line)
        if id(node) in self._sizes:
            if not self._aliases:
                raise YamlError("aliases are not allowed", line)
            return self._sizes[id(node)]
        if self._unique_keys and isinstance(node, yaml.MappingNode):
            _refuse_equal_keys(node)
        self._open.add(id(node))
        total = 1 + sum(self.size(child) for child in _children(node))
        self._open.remove(id(node))
        if total > _MOST_NODES:
            raise YamlError(f"its aliases make more than {_MOST_NODES:,} values of it", line)
        self._sizes[id(node)] = total
        return total


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _refuse_equal_keys(node: Any) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
            continue
        line = key.start_mark.line + 1
        if (key.tag, key.value) in lines:
            first = lines[key.tag, key.value]
            raise YamlError(f"{key.value!r} is there twice, first in line {first}", line)
        lines[key.tag, key.value] = line
