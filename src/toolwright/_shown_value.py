"""The wrong value of a setting as an error may show it: without what may be a secret."""

import re
import reprlib
from collections.abc import Mapping
from typing import Any

__all__ = ["shown_address_of", "shown_value"]

_MAY_BE_SECRET = re.compile(
    "auth|key|token|secret|cookie|passw|credential|session|header|env|url|uri|dsn|server|store"
    "|address|endpoint|param|connect|args|deps|client|content|state|template|execution|account",
    re.IGNORECASE,
)
"""In names of settings that hold secrets, or addresses and commands with secrets in them."""
_MOST_SHOWN = 6


def shown_value(name: str, value: Any) -> str:
    """What was given as the setting `name`: as it is where that is harmless, else of what type."""
    if value is None or isinstance(value, bool | int | float | type):
        return reprlib.repr(value)
    if not isinstance(value, str | list | tuple | Mapping):
        # Others may show anything of themselves; tools and agents are known by their names.
        kind = type(value).__name__
        if isinstance(called := getattr(value, "__name__", None), str):
            return f"<{kind} {called}>"
        named = getattr(value, "name", None)
        return f"<{kind} {named!r}>" if isinstance(named, str) else _kind_of(value)
    if _MAY_BE_SECRET.search(name):
        return _kind_of(value)
    if isinstance(value, str):
        return reprlib.repr(value)
    if isinstance(value, Mapping):
        shown = [f"{reprlib.repr(key)}: …" for key in list(value)[:_MOST_SHOWN]]
        return f"{{{', '.join(shown + ['…'] * (len(value) > _MOST_SHOWN))}}}"
    shown = [shown_value(name, item) for item in value[:_MOST_SHOWN]]
    inside = ", ".join(shown + ["…"] * (len(value) > _MOST_SHOWN))
    return f"[{inside}]" if isinstance(value, list) else f"({inside})"


def _kind_of(value: Any) -> str:
    name = type(value).__name__
    kind = {"str": "text", "list": "list", "dict": "dict", "bytes": "bytes"}.get(name, name)
    return f"{kind} (not shown)"


def shown_address_of(text: str) -> str:
    """An address that is none, or none of the right kind, without what may sign in with it."""
    if "@" in text:  # What stands before it is a name and a password, however they are written.
        scheme, found, _ = text.partition("://")
        return f"{scheme}://…" if found and "@" not in scheme else "…"
    return re.split("[?#]", text, maxsplit=1)[0]
