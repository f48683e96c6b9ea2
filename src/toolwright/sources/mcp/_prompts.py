"""A server's prompts as messages."""

import mcp_types as types

from toolwright.messages import Message, ModelMessage, TextPart, UserMessage
from toolwright.sources.mcp._content import part_of

__all__ = ["messages_of"]


def messages_of(prompt: types.GetPromptResult) -> list[Message]:
    """The prompt's messages, ready to start a conversation with."""
    return [_message(message) for message in prompt.messages]


def _message(message: types.PromptMessage) -> Message:
    part = part_of(message.content)
    if message.role == "user":
        return UserMessage((part,))
    return ModelMessage(parts=(part if isinstance(part, TextPart) else TextPart("(media)"),))
