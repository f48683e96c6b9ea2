"""Answers to calls that the run did not wait for reach the conversation as a message."""

import json

from toolwright.agent._answers import decode_answer
from toolwright.agent._run import Run
from toolwright.messages import Reject, UserMessage, user_message

__all__ = ["late_updates"]


def late_updates(run: Run) -> list[UserMessage]:
    """A message for each answer that has come since, in the order the calls were made."""
    updates = []
    for record in run.log.calls.values():
        pending = record.pending
        if pending is None or pending.blocking or not record.answered:
            continue
        answer = decode_answer(record.answer)
        text = f"rejected: {answer.reason}" if isinstance(answer, Reject) else json.dumps(answer)
        updates.append(
            user_message(f"[Update on call {pending.call_id} of {pending.name!r}]\n{text}")
        )
        record.pending = None
    return updates
