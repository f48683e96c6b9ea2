"""JSON that is ASCII where it must be, and gives back every string that Python can hold."""

import json
import re
from typing import Any

__all__ = ["exact_json", "from_exact_json"]

# Two lone surrogates that could be the halves of one character would be read as that character,
# so a mark (ASCII's "substitute") is put between them; marks that stand there already get one more.
_MARK = "\x1a"
_HALVES = re.compile(
    f"([\ud800-\udbff])((?:{re.escape(json.dumps(_MARK)[1:-1])})*)(?=[\udc00-\udfff])"
)
_MARKED = re.compile(f"([\ud800-\udbff]{_MARK}*){_MARK}(?=[\udc00-\udfff])")
_SURROGATE = re.compile("[\ud800-\udfff]")


def exact_json(value: Any) -> str:
    """Plain JSON values as JSON text that is valid UTF-8."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isascii() or not _SURROGATE.search(text):
        return text
    text = _HALVES.sub(lambda found: f"{found[0]}\\u001a", text)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def from_exact_json(text: str | bytes) -> Any:
    """What `exact_json` was given."""
    value = json.loads(text)
    mark = "\\u001a" if isinstance(text, str) else b"\\u001a"
    return _unmarked(value) if mark in text else value  # type: ignore[operator]


def _unmarked(value: Any) -> Any:
    if isinstance(value, str):
        return _MARKED.sub(r"\1", value)
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, dict):
        return {_unmarked(key): _unmarked(item) for key, item in value.items()}
    return value
