"""Find the credential a call asked for, or say what a person must do to give it."""

import logging
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from toolwright.agent._run import Run
from toolwright.backends import OpenCall, Store, auth
from toolwright.concurrency import finish
from toolwright.errors import SessionHeld, StoreError, UsageError
from toolwright.messages import (
    Answered,
    AuthConfig,
    AuthCredential,
    Pending,
    PendingAnswered,
    PendingRequest,
    Scope,
    SignedIn,
    StoredAnswer,
    call_of,
)
from toolwright.tools import AuthFlows, Credentials, ToolContext

__all__ = [
    "check_sign_in",
    "credential_for",
    "forget_answers",
    "forget_session",
    "forget_unused",
    "look_again",
    "sign_in",
    "waiting_for_state",
]

logger = logging.getLogger("toolwright")

_SIGN_IN_SECONDS = 60.0
"""How long the stores may take to keep a secret and to accept the answer that names it."""
_CLEANING_SECONDS = 10.0


def check_sign_in(credentials: Credentials | None, row: OpenCall, brought: Any) -> Credentials:
    """Where what a person brought is kept; `UsageError` when it cannot be that credential."""
    if credentials is None:
        raise UsageError(
            "This runner has no credential store: Runner(agent, …, credentials='memory://')."
        )
    try:
        auth.check_brought(brought, row.pending.payload or {})
    except UsageError as error:
        raise UsageError(
            f"Call {row.pending.call_id!r} waits for a credential. {error} The call still waits."
        ) from None
    return credentials


async def sign_in(
    store: Store, credentials: Credentials | None, row: OpenCall, brought: Any
) -> Answered:
    """Answer a call with what a person brought, and every other that waits for the same.

    What cannot be that credential is refused with `UsageError`. The secret is kept under a key of
    its own, which the accepted answer names: whichever of two people is refused, theirs is never
    used. Whoever is cancelled, a secret is kept if and only if its answer was accepted.
    """
    credentials = check_sign_in(credentials, row, brought)
    try:
        return await finish(partial(_bring, store, credentials, row, brought), _SIGN_IN_SECONDS)
    except TimeoutError:
        raise StoreError(
            f"The sign-in could not be stored within {_SIGN_IN_SECONDS:g} s; try again later."
        ) from None


async def _bring(store: Store, credentials: Credentials, row: OpenCall, brought: Any) -> Answered:
    """Keep the secret and answer the call with it; nothing is kept of what was not accepted."""
    answer = SignedIn(key=f"answer:{uuid.uuid4().hex}")
    try:
        await credentials.save(row.scope, answer.key, brought)
        outcome = await _accept(store, credentials, row, answer)
    except BaseException:
        with anyio.move_on_after(_CLEANING_SECONDS, shield=True):
            if not await _is_taken(store, row, answer):
                await credentials.delete(row.scope, answer.key)
        raise
    if outcome != "accepted":
        await credentials.delete(row.scope, answer.key)
    # Others wait until it has proved good, unless it is plainly the end of their sign-in.
    elif waiting_for_state([row], auth.redirect_in(brought) or ""):
        with suppress(StoreError):  # It is accepted; the run that uses it releases the others.
            await _release(store, row, answer)
    return outcome


async def _accept(
    store: Store, credentials: Credentials, row: OpenCall, answer: SignedIn
) -> Answered:
    """Of all answers to calls that wait for one credential, accept the first.

    The call of a later one is released with what the first has brought.
    """
    address = (row.scope.app_name, row.scope.session_id, row.pending.call_id)
    while True:
        calls = [call for call in await store.open_calls(row.scope.app_name) if _same(call, row)]
        others = [call for call in calls if _place(call) != _place(row)]
        first = await _brought_before(store, credentials, others)
        if first is not None:
            released = await store.answer(*address, first, born=row.born)
            return "duplicate" if released == "accepted" else released
        rivals = [_place(call) for call in others if not call.answered]
        outcome = await store.answer(*address, answer, rivals, born=row.born)
        mine = next((call for call in calls if _place(call) == _place(row)), None)
        if outcome != "duplicate" or mine is None or mine.answered:
            return outcome
        # Somebody was quicker since the calls were listed: now it shows who, and with what.


