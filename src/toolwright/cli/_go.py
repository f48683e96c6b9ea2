"""Run a session until it is done: show what happens, ask what must be asked."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

import anyio

from toolwright.agent import Result, Runner
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
    left = set[str]()
    while True:
        async for event in runner.stream(
            prompt, user_id=scope.user_id, session_id=scope.session_id
        ):
            show(event)
        result = await last_result(runner, scope.session_id)
        if ask is None or not (late or result.status == "paused"):
            return result
        if not await _answer_all(runner, scope.session_id, ask, left):
            return result
        prompt = None


async def _answer_all(runner: Runner, session_id: str, ask: Ask, left: set[str]) -> bool:
    """Ask about all that waits and is not in `left`, first what the run waits for; whether it can go
    on with an answer. What is left waiting now is added to `left`."""
    waiting = [call for call in await runner.pending(session_id) if call.call_id not in left]
    for pending in sorted(waiting, key=lambda call: not call.blocking):
        if not await _answer(runner, session_id, pending, ask):
            left.add(pending.call_id)
    is_blocked = any(call.blocking for call in await runner.pending(session_id))
    return not is_blocked and any(call.call_id not in left for call in waiting)


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
