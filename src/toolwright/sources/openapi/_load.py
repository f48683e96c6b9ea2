"""Turn the text of a document, JSON or YAML, into plain values."""

import re
from typing import Any, Literal

import pydantic_core
import yaml

from toolwright.errors import UsageError

__all__ = ["TextKind", "parse_text"]

TextKind = Literal["json", "yaml"]
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _PlainLoader(_Loader):
    """YAML as OpenAPI means it: JSON's types only, and every key a string.

    Without this `no` is false, `2024-01-31` a date and `200:` a number.
    """

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        return {_key(key): value for key, value in super().construct_mapping(node, deep).items()}


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


_PlainLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":bool"))
    ]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"),
    list("tTfF"),
)  # fmt: skip


def parse_text(text: str | bytes, kind: TextKind | None = None, *, origin: str) -> Any:
    """The values in `text`; without a `kind`, a brace at the start means JSON.

    `origin` says in errors where the text came from.
    """
    if kind not in (None, "json", "yaml"):
        raise UsageError(f"A document is written in 'json' or 'yaml'; got {kind!r}.")
    if isinstance(text, bytes):
        text = text.removeprefix(b"\xef\xbb\xbf")
        kind = kind or ("json" if text.lstrip()[:1] == b"{" else "yaml")
    else:
        text = text.removeprefix("\ufeff")
        kind = kind or ("json" if text.lstrip()[:1] == "{" else "yaml")
    return _parse_json(text, origin) if kind == "json" else _parse_yaml(text, origin)


def _parse_json(text: str | bytes, origin: str) -> Any:
    try:
        # A third of the time and memory of the standard library: big documents repeat their keys.
        return pydantic_core.from_json(text)
    except ValueError as error:
        raise UsageError(
            f"{origin} is not JSON: {error}. If it is YAML, say so with spec_str_type='yaml'."
        ) from error


def _parse_yaml(text: str | bytes, origin: str) -> Any:
    try:
        return yaml.load(text, Loader=_PlainLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{origin} is not YAML: {error}") from error
