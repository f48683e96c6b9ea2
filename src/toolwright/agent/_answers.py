"""What an earlier pass and the outside mean for a call: wait, take the answer, or run the tool."""

import time
from enum import Enum
from typing import assert_never

from toolwright.agent._log import CallRecord, Log
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
    "OUTCOME_ASKED",
    "OUTCOME_UNKNOWN",
    "STILL_RUNNING",
    "STOPPED",
    "WROTE",
    "Pass",
    "answer_text",
    "come_to_inside",
    "how_far",
    "is_repeatable",
    "is_unknown",
    "late_result",
    "next_step",
]

OUTCOME_UNKNOWN = (
    "This call was interrupted and its outcome is unknown: it may or may not have taken effect. "
    "Check before you call it again."
)
OUTCOME_ASKED = (
    f"{OUTCOME_UNKNOWN} A person is asked for it; what they say will follow as an update."
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
            unknown = pending.interrupted or pending.outcome
            return Output(text=text, status="denied", outcome_unknown=unknown)
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
        late = f"Nobody answered in time; {pending.kind} expired"
        if pending.outcome:
            text = f"{late}; {how_far(pending)}."
            return Output(text=text, status="error", outcome_unknown=True)
        return Output(text=f"{late}.", status="error")
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
    if pending.outcome:
        return f"Nobody could say what this call came to: {how_far(pending)}.{reason}"
    if pending.kind == "result":
        return (
            "No result will come for this call: its function ran, and what that started failed "
            f"or was turned down.{reason}"
        )
    return f"A person rejected this call; {how_far(pending)}.{reason}"


def how_far(pending: Pending) -> str:
    """Whether the function of a call that asks a person has run."""
    if pending.outcome:
        return "it was interrupted and may or may not have taken effect"
    if pending.interrupted:
        return "an earlier try of it was interrupted and may have taken effect"
    return "it was stopped at its question" if pending.ran else "it was not run"


def is_unknown(pending: Pending) -> bool:
    """Whether a call that is closed at this question may have taken effect, for all that is known."""
    return pending.outcome or (pending.interrupted and pending.kind != "result")


def come_to_inside(log: Log, address: str) -> str:
    """What the model should know of the calls inside one that goes on no more; empty if nothing.

    It reads the result of the outermost call alone, so that whatever happened inside is said there.
    """
    told: dict[str, list[str]] = {sentence: [] for sentence in _SENTENCES}
    for inner, record in log.calls.items():
        if inner.startswith(f"{address}/") and (sentence := _came_to(record)):
            told[sentence].append(_name(record))
    return "".join(f" {said}: {', '.join(names)}." for said, names in told.items() if names)


_DONE = "What it has called is done"
_TRIED = "An earlier try of these was interrupted and may have taken effect"
_UNKNOWN = "These may or may not have taken effect; check before you repeat them"
_ASKED = f"{_UNKNOWN}. A person is asked what they came to, with updates to follow"
_SET_OFF = "What these have set off may still take effect"
_RUNNING = "Still running, with updates to follow"
_SENTENCES = (_DONE, _TRIED, _UNKNOWN, _ASKED, _SET_OFF, _RUNNING)


def _came_to(record: CallRecord) -> str:
    """The sentence to name a call in; empty where nothing has happened."""
    pending, result = record.pending, record.result
    if pending is not None and record.is_deferred and not (result and pending.blocking):
        if pending.outcome:
            return _UNKNOWN if pending.blocking else _ASKED
        if result is not None and result.outcome_unknown:
            return _UNKNOWN
        return _SET_OFF if pending.blocking else _RUNNING
    if result is not None and result.status == "ok":
        return _DONE
    if result is not None and not result.outcome_unknown:
        return ""
    if record.interrupted:
        return _TRIED
    return _UNKNOWN if result is not None else ""


def _name(record: CallRecord) -> str:
    known = record.result or record.pending
    return "" if known is None else known.name
