"""What people have answered to the questions of calls that are not over yet."""

from collections.abc import Sequence
from typing import Any

from toolwright.tools import ToolContext

__all__ = ["Answers"]

_MOST = 10_000
"""Calls remembered at a time; of those that are never answered, the oldest goes first."""


class Answers:
    """Answers by call, in the order of the questions.

    A call that waits for a person is given up and made again with the answers so far. Between two
    questions they are kept here; after a restart, such a call begins with its first question again.
    """

    def __init__(self, *, only_questions: bool) -> None:
        self._by_call: dict[str, Sequence[Any]] = {}
        self._only_questions = only_questions
        """Whether an approval can only be the answer to a question, not leave to run the tool."""

    def so_far(self, ctx: ToolContext) -> Sequence[Any]:
        """The answers to this call's questions, the newest of which its approval brings."""
        key = ctx.idempotency_key
        answers = self._by_call.get(key, ())
        if ctx.tool_confirmation is not None and (self._only_questions or key in self._by_call):
            return [*answers, ctx.tool_confirmation.payload]
        return answers

    def keep(self, ctx: ToolContext, answers: Sequence[Any]) -> None:
        """Remember them until the next answer comes."""
        self._by_call[ctx.idempotency_key] = answers
        while len(self._by_call) > _MOST:
            del self._by_call[next(iter(self._by_call))]

    def forget(self, ctx: ToolContext) -> None:
        """The call is over."""
        self._by_call.pop(ctx.idempotency_key, None)
