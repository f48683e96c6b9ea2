"""Resume entries that were sent before: a client that lost its connection sends them again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright.backends import SessionRow, Store, questions_beside
from toolwright.errors import UsageError
from toolwright.messages import Event, Pending, PendingAnswered, PendingOpened, Reject, StoredAnswer
from toolwright.serve._answers import refuse_unless_accepted
from toolwright.serve._problems import ProblemError
from toolwright.serve.agui._translate import interrupt_id
from toolwright.tools import accept_answer

__all__ = ["Past"]


@dataclass(slots=True)
class Past:
    """The calls of a session that have been answered, by call id."""

    calls: dict[str, Pending] = field(default_factory=dict)
    answers: dict[str, StoredAnswer | None] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)
    """Where the log has the answer; a call whose answer nobody has read yet is not among them."""
    asked_first: dict[str, str] = field(default_factory=dict)
    """For the result of a call that asks something first: the id of its question."""

    @classmethod
    async def of(cls, store: Store, row: SessionRow) -> "Past":
        """What was asked and answered in the session so far."""
        past = cls()
        found = await store.open_calls(row.scope.app_name, row.scope.session_id)
        for call in found:
            if not call.answered:
                for asked in questions_beside(found, call):
                    if isinstance(asked.answer, Reject):  # It ends without a result.
                        continue
                    past.asked_first[call.pending.call_id] = asked.pending.call_id
            else:
                past.calls[call.pending.call_id] = call.pending
                past.answers[call.pending.call_id] = call.answer
        # After them: what a run has read since is in the log, and no longer with the call.
        past._read(await store.events(row.scope, 0))
        return past

    def _read(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, PendingOpened):
                self.calls[event.pending.call_id] = event.pending
            elif isinstance(event, PendingAnswered):
                self.answers[event.call_id] = event.answer
                self.at[event.call_id] = event.seq

    def refuse_unless_same(self, call_id: str, value: Any) -> None:
        """`ProblemError` unless `value` is the answer that the call already has."""
        if call_id not in self.calls:
            refuse_unless_accepted("unknown")
        if call_id in self.asked_first:
            result, first = self.calls[call_id], self.calls[self.asked_first[call_id]]
            raise ProblemError(
                422,
                f"{interrupt_id(result)!r} is the result of a call that asks something first: resume "
                f"{interrupt_id(first)!r}, and bring the result when its function has run "
                "again. The call still waits.",
            )
        if call_id not in self.answers:
            refuse_unless_accepted("finished")
        try:
            again = accept_answer(self.calls[call_id], value)
        except UsageError:
            again = None
        # A credential is not kept where it could be compared: sent again, it is another one.
        if again is None or again != self.answers[call_id]:
            refuse_unless_accepted("duplicate")
