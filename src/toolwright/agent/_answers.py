"""What an earlier pass and the outside mean for a call: wait, take the answer, or run the tool."""

import time
from enum import Enum
from typing import assert_never

from toolwright.agent._log import CallRecord
from toolwright.messages import (
    Approve,
    Given,
    Pending,
    Reject,
    SignedIn,
    StoredAnswer,
    TextPart,
)
from toolwright.tools import Output, Tool, to_output

__all__ = [
    "OUTCOME_UNKNOWN",
    "STILL_RUNNING",
    "STOPPED",
    "WROTE",
    "Pass",
    "answer_text",
    "how_far",
    "is_repeatable",
    "late_result",
    "next_step",
]

OUTCOME_UNKNOWN = (
    "This call was interrupted and its outcome is unknown: it may or may not have taken effect. "
    "Check before you call it again."
)
STILL_RUNNING = (
    "This call is still running elsewhere; its result will follow as an update. "
    "The user has sent a new message meanwhile."
)
WROTE = "The user sent a new message instead of answering"
STOPPED = "The user stopped the run and sent a new message instead"


class Pass(Enum):
    """Run the tool; what it has been answered so far is in its record."""

    RUN = "run"


def next_step(record: CallRecord) -> Pass | Output | None:
    """What to do about a call that has no result yet; None: go on waiting."""
    pending, answer = record.pending, record.answer
    if pending is None:
        return Pass.RUN
    match answer:
        case None:
            return _unanswered(record, pending)
        case Reject():
            text = _rejection(pending, answer)
            return Output(text=text, status="denied", outcome_unknown=pending.interrupted)
        case Given():
            return Pass.RUN if pending.rerun else _output(answer)
        case Approve() | SignedIn():
            return Pass.RUN
        case _:
            assert_never(answer)


def answer_text(pending: Pending, answer: StoredAnswer) -> str:
    """What the model reads of an answer that it did not wait for."""
    if isinstance(answer, Reject):
        return _rejection(pending, answer)
    if isinstance(answer, Given):
        return _output(answer).text
    if isinstance(answer, SignedIn):
        return "A person signed in for this call, but it had ended before; that was not used."
    return "This call was approved, but it had ended before; the approval has no effect."


def late_result(record: CallRecord) -> Given | None:
    """The result that was brought for a deferred call whose function failed all the same."""
    pending, answer, result = record.pending, record.answer, record.result
    if pending is None or result is None or not isinstance(answer, Given):
        return None
    is_late = pending.kind == "result" and (result.status, answer.status) == ("error", "ok")
    return answer if is_late else None


def is_repeatable(tool: Tool) -> bool:
    """Whether a call may be made again when nobody knows how far it came."""
    return tool.effects == "read" or tool.idempotent


def _unanswered(record: CallRecord, pending: Pending) -> Pass | Output | None:
    if pending.deadline is not None and time.time() >= pending.deadline:
        return Output(text=f"Nobody answered in time; {pending.kind} expired.", status="error")
    # A deferred tool whose function was running when its process died: it may have to run again.
    return Pass.RUN if record.started else None


def _output(answer: Given) -> Output:
    if not answer.content:
        return to_output(answer.value)
    texts = [part.text for part in answer.content if isinstance(part, TextPart)]
    parts = tuple(part for part in answer.content if not isinstance(part, TextPart))
    return Output(text="\n".join(texts), parts=parts, data=answer.data, status=answer.status)


def _rejection(pending: Pending, answer: Reject) -> str:
    reason = f" Reason: {answer.reason}" if answer.reason else ""
    if pending.kind == "result":
        return (
            "No result will come for this call: its function ran, and what that started failed "
            f"or was turned down.{reason}"
        )
    return f"A person rejected this call; {how_far(pending)}.{reason}"


def how_far(pending: Pending) -> str:
    """Whether the function of a call that asks a person has run."""
    if pending.interrupted:
        return "an earlier try of it was interrupted and may have taken effect"
    return "it was stopped at its question" if pending.ran else "it was not run"
