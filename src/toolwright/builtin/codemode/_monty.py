"""Run code that calls tools on Monty, which stops at every call until it is answered."""

from datetime import datetime
from typing import Any

from toolwright.backends import Limits
from toolwright.backends.sandboxes import run_on_fresh_monty
from toolwright.backends.sandboxes._monty_worker import GAP
from toolwright.builtin.codemode._calls import Calls, CodeRejected, Desk, Paused, Ran, to_ran

__all__ = ["run_on_monty"]


async def run_on_monty(
    code: str, calls: Calls, *, stubs: str, limits: Limits, seed: str, now: datetime | None
) -> Ran:
    """Check the code against the stubs, then run it; `seed` and `now` make it repeatable."""
    desk = Desk(calls)
    session = _session(stubs, seed, now)
    done = await run_on_fresh_monty(code, limits, session, list(calls.stubs), desk.answer)
    if desk.paused:
        raise Paused
    if not done.ok:
        before = f"Printed before:\n{done.stdout}\n" if done.stdout else ""
        ended = "" if done.ended == "exited" else f"\nThe code was ended: {done.ended}."
        problem = f"{done.stderr.rstrip()}{ended}".lstrip()
        raise CodeRejected(f"{before}{problem}", gap=done.exit_code == GAP)
    return await to_ran(done)


def _session(stubs: str, seed: str, now: datetime | None) -> dict[str, Any]:
    moment = {} if now is None else {"datetime": now.isoformat()}
    return {
        "script_name": "code.py",
        "type_check": True,
        "type_check_stubs": stubs,
        "type_check_format": "concise",
        "os_policy": {"random_start": {"seed": seed}, "sleep": "zero", **moment},
    }
