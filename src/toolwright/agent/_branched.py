"""Give a branch of a session the answers that were brought for its calls before it was made."""

import time
from dataclasses import replace

from toolwright.agent._log import Log
from toolwright.backends import SessionRow, Store
from toolwright.messages import (
    Approve,
    Pending,
    PendingAnswered,
    PendingChanged,
    Scope,
    SignedIn,
    StoredAnswer,
)

__all__ = ["share_answers"]


async def share_answers(store: Store, source: SessionRow, made: SessionRow, *, whole: bool) -> None:
    """Answer the questions of a branch that were answered where it comes from, as far as that counts.

    A sign-in is the user's, wherever they made it. The other answers belong to what came after the
    question, so that only a branch of the `whole` session has them; an approval never counts twice.
    """
    log = Log(made.scope, store, born=made.created_at)
    log.seq = made.last_seq
    calls = await store.open_calls(made.scope.app_name, made.scope.session_id)
    waiting = [call.pending for call in calls if not call.answered]
    given = await _answers(store, source.scope) if waiting else {}
    for pending in waiting:
        answer = given.get(pending.call_id)
        if isinstance(answer, SignedIn) or (whole and not isinstance(answer, Approve | None)):
            await _answer(store, log, pending, answer)


async def _answer(store: Store, log: Log, pending: Pending, answer: StoredAnswer) -> None:
    """Answer a question with what was accepted in time, also where its deadline has passed since."""
    to = log.scope.app_name, log.scope.session_id, pending.call_id
    if await store.answer(*to, answer, born=log.born) != "expired":
        return
    path, timeless = pending.call_id.rpartition("/")[0], replace(pending, deadline=None)
    log.add(PendingChanged(path=path, pending=timeless, at=time.time()))
    await log.flush()
    await store.answer(*to, answer, born=log.born)


async def _answers(store: Store, scope: Scope) -> dict[str, StoredAnswer]:
    """The answers to a session's questions. A run may move them from beside the calls to the log, so
    that they are looked for in that order."""
    calls = await store.open_calls(scope.app_name, scope.session_id)
    untaken = {call.pending.call_id: call.answer for call in calls if call.answer is not None}
    taken = {
        event.call_id: event.answer
        for event in await store.events(scope)
        if isinstance(event, PendingAnswered) and event.answer is not None
    }
    return untaken | taken
