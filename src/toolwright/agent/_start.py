"""Begin a run, take it to its end, and say what it came to."""

import asyncio
import time
import uuid
from collections.abc import (
    AsyncGenerator,
    Callable,
    Container,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio

from toolwright._message_of import named_message_of
from toolwright.agent._answers import (
    OUTCOME_ASKED,
    OUTCOME_UNKNOWN,
    STILL_RUNNING,
    STOPPED,
    WROTE,
    Pass,
    come_to_inside,
    how_far,
    is_unknown,
    next_step,
)
from toolwright.agent._asked_tool import changes_arguments, tool_asked_about
from toolwright.agent._chat import ChatNode
from toolwright.agent._credentials import forget_unused
from toolwright.agent._dispatch import answer_calls
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Limits, Meter
from toolwright.agent._log import CallRecord, Log, full_id, settle_turn
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome, Result
from toolwright.agent._rounds import go_on
from toolwright.agent._rules import ABOVE_ALL, Above
from toolwright.agent._run import Run, Shared
from toolwright.agent._tracing import span
from toolwright.agent._updates import late_updates
from toolwright.backends import Hold
from toolwright.errors import UsageError
from toolwright.messages import (
    AnyEvent,
    Event,
    Pending,
    Prompt,
    RunStarted,
    Scope,
    Status,
    StoredAnswer,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    UserMessage,
    user_message,
)
from toolwright.tools import Args, Services, State, StateTable, accept_answer

__all__ = [
    "Job",
    "OnOpen",
    "Start",
    "abandon",
    "begin",
    "carry_on",
    "make_result",
    "parse_for",
    "resume",
    "run_to_end",
    "stream_events",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a run is given besides its message."""

    log: Log | None = None
    deps: Any = None
    state: Mapping[str, Any] | None = None
    given: Mapping[str, Any] | None = None
    """State that comes with the message, and is kept from then on."""
    instead_of: str = ""
    """The hold of an earlier run of the session whose process is gone."""
    last_seq: int = 0
    """Where the session's log ended when it was read."""
    services: Services | None = None
    task_id: str | None = None
    hooks: Sequence[Hooks | None] = ()
    """The runner's, and of those who serve it."""
    limits: Limits | None = None
    above: Above = ABOVE_ALL
    """The runner's rules, and what holds for the task that started this one."""


@dataclass(slots=True)
class Job:
    """A run that is ready to go."""

    run: Run
    message: UserMessage | None = None
    first_event: int = 0
    given: Mapping[str, Any] | None = None
    queued: Sequence[UserMessage] = ()
    """Messages to put in before the next turn."""
    is_open: bool = False
    """Whether its beginning is stored."""


OnOpen = Callable[[Job], None]
"""Told of a run when it has been opened, before anything else happens in it."""


def begin(agent: AgentNode, prompt: Prompt, start: Start) -> Job:
    """A run that answers `prompt`; calls that still wait in its session are given up."""
    return Job(_new_run(agent, start), user_message(prompt), given=start.given)


def carry_on(agent: AgentNode, start: Start) -> Job:
    """A run that goes on where the session stands, with whatever answers have come."""
    return Job(_new_run(agent, start))


async def resume(agent: AgentNode, paused: Result, answers: Mapping[str, Any], start: Start) -> Job:
    """A run that goes on from a result that nobody stored."""
    log = Log(Scope(app_name="", user_id="", session_id=paused.session_id))
    log.replay(list(paused.events))
    log.events.extend(paused.events)
    waiting = {pending.call_id: pending for pending in log.waiting()}
    checked: dict[str, StoredAnswer] = {}
    for call_id, answer in answers.items():
        if call_id not in waiting:
            raise UsageError(f"No call {call_id!r} waits for an answer; waiting: {list(waiting)}.")
        checked[call_id] = accept_answer(
            waiting[call_id], answer, await parse_for(agent, waiting[call_id], answer, start)
        )
    for call_id, stored in checked.items():
        log.take_answer(call_id, stored)
    return carry_on(agent, replace(start, log=log))


async def parse_for(
    agent: AgentNode, pending: Pending, answer: Any, start: Start
) -> Callable[[str], Args] | None:
    """What checks the changed arguments in `answer`; None if there are none, or no such tool."""
    if not changes_arguments(answer):
        return None
    tool = await tool_asked_about(agent, pending, carry_on(agent, start).run.readonly)
    return None if tool is None else tool.parse


def _new_run(agent: AgentNode, start: Start) -> Run:
    log = start.log or Log(_scope())
    shared = Shared(
        log,
        Meter(start.limits or agent.limits, before=log.spent_at("")),
        answer_calls,
        table=StateTable(start.state),
        services=start.services,
        deps=start.deps,
        task_id=start.task_id,
        hooks=start.hooks,
        root=agent,
    )
    if log.store is not None:
        log.hold = Hold(
            id=shared.run_id,
            since=time.time(),
            first=True,
            instead_of=start.instead_of,
            born=log.born,
        )
        if log.seq:
            shared.spill.look()
    current = agent.find(log.thread("").agent) or agent
    return Run(cast(ChatNode, current), shared, entry=agent, above=start.above)


def _scope() -> Scope:
    return Scope(app_name="", user_id="", session_id=uuid.uuid4().hex)


async def run_to_end(job: Job, on_open: OnOpen | None = None) -> Result:
    """Run until it is done, paused or stopped; what was recorded is stored whatever happens.

    Its session is free when this returns or raises.
    """
    try:
        _open(job)
        # Stored before anything happens: it takes the session, or learns that another run has it.
        await job.run.log.flush()
        job.is_open = True
        if on_open is not None:
            on_open(job)
        return await _go_to_end(job)
    finally:
        await job.run.log.release()


async def _go_to_end(job: Job) -> Result:
    run = job.run
    try:
        with span("invoke_agent", run.agent.name, {"gen_ai.conversation.id": run.scope.session_id}):
            outcome = await _until_all_is_read(run, new=job.message is not None)
    except BaseException as error:
        reason = "cancelled" if _is_cancel(error) else named_message_of(error)
        if run.log.broken is None:
            if run.shared.abandoned:
                _abandon_calls(run, reason)
            with anyio.CancelScope(shield=True):
                await forget_unused(run)
                await _close(run, Outcome(status="stopped", reason=run.redactor(reason)))
        raise
    await _close(run, outcome)
    return make_result(run, outcome, job.first_event)


async def _until_all_is_read(run: Run, *, new: bool) -> Outcome:
    """Take the run to its end, and again if a message comes while it is cleaned up behind it.

    Nothing is awaited from the last look to the end, after which no message is accepted.
    """
    while True:
        outcome = await go_on(run, new=new)
        await forget_unused(run)
        if outcome.status != "done" or not _is_behind(run):
            return outcome


def _is_cancel(error: BaseException) -> bool:
    return isinstance(error, anyio.get_cancelled_exc_class())


def _open(job: Job) -> None:
    run = job.run
    job.first_event = len(run.log.events)
    run.thread.agent = run.agent.name
    message, queued = job.message, list(job.queued)
    if message is not None:
        interrupted = {at: _interrupted(run, at) for at, _ in _open_calls(run)}
        if run.log.is_stopped:
            rounds = run.log.rounds_under_way()
            _withdraw_answers(run)
            _leave_stopped_rounds(run, rounds)
            _stop_inside(run)
        _leave_rounds(run)
        _leave_open_calls(run, interrupted)
        if run.thread.calls or (isinstance(run.agent, ChatNode) and _is_behind(run)):
            # Calls that were answered come first, and messages that nobody has read yet: a process
            # may have ended before it did.
            queued.insert(0, message)
            message = None
    run.emit(RunStarted, message=message)
    for waiting in queued:
        run.queue(waiting)
    if job.given:
        _keep_state(run, job.given)
    run.thread.ended = None
    if message is not None:
        run.history.append(message)
        run.log.asked = message
    asked = (message for message in reversed(run.history) if isinstance(message, UserMessage))
    run.user_content = job.message or next(asked, None)


def _is_behind(run: Run) -> bool:
    """Whether an earlier message still waits to be put in."""
    return any(waiting.queued for waiting in run.log.inbox)


def _keep_state(run: Run, given: Mapping[str, Any]) -> None:
    state = State(run.table)
    state.update(given)
    run.keep_state(state)


async def abandon(job: Job, reason: str, *, keep_open: bool = False) -> None:
    """End a session that nobody goes on with: what it waits for can come no more, unless kept open.

    Calls that were answered stay as they are, and so do those that were interrupted, by a crash or
    as they ran: whoever goes on all the same finds them as they were.
    """
    run = job.run
    if not keep_open:
        _abandon_calls(run, reason)
    try:
        await forget_unused(run)
        await _close(run, Outcome(status="stopped", reason=reason))
    finally:
        await run.log.release()


def _abandon_calls(run: Run, reason: str) -> None:
    kept = False
    for address, call in _open_calls(run):
        if _interrupted(run, address) or run.log.has_answer(address):
            kept = True
            _abandon_inside(run, address, reason)
        else:
            pending = run.log.record(address).pending
            _give_up(run, address, call, _abandoned(pending, reason), at=pending)
    if not kept:
        settle_turn(run.log, run.path)


def _abandon_inside(run: Run, address: str, reason: str) -> None:
    """Close what still waits inside a call that goes on, if anything does, with other answers."""
    for inner, pending in _waiting_inside(run, address):
        _close_call(run, inner, pending, "error", _abandoned(pending, reason))


def _abandoned(pending: Pending | None, reason: str) -> str:
    """What the model reads of a call that waits no more, because its session was given up."""
    if pending is None:
        return f"This call was stopped: {reason}."
    if pending.kind == "result" and not pending.outcome:
        return (
            f"No result has come for this call: {reason}. Its function has run, and what it set "
            "off may still take effect. Check before you call it again."
        )
    return f"This call was not answered: {reason}; {how_far(pending)}."


def _withdraw_answers(run: Run) -> None:
    """The person has stopped the run and writes something else: what they have let happen, and has not
    begun, does not happen any more. Only whoever resumes the session means it still."""
    for address, record in run.log.calls.items():
        pending, is_over = record.pending, any(map(run.log.has_ended, _upwards(address)))
        if pending is None or record.answer is None or record.started or is_over:
            continue
        if next_step(record) is Pass.RUN:
            run.log.owed.discard(pending.call_id)
            _close_call(run, address, pending, "error", f"{STOPPED}; {how_far(pending)}.")


def _leave_stopped_rounds(run: Run, rounds: Container[int | None]) -> None:
    """The rounds of a workflow that a person has stopped stay unfinished: what they were at, or waited
    for, is closed, so that nothing that comes later goes on with them."""
    log = run.log
    _close_interrupted(run, [at for at in log.interrupted() if log.round_of(at) in rounds])
    for address, record in log.calls.items():
        pending, is_over = record.pending, any(map(log.has_ended, _upwards(address)))
        if pending is None or is_over or log.round_of(address) not in rounds:
            continue
        if not pending.blocking:
            run.change_pending(pending, blocking=True)
        why = _abandoned(pending, STOPPED)
        _close_call(run, address, pending, "error", f"{STOPPED}." if record.answer else why)
    log.leave_rounds()


def _stop_inside(run: Run) -> None:
    """Agents, and others that make calls themselves, that were stopped as they ran do not go on before
    the message is read: the model learns what they have done."""
    for address, call in _open_calls(run):
        inside = [at for at in run.log.calls if at.startswith(f"{address}/")]
        if not inside and address not in run.log.threads:
            continue
        _let_run_on(run, address)
        told = come_to_inside(run.log, address)
        unknown = [at for at in inside if at in run.log.interrupted()]
        _close_interrupted(run, unknown)
        if unknown:
            told += " What it was at may or may not have taken effect; check before you repeat it."
        _give_up(run, address, call, f"{STOPPED}; it was stopped.", told=told)
    run.log.inbox.extend(late_updates(run.log))


def _close_interrupted(run: Run, addresses: Sequence[str]) -> None:
    """Close calls that were stopped as they ran, where the call is known by its name."""
    for address in addresses:
        path, _, call_id = address.rpartition("/")
        for call in run.log.thread(path).calls:
            if call.call_id == call_id:
                _give_up(run, address, call, OUTCOME_UNKNOWN, path=path, outcome_unknown=True)


def _upwards(address: str) -> Iterator[str]:
    """The address of a call and of those around it."""
    while address:
        yield address
        address = address.rpartition("/")[0]


def _leave_open_calls(run: Run, interrupted: Mapping[str, Sequence[CallRecord]]) -> None:
    """The person writes instead of answering: questions to them are closed, the world's work is not.

    Calls that were answered already stay as they are, and so do those that a crash interrupted:
    only their tools know what that means. The message follows their results.
    """
    kept = False
    for address, call in _open_calls(run):
        for record in interrupted[address]:
            record.left = True
        if interrupted[address] or run.log.has_answer(address):
            kept = True
            _leave_inside(run, address)
            continue
        _leave(run, address, call)
    if not kept:
        settle_turn(run.log, run.path)


def _interrupted(run: Run, address: str) -> list[CallRecord]:
    """The innermost calls at `address` that nobody is at any more, though they wait for nothing."""
    unfinished = {
        key: record
        for key, record in run.log.calls.items()
        if (key == address or key.startswith(f"{address}/")) and record.result is None
    }
    return [
        record
        for key, record in unfinished.items()
        if (record.started or record.pending is None)
        and not any(inner.startswith(f"{key}/") for inner in unfinished)
    ]


def _leave(run: Run, address: str, call: ToolCall) -> None:
    pending = run.log.record(address).pending
    _let_run_on(run, address)
    status, why = ("error", f"{WROTE}; it was stopped.") if pending is None else _left(pending)
    _give_up(run, address, call, why, status=status, at=pending)


def _leave_inside(run: Run, address: str) -> None:
    """Close what still waits inside a call that goes on with other answers: the message comes next."""
    for inner, pending in _waiting_inside(run, address):
        if pending.kind == "result":
            run.change_pending(pending, blocking=False)
        _close_call(run, inner, pending, *_left(pending))


def _waiting_inside(run: Run, address: str) -> list[tuple[str, Pending]]:
    """The calls inside the one at `address` that wait for the outside, by their addresses."""
    return [
        (inner, record.pending)
        for inner, record in run.log.calls.items()
        if inner.startswith(f"{address}/")
        and record.pending is not None
        and record.answer is None
        and record.result is None
        and not record.left
    ]


def _leave_rounds(run: Run) -> None:
    """A workflow begins anew with each message: what its earlier rounds have asked people is closed,
    and what the world owes them is not waited for, but finishes its round when it comes."""
    for address, record in run.log.calls.items():
        pending = record.pending
        if pending is None or record.answer is not None or record.result is not None:
            continue
        if run.log.round_of(address) is None:
            continue
        if pending.kind == "result":
            run.change_pending(pending, blocking=False)
        else:
            _close_call(run, address, pending, *_left(pending))


def _close_call(run: Run, address: str, pending: Pending, status: Status, why: str) -> None:
    path, _, call_id = address.rpartition("/")
    _give_up(
        run,
        address,
        ToolCall(call_id=call_id, name=pending.name),
        why,
        status=status,
        path=path,
        at=pending,
    )


def _left(pending: Pending) -> tuple[Status, str]:
    """What the model reads of a call that waits no more, because the person wrote instead."""
    if pending.outcome:
        return "error", OUTCOME_ASKED
    if pending.kind == "result":
        return "ok", STILL_RUNNING
    return "error", f"{WROTE}; {how_far(pending)}."


def _let_run_on(run: Run, address: str) -> None:
    """Wait no more for the results that the world still owes to a call and to those inside it."""
    waiting = [
        record.pending
        for key, record in run.log.calls.items()
        if (key == address or key.startswith(f"{address}/"))
        and record.pending is not None
        and record.pending.kind == "result"
        and record.answer is None
        and record.result is None
    ]
    for pending in waiting:
        run.change_pending(pending, blocking=False)


def _open_calls(run: Run) -> list[tuple[str, ToolCall]]:
    """The calls of the latest turn that have no result, by their addresses."""
    addressed = [(full_id(run.path, call.call_id), call) for call in run.thread.calls]
    return [(at, call) for at, call in addressed if run.log.record(at).result is None]


def _give_up(
    run: Run,
    address: str,
    call: ToolCall,
    why: str,
    *,
    status: Status = "error",
    path: str | None = None,
    at: Pending | None = None,
    told: str | None = None,
    outcome_unknown: bool = False,
) -> None:
    """End a call with `why`; if it was stopped at a question, `at` is that.

    What the calls inside it have come to is said with it, unless somebody has `told` that.
    """
    inside = come_to_inside(run.log, address) if told is None else told
    unknown = outcome_unknown or (at is not None and is_unknown(at))
    result = ToolResult(
        call_id=call.call_id,
        name=call.name,
        status=status,
        content=(TextPart(why + inside),),
        outcome_unknown=True if unknown else None,
    )
    run.log.record(address).result = result
    run.give_up(address, why)
    run.emit(ToolEnded, path=path, result=result, trust="neutral")


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
        pending=tuple(_addressed(run, run.log.waiting())),
        usage=run.shared.meter.usage,
        events=run.log.events[first_event:] if run.log.store is not None else list(run.log.events),
        history=run.history.view(),
        reason=outcome.reason,
        agent=run.agent.name,
        session_id=run.scope.session_id,
        run_id=run.run_id,
        escalated=run.escalated,
        state={
            key: value
            for key, value in values.items()
            if value is not None and not key.startswith("temp:")
        },
    )


def _addressed(run: Run, waiting: list[Pending]) -> Iterator[Pending]:
    """With the session they wait in, where there is one that others can find."""
    session_id = "" if run.log.store is None else run.scope.session_id
    return (replace(pending, session_id=session_id) for pending in waiting)


async def stream_events(
    run: Callable[[OnOpen], Coroutine[Any, Any, Result]],
) -> AsyncGenerator[AnyEvent]:
    """The events of a run as they happen, the answers that it goes on with first; closing the iterator
    cancels it."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    opened: list[Log] = []

    def listen(job: Job) -> None:
        log = job.run.log
        # Of a stored session it has only what is new: with the answers that were taken in before.
        for event in log.events[job.first_event if log.store is None else 0 :]:
            queue.put_nowait(event)
        log.listeners.append(queue.put_nowait)
        opened.append(log)

    # Not a task group: an async generator may be closed from another task, where a group's
    # cancel scope must not be left. The task never outlives the generator.
    task = asyncio.create_task(run(listen))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield cast(AnyEvent, event)
        await task
    finally:
        for log in opened:
            log.listeners.remove(queue.put_nowait)
        if not task.done():
            task.cancel()
            # Shielded: whoever was cancelled finds the run ended, and its session free.
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
