"""Answers to calls that the run did not wait for reach the conversation as a message."""

import time

from toolwright.agent._answers import answer_text
from toolwright.agent._log import Log, Waiting
from toolwright.messages import Reject, user_message

__all__ = ["fetch_answers", "late_updates"]

TOO_LATE = "no outcome came in time"


async def fetch_answers(log: Log) -> bool:
    """Take in answers that have come from outside, for calls that nobody waits for too; whether there
    were new ones."""
    came = await log.fetch_answers()
    if came:
        log.inbox.extend(late_updates(log))
    return came


def late_updates(log: Log) -> list[Waiting]:
    """A message for each answer that the conversation has not been told, in the order of the calls,
    but for those that are about to be told."""
    _expire(log)
    updates = []
    about_to = {waiting.call_id for waiting in log.inbox}
    for record in log.calls.values():
        pending = record.pending
        if pending is None or pending.blocking or record.answer is None:
            continue
        if pending.call_id in about_to:
            continue
        if record.result is None and log.round_of(pending.call_id) is not None:
            continue  # The step of a workflow that made the call goes on with it.
        text = answer_text(pending, record.answer)
        message = user_message(f"[Update on call {pending.call_id} of {pending.name!r}]\n{text}")
        updates.append(Waiting(message, pending.call_id))
    return updates


def _expire(log: Log) -> None:
    """A call whose outcome can come no more is answered with that."""
    for record in log.calls.values():
        pending = record.pending
        if pending is None or pending.blocking or record.answer or pending.deadline is None:
            continue
        if pending.deadline <= time.time():
            log.take_answer(pending.call_id, Reject(reason=TOO_LATE))
