"""Answers to calls that the run did not wait for reach the conversation as a message."""

import json

from toolwright.agent._answers import decode_answer
from toolwright.agent._log import Log, Waiting
from toolwright.messages import Reject, user_message

__all__ = ["late_updates"]


def late_updates(log: Log) -> list[Waiting]:
    """A message for each answer that the conversation has not been told, in the order of the calls."""
    updates = []
    for record in log.calls.values():
        pending = record.pending
        if pending is None or pending.blocking or not record.answered:
            continue
        answer = decode_answer(record.answer)
        text = f"rejected: {answer.reason}" if isinstance(answer, Reject) else json.dumps(answer)
        message = user_message(f"[Update on call {pending.call_id} of {pending.name!r}]\n{text}")
        updates.append(Waiting(message, pending.call_id))
    return updates