async def _brought_before(
    store: Store, credentials: Credentials, calls: Sequence[OpenCall]
) -> SignedIn | None:
    """What was accepted for one of these calls and has neither proved good nor bad yet."""
    for call in calls:
        answer = await _answer_to(store, call) if call.answered else None
        if isinstance(answer, SignedIn) and await credentials.load(call.scope, answer.key):
            return answer
    return None


async def _answer_to(store: Store, call: OpenCall) -> StoredAnswer | None:
    """The answer that a call was given; from the log, once the call's run has taken it."""
    if call.answer is not None:
        return call.answer
    events = await store.events(call.scope)
    taken = [event.answer for event in events if isinstance(event, PendingAnswered)
             and event.call_id == call.pending.call_id]  # fmt: skip
    return taken[-1] if taken else None


async def _is_taken(store: Store, row: OpenCall, answer: SignedIn) -> bool:
    """Whether the store has the answer, although its word for it was lost.

    It is looked for beside the call before the log: a run may move it from one to the other.
    """
    calls = await store.open_calls(row.scope.app_name, row.scope.session_id)
    if any(call.answer == answer for call in calls):
        return True
    events = await store.events(row.scope)
    return any(isinstance(event, PendingAnswered) and event.answer == answer for event in events)


async def _release(store: Store, signed_in: OpenCall, answer: SignedIn) -> None:
    """One sign-in is enough: answer all calls of the user that wait for this credential."""
    app_name = signed_in.scope.app_name
    for call in await store.open_calls(app_name):
        if not call.answered and _same(call, signed_in):
            with suppress(SessionHeld):  # Its session is being deleted: nobody waits for it.
                await store.answer(app_name, *_place(call), answer, born=call.born)


def _same(call: OpenCall, other: OpenCall) -> bool:
    """Whether two calls wait for one credential of one user."""
    if call.pending.kind != "credential" or call.scope.user_id != other.scope.user_id:
        return False
    return _key(call.pending) == _key(other.pending)


def _key(pending: Pending) -> str | None:
    return pending.payload.get("credential_key") if isinstance(pending.payload, dict) else None


def _place(call: OpenCall) -> tuple[str, str]:
    return call.scope.session_id, call.pending.call_id


async def forget_unused(run: Run) -> None:
    """Delete what people have brought for calls that have their results: none of them will use it.

    Called before the end of the run is stored: should the process die here, the next run does it.
    """
    store, credentials = run.log.store, run.services.credentials
    ended = {at: key for at, key in run.log.brought.items() if run.log.has_ended(call_of(at))}
    if store is None or credentials is None or not ended:
        return
    try:
        leaving = {(run.scope.session_id, at) for at in ended}
        await _forget(store, credentials, run.scope, set(ended.values()), leaving)
    except Exception:
        # The run has come to its end all the same; deleting the session tries once more.
        logger.exception("session %s: a secret could not be deleted", run.scope.session_id)


async def forget_session(store: Store, credentials: Credentials | None, scope: Scope) -> None:
    """Delete what people have brought for the calls of a session and nobody has used."""
    if credentials is None:
        return
    calls = await store.open_calls(scope.app_name, scope.session_id)
    taken = [e.answer for e in await store.events(scope) if isinstance(e, PendingAnswered)]
    answers = [*taken, *(call.answer for call in calls)]
    await _forget(store, credentials, scope, _keys(answers), {_place(call) for call in calls})


async def forget_answers(
    store: Store,
    credentials: Credentials | None,
    scope: Scope,
    answers: Sequence[StoredAnswer],
) -> None:
    """Delete what people have brought with these answers, whose calls are gone."""
    if credentials is not None:
        await _forget(store, credentials, scope, _keys(answers), ())


def _keys(answers: Sequence[StoredAnswer | None]) -> set[str]:
    """Where the secrets are that these answers name."""
    return {answer.key for answer in answers if isinstance(answer, SignedIn)}


async def _forget(
    store: Store,
    credentials: Credentials,
    scope: Scope,
    keys: set[str],
    leaving: Collection[tuple[str, str]],
) -> None:
    """Delete secrets that nobody but the calls at `leaving` has.

    One sign-in may have released calls of other sessions too: what they are to use stays.
    """
    if not keys:
        return
    calls = await store.open_calls(scope.app_name)
    waiting = [call for call in calls if call.answered and call.pending.kind == "credential"]
    answers = [await _answer_to(store, call) for call in waiting if _place(call) not in leaving]
    for key in keys - _keys(answers):
        await credentials.delete(scope, key)


