"""Record a run against a real model once, and replay it in every test after that."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from toolwright._sealed import Sealed
from toolwright.errors import UsageError
from toolwright.messages import (
    ModelMessage,
    ReasoningPart,
    TextPart,
    ToolCall,
    decode_message,
    encode_message,
    redact,
)
from toolwright.models import Delta, Model, ModelRequest, OnDelta, resolve_model

__all__ = ["RecordedModel"]

VERSION = 1


class RecordedModel(Sealed):
    """Replays the replies in `path`; where there is no such file, asks `model` and writes it.

    A reply is found by what was asked: the conversation, the instructions and the tools. A test
    that asks something else fails and says what is new. With `match="order"` the replies are
    played in order, whatever is asked. Delete the file, or pass `record=True`, to record anew.
    """

    def __init__(
        self,
        path: str | Path,
        model: Model | str | None = None,
        *,
        record: bool = False,
        match: Literal["request", "order"] = "request",
    ) -> None:
        self._path = Path(path)
        self._match = match
        self._turns: list[dict[str, Any]] = []
        self._real: Model | None = None
        if record or not self._path.exists():
            self._real = resolve_model(_needed(model, self._path))
            self.name = self._real.name
        else:
            self.name, self._turns = _read(self._path)
        self._left = list(self._turns)

    @property
    def recording(self) -> bool:
        """Whether the real model is being asked."""
        return self._real is not None

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The recorded reply, or the real model's, which is then recorded."""
        if self._real is not None:
            reply = await self._real.respond(request, on_delta)
            self._keep(request, reply)
            return reply
        reply = decode_message(json.dumps(self._take(request)["reply"]))
        if on_delta is not None:
            _play(reply, on_delta)
        return reply

    def _keep(self, request: ModelRequest, reply: ModelMessage) -> None:
        turn = {
            "request": _fingerprint(request),
            "asked": _asked(request),
            "reply": json.loads(encode_message(reply)),
        }
        self._turns.append(turn)
        lines = [{"v": VERSION, "model": self.name}, *self._turns]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(
            "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        )

    def _take(self, request: ModelRequest) -> dict[str, Any]:
        wanted = _fingerprint(request)
        for turn in self._left:
            if self._match == "order" or turn["request"] == wanted:
                self._left.remove(turn)
                return turn
        known = "\n".join(f"- {turn['asked']}" for turn in self._left) or "- (none left)"
        raise UsageError(
            f"{self._path} has no reply to this request, whose last message is\n"
            f"- {_asked(request)}\nThe replies that are left were to\n{known}\n"
            "Record it anew (delete the file), or match by order (match='order')."
        )


def _needed(model: Model | str | None, path: Path) -> Model | str:
    if model is None:
        raise UsageError(
            f"There is no recording {str(path)!r}; pass the model to record it with: "
            "RecordedModel(path, 'provider:name')."
        )
    return model


def _read(path: Path) -> tuple[str, list[dict[str, Any]]]:
    try:
        head, *turns = (json.loads(line) for line in path.read_text().splitlines() if line)
        if head["v"] != VERSION:
            raise UsageError(f"{path} has version {head['v']!r}; this program reads {VERSION}.")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no recording: {error!r}. Delete it to record anew.") from error
    return head["model"], turns


def _fingerprint(request: ModelRequest) -> str:
    """The same for the same request, in every process."""
    said = {
        "history": [json.loads(encode_message(message)) for message in request.history],
        "instructions": request.instructions,
        "tools": [
            [tool.name, tool.description_with_examples, tool.parameters] for tool in request.tools
        ],
        "server_tools": [[tool.name, tool.settings] for tool in request.server_tools],
        "output_schema": request.output_schema,
    }
    text = json.dumps(said, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _asked(request: ModelRequest) -> str:
    """The last message, short, for people."""
    if not len(request.history):
        return "(nothing)"
    text = redact(encode_message(request.history[-1]))
    return text if len(text) <= 300 else f"{text[:300]}…"


def _play(reply: ModelMessage, on_delta: OnDelta) -> None:
    calls = 0
    for part in reply.parts:
        if isinstance(part, TextPart):
            on_delta(Delta(kind="text", text=part.text))
        elif isinstance(part, ReasoningPart):
            on_delta(Delta(kind="reasoning", text=part.text))
        elif isinstance(part, ToolCall):
            on_delta(Delta(kind="call", index=calls, name=part.name, text=part.arguments))
            calls += 1
