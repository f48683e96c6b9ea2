"""Run a session until it is done: show what happens, ask what must be asked."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

import anyio

from toolwright.agent import Result, Runner
from toolwright.backends import OpenCall, is_blocked, is_expired, waited_for
from toolwright.cli._out import note
from toolwright.cli._show import Show
from toolwright.errors import ToolwrightError
from toolwright.messages import Answered, Approve, Pending, Prompt, RunEnded, Scope

__all__ = [
    "LOST",
    "UNANSWERED",
    "Ask",
    "choose_asker",
    "go",
    "is_interactive",
    "is_the_call_itself",
    "last_result",
    "named_when_interrupted",
]


class _Unanswered(Enum):
    UNANSWERED = "unanswered"


UNANSWERED = _Unanswered.UNANSWERED
"""In place of an answer: leave the call waiting."""

Ask = Callable[[Pending], Awaitable[Any]]
"""Asks somebody; called again after an answer that was refused."""

LOST: dict[Answered, str] = {
    "duplicate": "This call has already been answered; the first answer holds.",
    "finished": "The run this call belongs to has ended.",
    "unknown": "No such call is waiting.",
    "expired": "The deadline of this call has passed.",
}
"""Why an answer came to nothing, where asking again would not help."""


async def go(
    runner: Runner,
    scope: Scope,
    prompt: Prompt | None,
    show: Show,
    ask: Ask | None,
    *,
    late: bool = False,
) -> Result:
    """Run, and as long as `ask` has answers to what is pending, go on.

    Args:
        late: Calls that the run has gone on without are asked about when it is done, too.
    """
    left, known = set[str](), set[str]()
    while True:
        async for event in runner.stream(
            prompt, user_id=scope.user_id, session_id=scope.session_id
        ):
            show(event)
        result = await last_result(runner, scope.session_id)
        if ask is None or not (late or result.status == "paused"):
            return result
        async with _stopped_at_questions(runner, scope.session_id):
            can_go_on = await _answer_all(
                runner, scope.session_id, ask, left=left, known=known, late=late
            )
        if not can_go_on:
            return result
        prompt = None


@asynccontextmanager
async def _stopped_at_questions(runner: Runner, session_id: str) -> AsyncIterator[None]:
    """Ctrl-C at a question stops the run, as it does while a call runs: what was approved before it is
    not run with the next message."""
    try:
        yield
    except (KeyboardInterrupt, EOFError, anyio.get_cancelled_exc_class()):
        with anyio.CancelScope(shield=True):
            open_calls = await runner.store.open_calls(runner.app_name, session_id)
            if any(call.answer is not None for call in open_calls):
                await runner.abandon(session_id, keep_open=True)
        raise


async def _answer_all(
    runner: Runner, session_id: str, ask: Ask, *, left: set[str], known: set[str], late: bool
) -> bool:
    """Ask about all that the run waits for and is not in `left`, then, if it waits on and `late` is set,
    about the rest; whether it can go on with something new. What is left waiting is added to `left`."""
    answered = False
    for blocking in (True, False) if late else (True,):
        for pending in await runner.pending(session_id):
            if pending.blocking != blocking or pending.call_id in left or is_expired(pending):
                continue
            if await _answer(runner, session_id, pending, ask):
                answered = True
            else:
                left.add(pending.call_id)
        open_calls = await runner.store.open_calls(runner.app_name, session_id)
        if not is_blocked(open_calls) and (answered or _is_new(open_calls, known)):
            return True
    return False


def _is_new(open_calls: Sequence[OpenCall], known: set[str]) -> bool:
    """Whether a call was answered elsewhere, or its deadline has passed, that was not `known`: it is
    from here on, so that nobody goes on with it twice."""
    expired = [call for call in waited_for(open_calls) if is_expired(call.pending)]
    answered = [call for call in open_calls if call.answer is not None]
    news = {call.pending.call_id for call in [*expired, *answered]}
    is_new = not news <= known
    known |= news
    return is_new


@asynccontextmanager
async def named_when_interrupted(tell: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Ctrl-C and Ctrl-D at a question, and SIGINT at any time, are told by `tell`, then go on."""
    try:
        yield
    except (KeyboardInterrupt, EOFError):
        await tell()
        raise
    except anyio.get_cancelled_exc_class():
        # SIGINT reaches a program that is not reading keys as the cancellation of its main task.
        with anyio.CancelScope(shield=True):
            await tell()
        raise


async def _answer(runner: Runner, session_id: str, pending: Pending, ask: Ask) -> bool:
    """Ask until an answer is taken; False when the call is left waiting."""
    while (value := await ask(pending)) is not UNANSWERED:
        try:
            outcome = await runner.answer(session_id, pending.call_id, value, key=pending.key)
        except ToolwrightError as error:
            note(str(error))
            continue
        if outcome == "accepted":
            return True
        note(LOST.get(outcome, outcome))
        if outcome in LOST:
            return True
    return False


def _approve_once(covers: Callable[[Pending], bool], other: Ask | None) -> Ask:
    """Approves the confirmations that `covers` is true of; once, for an approval may be refused."""
    approved: set[str] = set()

    async def ask(pending: Pending) -> Any:
        if pending.kind == "confirmation" and covers(pending) and pending.call_id not in approved:
            approved.add(pending.call_id)
            return Approve()
        return UNANSWERED if other is None else await other(pending)

    return ask


def is_the_call_itself(pending: Pending) -> bool:
    """Whether it is asked about before it runs: no question of its own, no call inside it."""
    return "/" not in pending.call_id and not pending.ran


def choose_asker(*, yes: bool = False, call: bool = False, person: bool = True) -> Ask | None:
    """Who answers: nobody, or the person at the terminal, if there is one.

    Args:
        yes: Everything that asks for it is approved; nothing else is answered.
        call: The call that was typed is approved, and nothing that comes of it.
        person: Whether a person may be asked.
    """
    if yes:
        return _approve_once(lambda pending: True, None)
    if call:
        return _approve_once(is_the_call_itself, choose_asker(person=person))
    if not person or not is_interactive():
        return None
    from toolwright.cli._ask import ask_person  # noqa: PLC0415 - slow to load, and seldom needed

    return ask_person


async def last_result(runner: Runner, session_id: str) -> Result:
    """How the session's last run ended."""
    events = await runner.events(session_id)
    ended = next((e for e in reversed(events) if isinstance(e, RunEnded) and not e.path), None)
    if ended is None:
        return Result(status="stopped", reason="interrupted", session_id=session_id)
    return Result(
        status=ended.status,
        text=ended.text,
        reason=ended.reason,
        usage=ended.usage,
        pending=tuple(await runner.pending(session_id)),
        session_id=session_id,
    )


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
