"""Answers to calls that the run did not wait for reach the conversation as a message."""

import json
import time

from toolwright.agent._answers import decode_answer
from toolwright.agent._log import Log, Waiting
from toolwright.messages import Reject, jsonable, user_message

__all__ = ["late_updates"]

TOO_LATE = "no outcome came in time"


def late_updates(log: Log) -> list[Waiting]:
    """A message for each answer that the conversation has not been told, in the order of the calls."""
    _expire(log)
    updates = []
    for record in log.calls.values():
        pending = record.pending
        if pending is None or pending.blocking or not record.answered:
            continue
        answer = decode_answer(record.answer)
        text = (
            f"rejected: {answer.reason}"
            if isinstance(answer, Reject)
            else json.dumps(answer, ensure_ascii=False)
        )
        message = user_message(f"[Update on call {pending.call_id} of {pending.name!r}]\n{text}")
        updates.append(Waiting(message, pending.call_id))
    return updates


def _expire(log: Log) -> None:
    """A call whose outcome can come no more is answered with that."""
    for record in log.calls.values():
        pending = record.pending
        if pending is None or pending.blocking or record.answered or pending.deadline is None:
            continue
        if pending.deadline <= time.time():
            log.take_answer(pending.call_id, jsonable(Reject(reason=TOO_LATE)))
