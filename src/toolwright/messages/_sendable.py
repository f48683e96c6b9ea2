"""Text for readers that take valid Unicode only: file names and half emojis can be something else."""

import json
from typing import Any

__all__ = ["sendable_json", "sendable_text"]


def sendable_text(text: str) -> str:
    """`text` itself where it can be sent, or a copy with `?` in place of lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def sendable_json(value: Any) -> Any:
    """The same for plain JSON values, whatever texts and keys are in them."""
    text = json.dumps(value, ensure_ascii=False)
    clean = sendable_text(text)
    return value if clean is text else json.loads(clean)
