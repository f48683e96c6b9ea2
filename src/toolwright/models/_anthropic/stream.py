"""Put an Anthropic stream together into the message it stands for, handing on its pieces."""

import json
from contextlib import suppress
from typing import Any, Literal

from toolwright.models._anthropic.wire import read_call
from toolwright.models._model import Delta, OnDelta

__all__ = ["StreamedMessage"]

_TEXTS: dict[Literal["text", "reasoning"], str] = {"text": "text", "reasoning": "thinking"}
_EVENTS = ("message_", "content_block_", "ping")


class StreamedMessage:
    """The message so far. `ended` says whether it came to its end."""

    def __init__(self, listen: OnDelta, *, whole_calls: bool = False) -> None:
        self._listen = listen
        self._whole_calls = whole_calls
        self._blocks: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, int] = {}
        """Position among the blocks to position among the calls."""
        self._cited: dict[int, list[Any]] = {}
        self._json: dict[int, list[str]] = {}
        """Pieces of the arguments, by block."""
        self._message: dict[str, Any] = {}
        self.ended = False
        self.is_strange = False
        """Whether events came, and none of this protocol."""
        self._known = False

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        self._known = self._known or event["type"].startswith(_EVENTS)
        self.is_strange = not self._known
        match event["type"]:
            case "message_start":
                self._message = event["message"]
            case "content_block_start":
                self._start(event["index"], event["content_block"])
            case "content_block_delta":
                self._continue(event["index"], event["delta"])
            case "content_block_stop" if self._whole_calls and event["index"] in self._calls:
                self._end_call(event["index"])
            case "message_delta":
                self._message |= event["delta"]
                counted = {k: n for k, n in (event.get("usage") or {}).items() if n is not None}
                self._message["usage"] = (self._message.get("usage") or {}) | counted
            case "message_stop":
                self.ended = True

    def message(self) -> dict[str, Any]:
        """The whole message, as the API would have sent it without streaming.

        A call's input is its JSON text, just as the model wrote it.
        """
        for index, pieces in self._json.items():
            self._finish_json(self._blocks[index], "".join(pieces))
        return {**self._message, "content": [self._blocks[i] for i in sorted(self._blocks)]}

    def _start(self, index: int, block: dict[str, Any]) -> None:
        self._blocks[index] = dict(block)
        if block["type"] == "tool_use":
            self._calls[index] = len(self._calls)
            self._listen(Delta(kind="call", index=self._calls[index], name=block["name"]))
            self._json[index] = []
        for kind, field in _TEXTS.items():
            if block["type"] == field and block.get(field):
                self._listen(Delta(kind=kind, text=block[field]))

    def _continue(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        match delta["type"]:
            case "text_delta":
                block["text"] += delta["text"]
                self._listen(Delta(kind="text", text=delta["text"]))
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
                self._listen(Delta(kind="reasoning", text=delta["thinking"]))
            case "signature_delta":
                block["signature"] = (block.get("signature") or "") + delta["signature"]
            case "citations_delta":
                if index not in self._cited:  # a list of our own, to add to
                    self._cited[index] = block["citations"] = [*(block.get("citations") or ())]
                self._cited[index].append(delta["citation"])
            case "input_json_delta":
                self._json.setdefault(index, []).append(delta["partial_json"])
                if index in self._calls:
                    call = self._calls[index]
                    self._listen(Delta(kind="call", index=call, text=delta["partial_json"]))
            case _:
                _grow(block, delta)

    def _end_call(self, index: int) -> None:
        block = dict(self._blocks[index])
        self._finish_json(block, "".join(self._json.get(index, ())))
        self._listen(Delta(kind="call", index=self._calls[index], call=read_call(block)))

    @staticmethod
    def _finish_json(block: dict[str, Any], text: str) -> None:
        """A server's tool may have been cut off by the limit, and is then kept without its input."""
        if block["type"] == "tool_use":
            block["input"] = text or block.get("input") or "{}"
            return
        with suppress(ValueError):
            block["input"] = json.loads(text)


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add what a delta of another kind says, such as the summary of a compaction."""
    for key, value in delta.items():
        known = block.get(key)
        if key == "type" or value is None:
            continue
        joins = isinstance(known, str | list) and type(known) is type(value)
        block[key] = known + value if joins else value
