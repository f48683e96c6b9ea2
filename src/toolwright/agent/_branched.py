"""Give a branch of a session the answers that were brought for its calls before it was made."""

from toolwright.backends import SessionRow, Store
from toolwright.messages import Approve, PendingAnswered, Scope, SignedIn, StoredAnswer

__all__ = ["share_answers"]


async def share_answers(store: Store, source: SessionRow, made: SessionRow, *, whole: bool) -> None:
    """Answer the questions of a branch that were answered where it comes from, as far as that counts.

    A sign-in is the user's, wherever they made it. The other answers belong to what came after the
    question, so that only a branch of the `whole` session has them; an approval never counts twice.
    """
    scope = made.scope
    calls = await store.open_calls(scope.app_name, scope.session_id)
    waiting = [call.pending.call_id for call in calls if not call.answered]
    given = await _answers(store, source.scope) if waiting else {}
    for call_id in waiting:
        answer = given.get(call_id)
        if isinstance(answer, SignedIn) or (whole and not isinstance(answer, Approve | None)):
            await store.answer(
                scope.app_name, scope.session_id, call_id, answer, born=made.created_at
            )


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
