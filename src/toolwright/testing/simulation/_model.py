"""A model for simulations: what it says depends on the conversation alone, so any process can go on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, TextPart, ToolCall, Usage, UserMessage
from toolwright.models import ModelRequest, OnDelta

__all__ = ["SimulatedModel"]

Turn = str | Sequence[ToolCall]


class SimulatedModel:
    """Plays turn n to a conversation in which it has spoken n times; the last turn for ever after.

    `{prompt}` in a text or an argument is the conversation's first message.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        trouble: Callable[[str, Exception], Awaitable[None]],
        cost: float = 0.0,
    ) -> None:
        self.name = "simulated:model"
        self._turns = turns
        self._trouble = trouble
        self._cost = cost

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The next turn; it may come late, or fail."""
        away = ModelError("simulated: overloaded", reason="overloaded", retryable=True)
        await self._trouble("the model", away)
        spoken = sum(isinstance(message, ModelMessage) for message in request.history)
        turn = self._turns[min(spoken, len(self._turns) - 1)]
        usage = Usage(requests=1, cost=self._cost)
        prompt = next(m.text for m in request.history if isinstance(m, UserMessage))
        if isinstance(turn, str):
            return ModelMessage(parts=(TextPart(turn.replace("{prompt}", prompt)),), usage=usage)
        calls = tuple(_filled(call, prompt, f"-{spoken}-{n}") for n, call in enumerate(turn))
        return ModelMessage(parts=calls, usage=usage, finish_reason="calls")


def _filled(call: ToolCall, prompt: str, number: str) -> ToolCall:
    arguments = call.arguments.replace("{prompt}", prompt)
    return replace(call, call_id=call.call_id or f"{call.name}{number}", arguments=arguments)
