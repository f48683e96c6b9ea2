"""Begin a run, take it to its end, and say what it came to."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio

from toolwright.agent._chat import ChatNode
from toolwright.agent._dispatch import answer_calls
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Limits, Meter
from toolwright.agent._log import Log, Waiting, full_id, settle_turn
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome, Result
from toolwright.agent._run import Run, Shared
from toolwright.agent._tracing import span
from toolwright.messages import (
    AnyEvent,
    Event,
    Prompt,
    RunStarted,
    Scope,
    StateChanged,
    TextPart,
    ToolEnded,
    ToolResult,
    UserMessage,
    jsonable,
    user_message,
)
from toolwright.tools import Services, State, StateTable

__all__ = [
    "Job",
    "Start",
    "abandon",
    "begin",
    "carry_on",
    "make_result",
    "resume",
    "run_to_end",
    "stream_events",
]

WENT_ON = "The person went on without answering; this call was not run."


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a run is given besides its message."""

    log: Log | None = None
    deps: Any = None
    state: Mapping[str, Any] | None = None
    given: Mapping[str, Any] | None = None
    """State that comes with the message, and is kept from then on."""
    services: Services | None = None
    task_id: str | None = None
    hooks: Hooks | None = None
    limits: Limits | None = None


@dataclass(slots=True)
class Job:
    """A run that is ready to go."""

    run: Run
    message: UserMessage | None = None
    first_event: int = 0
    given: Mapping[str, Any] | None = None


Guard = Callable[[str, Job], Coroutine[Any, Any, Result]]
"""Takes a session's job to its end, so that others can stop it."""


def begin(agent: AgentNode, prompt: Prompt, start: Start) -> Job:
    """A run that answers `prompt`; calls that still wait in its session are given up."""
    return Job(_new_run(agent, start), user_message(prompt), given=start.given)


def carry_on(agent: AgentNode, start: Start) -> Job:
    """A run that goes on where the session stands, with whatever answers have come."""
    return Job(_new_run(agent, start))


def resume(agent: AgentNode, paused: Result, answers: Mapping[str, Any], start: Start) -> Job:
    """A run that goes on from a result that nobody stored."""
    log = Log(_scope())
    log.replay(list(paused.events))
    log.events.extend(paused.events)
    for call_id, answer in answers.items():
        log.take_answer(call_id, jsonable(answer))
    return carry_on(
        agent, Start(log=log, deps=start.deps, state=start.state, services=start.services)
    )


def _new_run(agent: AgentNode, start: Start) -> Run:
    log = start.log or Log(_scope())
    shared = Shared(
        log,
        Meter(start.limits or agent.limits),
        answer_calls,
        table=StateTable(start.state),
        services=start.services,
        deps=start.deps,
        task_id=start.task_id,
        hooks=start.hooks,
    )
    if log.seq and log.store is not None:
        shared.spill.look()
    current = agent.find(log.thread("").agent) or agent
    return Run(cast(ChatNode, current), shared)


def _scope() -> Scope:
    return Scope(app_name="", user_id="", session_id=uuid.uuid4().hex)


async def run_to_end(job: Job) -> Result:
    """Run until it is done, paused or stopped; what was recorded is stored whatever happens."""
    run = job.run
    _open(job)
    # Stored before anything happens: whoever else holds this session learns that it has moved on.
    await run.log.flush()
    try:
        with span("invoke_agent", run.agent.name, {"gen_ai.conversation.id": run.scope.session_id}):
            outcome = await run.go()
    except BaseException as error:
        reason = "cancelled" if _is_cancel(error) else f"{type(error).__name__}: {error}"
        with anyio.CancelScope(shield=True):
            await _close(run, Outcome(status="stopped", reason=run.redactor(reason)))
        raise
    await _close(run, outcome)
    return make_result(run, outcome, job.first_event)


def _is_cancel(error: BaseException) -> bool:
    return isinstance(error, anyio.get_cancelled_exc_class())


def _open(job: Job) -> None:
    run = job.run
    job.first_event = len(run.log.events)
    run.thread.agent = run.agent.name
    message = job.message
    if message is not None:
        _give_up_open_calls(run, WENT_ON, but_answered=True)
        if run.thread.calls:
            # Calls that were answered come first; the message follows their results.
            run.log.inbox.append(Waiting(message))
            message = None
    run.emit(RunStarted, message=message)
    if job.given:
        _keep_state(run, job.given)
    run.thread.ended = None
    if message is not None:
        run.history.append(message)
    asked = (message for message in reversed(run.history) if isinstance(message, UserMessage))
    run.user_content = job.message or next(asked, None)


def _keep_state(run: Run, given: Mapping[str, Any]) -> None:
    delta: dict[str, Any] = {}
    State(run.table, delta).update(given)
    kept = {key: value for key, value in delta.items() if not key.startswith("temp:")}
    run.emit(StateChanged, delta=kept)


async def abandon(job: Job, reason: str) -> None:
    """End a session that nobody goes on with: its open calls get an error result."""
    _give_up_open_calls(job.run, f"This call was not answered: {reason}.")
    await _close(job.run, Outcome(status="stopped", reason=reason))


def _give_up_open_calls(run: Run, why: str, *, but_answered: bool = False) -> None:
    kept = False
    for call in run.thread.calls:
        address = full_id(run.path, call.call_id)
        record = run.log.record(address)
        if record.result is not None:
            continue
        if but_answered and run.log.has_answer(address):
            kept = True
            continue
        content = (TextPart(why),)
        record.result = ToolResult(
            call_id=call.call_id, name=call.name, status="error", content=content
        )
        run.give_up(address, why)
        run.emit(ToolEnded, result=record.result)
    if not kept:
        settle_turn(run.log, run.path)


async def _close(run: Run, outcome: Outcome) -> None:
    run.end(outcome)
    await run.log.flush()


def make_result(run: Run, outcome: Outcome, first_event: int = 0) -> Result:
    """The outcome with everything a caller may want to look at."""
    values = run.table.values
    return Result(
        status=outcome.status,
        text=outcome.text,
        output=outcome.output,
        pending=tuple(run.log.waiting()),
        usage=run.shared.meter.usage,
        events=run.log.events[first_event:] if run.log.store is not None else list(run.log.events),
        history=run.history.view(),
        reason=outcome.reason,
        agent=run.agent.name,
        session_id=run.scope.session_id,
        run_id=run.run_id,
        escalated=run.escalated,
        state={key: value for key, value in values.items() if not key.startswith("temp:")},
    )


async def stream_events(job: Job, guard: Guard | None = None) -> AsyncGenerator[AnyEvent]:
    """The events of `job` as they happen; closing the iterator cancels the run."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    log = job.run.log
    log.listeners.append(queue.put_nowait)
    # Not a task group: an async generator may be closed from another task, where a group's
    # cancel scope must not be left. The task never outlives the generator.
    ending = run_to_end(job) if guard is None else guard(job.run.scope.session_id, job)
    task = asyncio.create_task(ending)
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield cast(AnyEvent, event)
        await task
    finally:
        log.listeners.remove(queue.put_nowait)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
