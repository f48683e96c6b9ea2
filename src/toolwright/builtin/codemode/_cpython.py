"""Run code that calls tools on CPython in a sandbox, for what Monty cannot."""

from dataclasses import dataclass
from typing import Any

from toolwright.backends import Limits, OsSandbox
from toolwright.backends.sandboxes import read_guest_json
from toolwright.builtin.codemode._calls import CallFailed, Calls, Paused
from toolwright.builtin.codemode._monty import CodeRejected, Ran
from toolwright.concurrency import in_io_thread

__all__ = ["run_on_cpython"]


async def run_on_cpython(code: str, calls: Calls, sandbox: OsSandbox, limits: Limits) -> Ran:
    """Run the code in a fresh interpreter; its calls are answered here, on the ordinary path."""
    desk = _Desk(calls)
    done = await sandbox.run_calling(code, list(calls.stubs), desk.answer, limits=limits)
    if desk.paused:
        raise Paused
    if not done.ok:
        raise CodeRejected(f"{done.stdout}{done.stderr or f'The code ended: {done.ended}.'}")
    return Ran(done.stdout, await in_io_thread(_value, done.value))


@dataclass(slots=True)
class _Desk:
    """Answers what the interpreter asks; when something waits for the outside, it is to end."""

    calls: Calls
    paused: bool = False

    async def answer(self, asked: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        results: dict[int, dict[str, Any]] = {}
        wanted = {}
        for position, one in enumerate(asked):
            try:
                call = self.calls.ask(one["name"], one["args"], one["kwargs"])
                wanted[position] = (one["name"], call)
            except CallFailed as failed:
                results[position] = {"error": str(failed)}
        try:
            values = await self.calls.answer(list(wanted.values())) if wanted else []
        except Paused:
            self.paused = True
            return None
        for position, value in zip(wanted, values, strict=True):
            failed = isinstance(value, CallFailed)
            results[position] = {"error": str(value)} if failed else {"value": value}
        return [results[position] for position in range(len(asked))]


def _value(written: str | None) -> Any:
    """The value that the interpreter wrote as JSON; the code may have changed the interpreter."""
    if written is None:
        return None
    try:
        return read_guest_json(written)
    except (ValueError, RecursionError) as error:
        raise CodeRejected(
            f"The value of the last expression cannot be handed over: {error}. Show a part of it."
        ) from error
