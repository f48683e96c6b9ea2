"""Answer a model's calls to server-side tools that could not be sent with its own request."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import anyio
from google.genai import types

from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, ModelPart, ToolCall
from toolwright.models._gemini.reply import sources
from toolwright.models._gemini.wire import side_part
from toolwright.models._model import Delta, OnDelta

__all__ = ["SideRequests"]

AskWith = Callable[[str, types.Tool], Awaitable[ModelMessage]]
"""Ask the model one question, with this server-side tool and nothing else."""


class SideRequests:
    """The server-side tools of one request, by the function names that they are offered under."""

    def __init__(self, provider: str, tools: Mapping[str, types.Tool], ask_with: AskWith) -> None:
        self._provider = provider
        self._tools = tools
        self._ask_with = ask_with

    def wants(self, turn: ModelMessage) -> bool:
        """Whether the turn calls any of them."""
        return any(call.name in self._tools for call in turn.calls)

    async def answer(self, turn: ModelMessage) -> ModelMessage:
        """The turn with each such call replaced by a part that holds the call and its answer.

        The agent's own calls come last: they are answered after this.
        """
        calls = [call for call in turn.calls if call.name in self._tools]
        answers: dict[str, ModelMessage] = {}
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(self._answer_one, call, answers)
        parts: list[ModelPart] = []
        own: list[ModelPart] = []
        for part in turn.parts:
            if not isinstance(part, ToolCall):
                parts.append(part)
            elif part.name in self._tools:
                parts.append(side_part(part, _told(answers[part.call_id]), self._provider))
            else:
                own.append(part)
        spent = sum((answer.usage for answer in answers.values()), turn.usage)
        grounding = [a.meta["grounding"] for a in answers.values() if "grounding" in a.meta]
        meta = {**turn.meta, "side_grounding": grounding} if grounding else turn.meta
        return replace(turn, parts=(*parts, *own), usage=spent, meta=meta)

    def listener(self, on_delta: OnDelta) -> OnDelta:
        """Hands on everything of one reply but calls to these tools, which are nobody else's."""
        hidden: set[int] = set()

        def listen(delta: Delta) -> None:
            if delta.kind != "call":
                on_delta(delta)
            elif delta.name in self._tools:
                hidden.add(delta.index)
            elif delta.index not in hidden:
                before = sum(index < delta.index for index in hidden)
                on_delta(replace(delta, index=delta.index - before))

        return listen

    async def _answer_one(self, call: ToolCall, answers: dict[str, ModelMessage]) -> None:
        try:
            answers[call.call_id] = await self._ask_with(_question(call), self._tools[call.name])
        except ModelError as error:
            # The model can go on without; the agent's own request would have failed by itself.
            answers[call.call_id] = ModelMessage(parts=(), meta={"failed": str(error)})


def _question(call: ToolCall) -> str:
    return str(json.loads(call.arguments).get("request") or call.arguments)


def _told(answer: ModelMessage) -> str:
    if "failed" in answer.meta:
        return f"This failed: {answer.meta['failed']}"
    found = sources(answer)
    return "\n".join([answer.text, "", "Sources:", *found]) if found else answer.text
