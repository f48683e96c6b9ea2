"""Write a parameter's value as OpenAPI's styles want it: `form`, `simple`, `matrix` and the others."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from toolwright.errors import ToolError

__all__ = ["Pair", "cookie_text", "header_text", "path_text", "plain_text", "query_pairs"]

Pair = tuple[str, str]
"""A key and a value, both percent-encoded."""

_RESERVED = ":/?@!$'()*,;"  # Not those that would end the value or start another: & = # + [ ]
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "|"}


def plain_text(value: Any) -> str:
    """A single value as text: `true`, `1.5`, or JSON for what has no text of its own."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def query_pairs(
    name: str, value: Any, *, style: str = "form", explode: bool = True, reserved: bool = False
) -> list[Pair]:
    """One parameter of a query or a form, as pairs."""
    key, safe = quote(name, safe="[]"), _RESERVED if reserved else ""
    if style == "deepObject" and isinstance(value, Mapping):
        return _deep_pairs(key, value, safe)
    if isinstance(value, Mapping):
        if explode:
            return [(quote(str(k), safe=""), _quoted(v, safe)) for k, v in value.items()]
        return [(key, _joined(_flat(value), style, safe))]
    if isinstance(value, Sequence) and not isinstance(value, str):
        if explode:
            return [(key, _quoted(item, safe)) for item in value]
        return [(key, _joined(value, style, safe))]
    return [(key, _quoted(value, safe))]


def path_text(name: str, value: Any, *, style: str = "simple", explode: bool = False) -> str:
    """One parameter of a path."""
    if style == "label":
        return "." + _path_items(value, explode, joint="." if explode else ",")
    if style == "matrix":
        return _matrix(quote(name, safe=""), value, explode)
    return _path_items(value, explode, joint=",")


def header_text(value: Any, *, explode: bool = False) -> str:
    """The value of a header. A line break would start another header, so it is refused."""
    if isinstance(value, Mapping):
        pairs = [(str(k), plain_text(v)) for k, v in value.items()]
        text = ",".join(f"{k}={v}" if explode else f"{k},{v}" for k, v in pairs)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        text = ",".join(plain_text(item) for item in value)
    else:
        text = plain_text(value)
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise ToolError(f"A header cannot hold control characters or line breaks; got {text!r}.")
    return text if text.isascii() else quote(text, safe=" !\"#$%&'()*+,/:;<=>?@[\\]^`{|}~")


def cookie_text(name: str, value: Any) -> str:
    """One cookie; its value is encoded, so it cannot start another."""
    text = ",".join(_flat_text(value))
    return f"{quote(name, safe='')}={quote(text, safe=',')}"


def _deep_pairs(key: str, value: Mapping[str, Any], safe: str) -> list[Pair]:
    """`key[a]=1&key[b][c]=2`; a list inside repeats its key."""
    pairs: list[Pair] = []
    for name, inner in value.items():
        deeper = f"{key}[{quote(str(name), safe='')}]"
        if isinstance(inner, Mapping):
            pairs += _deep_pairs(deeper, inner, safe)
        elif isinstance(inner, list):
            pairs += [(deeper, _quoted(item, safe)) for item in inner]
        else:
            pairs.append((deeper, _quoted(inner, safe)))
    return pairs


def _matrix(key: str, value: Any, explode: bool) -> str:
    if explode and isinstance(value, Mapping):
        return "".join(f";{quote(str(k), safe='')}={_quoted(v)}" for k, v in value.items())
    if explode and isinstance(value, Sequence) and not isinstance(value, str):
        return "".join(f";{key}={_quoted(item)}" for item in value)
    text = _path_items(value, False, joint=",")
    return f";{key}={text}" if text else f";{key}"


def _path_items(value: Any, explode: bool, *, joint: str) -> str:
    if isinstance(value, Mapping) and explode:
        return joint.join(f"{quote(str(k), safe='')}={_quoted(v)}" for k, v in value.items())
    if isinstance(value, Mapping):
        return joint.join(_quoted(item) for item in _flat(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return joint.join(_quoted(item) for item in value)
    return _quoted(value)


def _joined(items: Sequence[Any], style: str, safe: str) -> str:
    delimiter = _DELIMITERS.get(style, ",")
    return delimiter.join(_quoted(item, safe.replace(delimiter, "")) for item in items)


def _flat(value: Mapping[str, Any]) -> list[Any]:
    return [item for pair in value.items() for item in pair]


def _flat_text(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [plain_text(item) for item in _flat(value)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_text(item) for item in value]
    return [plain_text(value)]


def _quoted(value: Any, safe: str = "") -> str:
    return quote(plain_text(value), safe=safe)
