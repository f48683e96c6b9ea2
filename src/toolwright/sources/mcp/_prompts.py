"""A server's prompts as messages."""

import mcp_types as types

from toolwright.messages import Message, ModelMessage, TextPart, UserMessage
from toolwright.sources.mcp._content import part_of, passed_on

__all__ = ["messages_of"]


def messages_of(prompt: types.GetPromptResult, source: str) -> list[Message]:
    """The prompt's messages, ready to start a conversation with, marked as from `source`."""
    return [_message(message, source) for message in prompt.messages]


def _message(message: types.PromptMessage, source: str) -> Message:
    part = passed_on(part_of(message.content), source)
    if message.role == "user":
        return UserMessage((part,))
    return ModelMessage(
        parts=(part if isinstance(part, TextPart) else TextPart("(media)", source=source),)
    )
