"""Fill in a form at the terminal, one field after the other."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolwright.cli._card import laid
from toolwright.cli._json import read_json
from toolwright.cli._screen import screen
from toolwright.errors import UsageError
from toolwright.messages import Pending, Reject, RepeatedKeys, visible

__all__ = ["REJECT", "fields_of", "fill_in"]

REJECT = "/reject"
ReadLine = Callable[[str, str], Awaitable[str]]
"""Reads a line after a prompt, which begins with a default."""


def fields_of(pending: Pending) -> Mapping[str, Any]:
    """The fields of the form that a call asks for; none where it asks for something else."""
    schema = pending.schema or {}
    fields = schema.get("properties", {}) if schema.get("type") == "object" else {}
    return fields if pending.kind == "input" else {}


async def fill_in(pending: Pending, read: ReadLine) -> dict[str, Any] | Reject:
    """What the person enters; a field left empty is left out, or asked again if it is required."""
    filled: dict[str, Any] = {}
    required = (pending.schema or {}).get("required", ())
    for name, field in fields_of(pending).items():
        while True:
            text = (await read(_prompt(name, field, name in required), _default(field))).strip()
            if text.split(" ")[0] == REJECT:
                return Reject(reason=text.removeprefix(REJECT).strip())
            if text:
                filled[name] = _value(field, text)
            if text or name not in required:
                break
    return filled


def _prompt(name: str, field: Mapping[str, Any], required: bool) -> str:
    label = str(field.get("title") or name)
    about = f" ({field['description']})" if field.get("description") else ""
    kind = " | ".join(map(str, field["enum"])) if "enum" in field else str(field.get("type", "any"))
    optional = "" if required else ", optional"
    shown = screen()
    # Its words are the server's: none of them begins a row.
    rows = laid("field", f"{label}{about} [{kind}{optional}]", shown, shown.rows // 2)
    return "\n".join(rows) + "> "


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default")
    if default is None or isinstance(default, str):
        text = default or ""
        # One that cannot be shown as it is would be accepted unseen.
        return text if visible(text, lines=False) == text else ""
    return json.dumps(default)


def _value(field: Mapping[str, Any], text: str) -> Any:
    if field.get("type") == "string":
        return text
    words = {"yes": True, "y": True, "no": False, "n": False}
    if field.get("type") == "boolean" and text.lower() in words:
        return words[text.lower()]
    try:
        return read_json(text)
    except RepeatedKeys as error:
        raise UsageError(f"This has {error}; give each once, or {REJECT} REASON.") from error
    except ValueError:
        if field.get("type") in (None, "any"):
            return text
        raise UsageError(
            f"{visible(text, lines=False)!r} is no {field['type']}; enter one, or {REJECT} REASON."
        ) from None
