"""What an earlier pass and the outside mean for a call: wait, take the answer, or run the tool."""

import time
from dataclasses import dataclass
from typing import Any

from toolwright.agent._log import CallRecord
from toolwright.messages import Approve, Pending, Reject
from toolwright.tools import Output, ToolConfirmation, to_output

__all__ = ["Pass", "decode_answer", "next_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Run the tool, with the approval and the arguments that the outside gave, if it did."""

    confirmation: ToolConfirmation | None = None
    arguments: dict[str, Any] | None = None
    remember: bool = False


FIRST_PASS = Pass()


def next_step(record: CallRecord) -> Pass | Output | None:
    """What to do about a call that has no result yet; None: go on waiting."""
    pending = record.pending
    if pending is None:
        return FIRST_PASS
    if not record.answered:
        return _too_late(pending) if _expired(pending) else None
    answer = decode_answer(record.answer)
    if isinstance(answer, Reject):
        return Output(text=_rejection(answer), status="denied")
    if pending.kind in ("confirmation", "credential"):
        return _approved(record)
    return to_output(answer)


def decode_answer(answer: Any) -> Any:
    """`Approve` and `Reject` back from their JSON; every other value as it is."""
    if isinstance(answer, dict) and answer.get("kind") == "approve":
        return Approve(**{k: v for k, v in answer.items() if v is not None})
    if isinstance(answer, dict) and answer.get("kind") == "reject":
        return Reject(reason=answer.get("reason", ""))
    return answer


def _approved(record: CallRecord) -> Pass | Output:
    asked, approval = record.approved, decode_answer(record.approval)
    if asked is None or approval is None:
        return Pass()
    if approval is False:
        return Output(text=_rejection(Reject()), status="denied")
    if not isinstance(approval, Approve):
        approval = Approve(payload=None if approval is True else approval)
    payload = asked.payload if approval.payload is None else approval.payload
    return Pass(
        confirmation=ToolConfirmation(hint=asked.hint, payload=payload),
        arguments=approval.arguments,
        remember=approval.remember,
    )


def _rejection(answer: Reject) -> str:
    reason = f" Reason: {answer.reason}" if answer.reason else ""
    return f"A person rejected this call; it was not run.{reason}"


def _expired(pending: Pending) -> bool:
    return pending.deadline is not None and time.time() >= pending.deadline


def _too_late(pending: Pending) -> Output:
    return Output(text=f"Nobody answered in time; {pending.kind} expired.", status="error")
