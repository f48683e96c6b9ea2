"""Take a session on until it is done: show what happens, ask what must be asked."""

import sys

from rich.console import Console

from toolwright.agent import Result, Runner
from toolwright.cli._ask import ask_person
from toolwright.cli._show import Show
from toolwright.errors import UsageError
from toolwright.messages import Prompt, RunEnded

__all__ = ["go", "last_result"]


async def go(
    runner: Runner, session_id: str, prompt: Prompt | None, show: Show, *, interactive: bool
) -> Result:
    """Run, and as long as somebody can be asked, answer what is pending and go on."""
    console = Console(stderr=True, highlight=False)
    while True:
        async for event in runner.stream(prompt, user_id="me", session_id=session_id):
            show(event)
        result = await last_result(runner, session_id)
        if result.status != "paused" or not interactive:
            return result
        for pending in await runner.pending(session_id):
            try:
                await runner.answer(session_id, pending.call_id, await ask_person(pending, console))
            except UsageError as error:
                console.print(str(error), style="red", markup=False)
        prompt = None


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
