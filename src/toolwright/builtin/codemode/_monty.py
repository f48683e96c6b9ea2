"""Run code that calls tools on Monty, which stops at every call until it is answered."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from toolwright.backends import Limits
from toolwright.backends.sandboxes import check_guest_value
from toolwright.builtin.codemode._calls import CallFailed, Calls
from toolwright.concurrency import wait_in_thread
from toolwright.messages import ToolCall

try:
    import pydantic_monty as monty
except ImportError as error:
    raise ImportError("Code mode needs an extra: pip install 'toolwright[sandbox]'") from error

__all__ = ["CodeRejected", "Ran", "run_on_monty"]

Answer = Callable[[list[tuple[str, ToolCall]]], Awaitable[list[Any]]]


class CodeRejected(Exception):
    """The code was not run, or not to its end; the text is for the model."""

    def __init__(self, text: str, *, gap: bool = False) -> None:
        super().__init__(text)
        self.gap = gap
        """Whether other interpreters of Python could run it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What code gave: what it printed, and the value of its last expression."""

    printed: str
    value: Any


async def run_on_monty(
    code: str, calls: Calls, *, stubs: str, limits: Limits, seed: str, now: datetime | None
) -> Ran:
    """Check the code against the stubs, then run it; `seed` and `now` make it repeatable."""
    with ExitStack() as stack:
        # The sync interface in a worker thread: the async one can abort the interpreter at exit.
        session = await wait_in_thread(partial(_session, stack, stubs, limits, seed, now))
        printed = monty.CollectString(max_bytes=limits.output)
        step = partial(session.feed_start, code, print_callback=printed)
        pending: dict[int, tuple[str, ToolCall]] = {}
        while True:
            snapshot = await _step(step, printed)
            if isinstance(snapshot, monty.MontyComplete):
                return Ran(printed.output, _checked(snapshot.output))
            step = await _next_step(snapshot, pending, calls)


def _session(
    stack: ExitStack, stubs: str, limits: Limits, seed: str, now: datetime | None
) -> monty.MontySession:
    policy = monty.OSPolicy(random_start={"seed": seed}, sleep="zero")
    if now is not None:
        policy["datetime"] = now
    pool = stack.enter_context(monty.Monty(max_processes=1))
    checkout = pool.checkout(
        script_name="code.py",
        type_check=True,
        type_check_stubs=stubs,
        type_check_format="concise",
        os_policy=policy,
        limits=monty.ResourceLimits(
            max_feed_duration_secs=limits.timeout,
            max_memory=limits.memory,
            max_suspensions=10_000,
        ),
    )
    return stack.enter_context(checkout)


async def _step(step: Callable[[], monty.SyncSnapshot], printed: Any) -> monty.SyncSnapshot:
    try:
        return await wait_in_thread(step)
    except monty.MontyTypingError as error:
        raise CodeRejected(f"The code was not run; it does not fit the tools:\n{error}") from error
    except (monty.MontyRuntimeError, monty.MontySyntaxError) as error:
        missing = isinstance(error.exception(), NotImplementedError | ModuleNotFoundError)
        before = f"Printed before:\n{printed.output}\n" if printed.output else ""
        raise CodeRejected(f"{before}{error.display()}", gap=missing) from error
    except monty.MontyError as error:
        raise CodeRejected(f"The interpreter failed: {error}") from error


def _checked(value: Any) -> Any:
    try:
        check_guest_value(value)
    except ValueError as error:
        raise CodeRejected(
            f"The value of the last expression cannot be handed over: {error}. Show a part of it."
        ) from error
    return value


async def _next_step(
    snapshot: Any, pending: dict[int, tuple[str, ToolCall]], calls: Calls
) -> Callable[[], monty.SyncSnapshot]:
    """How to go on from here; calls are collected until all the code waits, then answered together."""
    match snapshot:
        case monty.FunctionSnapshot(is_os_function=True):
            return snapshot.resume_not_handled
        case monty.FunctionSnapshot():
            try:
                call = calls.ask(snapshot.function_name, snapshot.args, snapshot.kwargs)
            except CallFailed as failed:
                return partial(snapshot.resume, _exception(failed))
            pending[snapshot.call_id] = (snapshot.function_name, call)
            return partial(snapshot.resume, {"future": ...})
        case monty.FutureSnapshot():
            ids = [number for number in snapshot.pending_call_ids if number in pending]
            values = await calls.answer([pending.pop(number) for number in ids])
            return partial(
                snapshot.resume, {n: _result(v) for n, v in zip(ids, values, strict=True)}
            )
        case _:
            return snapshot.resume  # A name nobody knows: the code gets its NameError.


def _result(value: Any) -> Any:
    return _exception(value) if isinstance(value, CallFailed) else {"return_value": value}


def _exception(failed: CallFailed) -> Any:
    return {"exc_type": "RuntimeError", "message": str(failed)}