def waiting_for_state(rows: Sequence[OpenCall], callback: str) -> list[OpenCall]:
    """The calls that wait for the sign-in whose `state` is in the address `callback`."""
    state = auth.state_in(callback)
    return [
        row
        for row in rows
        if row.pending.kind == "credential" and not row.answered
        and state and row.pending.payload.get("state") == state
    ]  # fmt: skip


async def credential_for(
    run: Run, ctx: ToolContext, request: PendingRequest
) -> PendingRequest | None:
    """Give the call its credential if it can be had now; if not, the request as a person sees it.

    The configuration itself never leaves the run: it may hold the client's secret.
    """
    config = request.payload
    if not isinstance(config, AuthConfig):
        raise UsageError(f"Tool {ctx.call.name!r} asked for a credential without an AuthConfig.")
    flows, store = _services(run, ctx)
    credential, problem = None, ""
    # Asked for again although it was given: it was refused, so only a person can help.
    was_refused = ctx.get_auth_response(config) is not None
    if not was_refused:
        credential, problem = await _answered(run, ctx, config, flows, store)
        credential = credential or await flows.ready(run.scope, config)
    if credential is not None:
        ctx.accept_credential(config, credential)
        return None
    shown = await flows.begin(run.scope, config)
    run.record(ctx.path, ctx.call).sign_in = None if was_refused else config
    payload = {**shown, "credential_key": config.credential_key}
    return replace(request, hint=f"{problem} {request.hint}".strip(), payload=payload)


async def look_again(run: Run, ctx: ToolContext) -> None:
    """Release a call that asks for a credential which has come since it was looked for.

    The sign-in of another call, which would have released this one, may not have seen it: its
    question was not stored then. Now it is, so whoever signs in later does.
    """
    record, store = run.record(ctx.path, ctx.call), run.log.store
    config, record.sign_in = record.sign_in, None
    flows = run.services.auth
    if config is None or flows is None or store is None or record.pending is None:
        return
    try:
        if await flows.ready(run.scope, config) is not None:
            # Under its key is nothing, so the call is given what is ready.
            answer = SignedIn(key=f"answer:{uuid.uuid4().hex}")
            address = (run.scope.app_name, run.scope.session_id, record.pending.call_id)
            await store.answer(*address, answer, born=run.log.born)
    except Exception:
        # The question stands, and a person can answer it.
        logger.exception("session %s: no second look for a credential", run.scope.session_id)


async def _answered(
    run: Run, ctx: ToolContext, config: AuthConfig, flows: AuthFlows, store: Credentials
) -> tuple[AuthCredential | None, str]:
    """The credential in the person's answer, or what is wrong with the answer."""
    # A call may ask for several credentials, one after the other, and for its result after them:
    # each answer is for one question.
    answers = run.record(ctx.path, ctx.call).answers
    signed_in = [(asked, said) for asked, said in answers if isinstance(said, SignedIn)]
    if not signed_in or signed_in[-1][0].payload["credential_key"] != config.credential_key:
        return None, ""
    pending, answer = signed_in[-1]
    brought = await store.load(run.scope, answer.key)
    if brought is None:
        return None, ""
    try:
        credential = await flows.finish(run.scope, config, brought)
    except UsageError as error:
        await store.delete(run.scope, answer.key)
        run.log.brought.pop(pending.call_id, None)
        return None, str(error)
    if run.log.store is not None:
        await _release(run.log.store, OpenCall(scope=run.scope, pending=pending), answer)
    await store.delete(run.scope, answer.key)
    run.log.brought.pop(pending.call_id, None)
    return credential, ""


def _services(run: Run, ctx: ToolContext) -> tuple[AuthFlows, Credentials]:
    flows, store = run.services.auth, run.services.credentials
    if flows is None or store is None:
        raise UsageError(
            f"Tool {ctx.call.name!r} needs a credential, but the runner has no credential store; "
            "give it one: Runner(agent, …, credentials='memory://')."
        )
    return flows, store
