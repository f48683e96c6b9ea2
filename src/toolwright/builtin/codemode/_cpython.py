"""Run code that calls tools on CPython in a sandbox, for what Monty cannot."""

from toolwright.backends import Limits, OsSandbox
from toolwright.builtin.codemode._calls import Calls, CodeRejected, Desk, Paused, Ran, to_ran

__all__ = ["run_on_cpython"]


async def run_on_cpython(code: str, calls: Calls, sandbox: OsSandbox, limits: Limits) -> Ran:
    """Run the code in a fresh interpreter; its calls are answered here, on the ordinary path."""
    desk = Desk(calls)
    done = await sandbox.run_calling(code, list(calls.stubs), desk.answer, limits=limits)
    if desk.paused:
        raise Paused
    if not done.ok:
        raise CodeRejected(f"{done.stdout}{done.stderr or f'The code ended: {done.ended}.'}")
    return await to_ran(done)
