"""Typed Python signatures for tools, made from their JSON Schemas."""

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright.tools import Tool

__all__ = ["Stub", "make_stub", "stub_module"]

_HEADER = "from typing import Any, Literal, NotRequired, TypedDict\n"
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass(frozen=True, slots=True)
class Stub:
    """A tool as a function: its name in code, its parameters in order, and its text."""

    tool: Tool
    function: str
    parameters: tuple[str, ...]
    text: str
    """The declarations it needs and its own."""
    returns_text: bool
    """Whether its result is text rather than JSON."""
    known_return: bool
    is_ours: bool = False
    """Whether it is a part of code mode itself, which no policy is about."""


def make_stub(tool: Tool, returns: Mapping[str, Any] | None = None) -> Stub:
    """The stub of one tool; `returns` is the schema of its result, where it is known."""
    returns = returns if returns is not None else tool.spec.returns
    function = _identifier(tool.name)
    writer = _Types(_camel(function), tool.spec.parameters)
    names = _ordered(tool.spec.parameters)
    arguments = [writer.parameter(name) for name in names]
    result = "Any" if returns is None else _Types(f"{_camel(function)}Result", returns).root(writer)
    signature = f"async def {function}({', '.join(arguments)}) -> {result}:"
    body = f"    {_docstring(tool)}\n    ..."
    text = "\n\n".join([*writer.declarations, f"{signature}\n{body}"])
    kind = (returns or {}).get("type")
    return Stub(tool, function, tuple(names), text, kind == "string", returns is not None)


def stub_module(stubs: Sequence[Stub]) -> str:
    """All stubs as one module."""
    return "\n\n".join([_HEADER, *(stub.text for stub in stubs)])


@dataclass(slots=True)
class _Types:
    """Writes the types of one schema; objects with known fields become classes."""

    name: str
    schema: Mapping[str, Any]
    declarations: list[str] = field(default_factory=list)
    _declared: set[str] = field(default_factory=set)
    _references: dict[str, str] = field(default_factory=dict)

    def parameter(self, name: str) -> str:
        """One parameter of the function."""
        schema = self.schema["properties"][name]
        written = self.type(schema, f"{self.name}{_camel(name)}")
        if name in self.schema.get("required", ()):
            return f"{name}: {written}"
        given = schema if isinstance(schema, Mapping) else {}
        if "default" not in given and "None" not in written:
            written = f"{written} | None"
        return f"{name}: {written} = {given.get('default')!r}"

    def root(self, writer: "_Types") -> str:
        """The type of the whole schema; its classes go to `writer`."""
        self.declarations = writer.declarations
        return self.type(self.schema, self.name)

    def type(self, schema: Any, name: str) -> str:
        """The Python type for a schema."""
        if not isinstance(schema, Mapping):
            return "Any"
        if "$ref" in schema:
            return self._reference(schema["$ref"])
        if "enum" in schema:
            return _literal(schema["enum"])
        if "const" in schema:
            return _literal([schema["const"]])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return _union([self.type(option, name) for option in schema[key]])
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return _union([self.type({**schema, "type": kind}, name) for kind in kinds])
        if kinds == "array":
            return f"list[{self.type(schema.get('items'), f'{name}Item')}]"
        if kinds == "object":
            return self._object(schema, name)
        return _SCALARS.get(kinds or "", "Any")

    def _reference(self, reference: str) -> str:
        name = reference.rsplit("/", 1)[-1]
        target = self.schema.get("$defs", {}).get(name)
        if target is None:
            return "Any"
        if name not in self._references:
            # Named after the tool as well: two tools may mean different things by one name.
            own = f"{self.name}{_camel(name)}"
            # Found inside itself: a class has a name, what else it is cannot be said there.
            self._references[name] = own if _is_class(target) else "Any"
            self._references[name] = self.type(target, own)
        return self._references[name]

    def _object(self, schema: Mapping[str, Any], name: str) -> str:
        properties = schema.get("properties") or {}
        if not _is_class(schema):
            values = schema.get("additionalProperties")
            return f"dict[str, {self.type(values, f'{name}Value')}]"
        if name not in self._declared:
            self._declared.add(name)
            required = schema.get("required", ())
            fields = [
                f"    {key}: {_required(self.type(value, name + _camel(key)), key in required)}"
                for key, value in properties.items()
            ]
            self.declarations.append("\n".join([f"class {name}(TypedDict):", *fields]))
        return name


def _is_class(schema: Any) -> bool:
    """Whether it is an object whose fields have names that Python takes."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    is_object = bool(properties) and schema.get("type") == "object"
    return is_object and all(_is_name(key) for key in properties or ())


def _required(written: str, required: bool) -> str:
    return written if required else f"NotRequired[{written}]"


def _ordered(schema: Mapping[str, Any]) -> list[str]:
    """Required parameters first, as Python wants it; each group in the schema's order."""
    names = [name for name in schema.get("properties", {}) if _is_name(name)]
    required = set(schema.get("required", ()))
    return sorted(names, key=lambda name: name not in required)


def _literal(values: Sequence[Any]) -> str:
    plain = [value for value in values if isinstance(value, str | int | bool) or value is None]
    return f"Literal[{', '.join(map(repr, plain))}]" if plain else "Any"


def _union(options: Sequence[str]) -> str:
    unique = list(dict.fromkeys(options))
    return "Any" if "Any" in unique else " | ".join(unique)


def _docstring(tool: Tool) -> str:
    lines = [tool.spec.description_with_examples.strip()]
    for name, schema in tool.spec.parameters.get("properties", {}).items():
        if isinstance(schema, Mapping) and schema.get("description"):
            lines.append(f"{name}: {schema['description']}")
    text = "\n    ".join(line for line in lines if line).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}"""' if text else '""""""'


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    plain = f"_{plain}" if plain[:1].isdigit() else plain
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", name) if part)
