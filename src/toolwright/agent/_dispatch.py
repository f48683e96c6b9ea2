"""Answer every tool call of one model turn, each exactly once, in the order they were asked."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from toolwright._message_of import message_of, named_message_of
from toolwright.agent._answers import (
    OUTCOME_ASKED,
    OUTCOME_UNKNOWN,
    STILL_RUNNING,
    come_to_inside,
    is_repeatable,
    next_step,
)
from toolwright.agent._credentials import credential_for, look_again
from toolwright.agent._gate import (
    FUNCTION,
    as_called,
    as_own_question,
    called_arguments,
    edited_arguments,
    gate,
    give_turn,
)
from toolwright.agent._hooks import run_hooked
from toolwright.agent._log import EARLIER_TRY, CallRecord
from toolwright.agent._presented import Parts, presented
from toolwright.agent._run import Run
from toolwright.agent._toolbox import Toolbox
from toolwright.agent._transfer import resolve_transfer
from toolwright.concurrency import first_cause, in_stoppable_thread
from toolwright.errors import ArgumentError, StoreError, ToolError, UsageError
from toolwright.messages import (
    Label,
    PendingRequest,
    Status,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    message_without_secrets,
    trace_without_secrets,
)
from toolwright.tools import (
    Args,
    Kept,
    Output,
    Tool,
    ToolContext,
    digest_of_arguments,
    kept,
)

__all__ = ["answer_calls"]

logger = logging.getLogger("toolwright")

NOT_RUN = "This call was interrupted before it began; it was not run."
INTERRUPTED = "This call was interrupted before it had a result."
ENDED_AROUND = "The call around this one has failed; nobody waits for this one any more."
SAY_OUTCOME = (
    "This call was interrupted and may or may not have taken effect. Find out, and give its result."
)
WRONG_EDIT = "The changed arguments do not fit, and nothing was run: {}. Allow the call as it was?"
Job = Callable[[], Coroutine[Any, Any, None]]


async def answer_calls(
    run: Run, calls: Sequence[ToolCall], box: Toolbox, path: str
) -> list[ToolResult]:
    """Results in the order of the calls; parallel but for tools that are `sequential`."""
    if len(calls) == 1:
        return [await _answer_one(run, calls[0], box, path)]
    results: dict[int, ToolResult] = {}

    async def fill(index: int) -> None:
        results[index] = await _answer_one(run, calls[index], box, path)

    for batch in _batches(calls, box):
        jobs = [partial(fill, index) for index in batch]
        await _together(jobs, run.shared.meter.limits.concurrency)
    return [results[index] for index in range(len(calls))]


def _batches(calls: Sequence[ToolCall], box: Toolbox) -> Iterator[list[int]]:
    """Positions that may run together; a sequential tool stands alone."""
    batch: list[int] = []
    for index, call in enumerate(calls):
        tool = box.tools.get(call.name)
        if tool is None or not tool.sequential:
            batch.append(index)
            continue
        if batch:
            yield batch
        yield [index]
        batch = []
    if batch:
        yield batch


async def _together(jobs: Sequence[Job], limit: int) -> None:
    if len(jobs) == 1:
        return await jobs[0]()
    gate = anyio.Semaphore(limit)

    async def gated(job: Job) -> None:
        async with gate:
            await job()

    try:
        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(job if len(jobs) <= limit else partial(gated, job))
    except ExceptionGroup as raised:
        raise first_cause(raised) from raised
    return None


async def _answer_one(run: Run, call: ToolCall, box: Toolbox, path: str) -> ToolResult:
    """The result of one call: known already, brought from outside, or by running the tool."""
    record = run.record(path, call)
    if record.result is not None:
        return record.result
    step = next_step(record)
    if step is None:
        return _waiting(call, "")
    early = record.early
    ctx = ToolContext(run, call, path, node=run.node) if early is None else early.ctx
    began = time.perf_counter()
    error: BaseException | None = None
    try:
        output = step if isinstance(step, Output) else await _run_tool(run, record, box, ctx)
    except asyncio.CancelledError as caught:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            # Left as it stands, as by a crash: nobody knows how far it came, and its thread may go
            # on. Whoever goes on with the session says or does what its tool wants for that.
            ctx.end()
            raise
        # Nobody has cancelled the run: the tool itself let one out, of something it waited for.
        error, output = caught, _told(run, call, caught)
    except StoreError as caught:
        return _interrupted(run, ctx, caught)
    except (Exception, SystemExit) as caught:  # noqa: BLE001 - where what tools raise ends
        error, output = caught, _told(run, call, caught)
    if _was_refused(record, output):
        output = replace(output, text=f"{output.text} {EARLIER_TRY}", outcome_unknown=True)
    if output.status == "pending" and record.left:
        output = _not_waited_for(output, STILL_RUNNING, "ok")
    if output.status == "pending":
        return await _park(run, ctx, output, box.tools.get(call.name))
    ctx.end()
    parts = await presented(run, output, box.tools.get(call.name))
    result = _conclude(run, ctx, output, parts, began, error, box.tools.get(call.name))
    if output.request is not None:
        await run.open_pending(ctx, output.request, ran=True)
    if run.log.store is not None:
        await run.log.flush()
    return record.result or result


def _was_refused(record: CallRecord, output: Output) -> bool:
    """Whether a call is not made once more, and says nothing of the try that was interrupted."""
    if not record.interrupted or record.begun or output.outcome_unknown:
        return False
    return output.status in ("error", "denied")


async def _read_for(tool: Tool, read: Callable[[], Args]) -> Args:
    """Read arguments of the tool; beside the loop, where its schema comes from outside: little to
    read may be long work, too."""
    return await in_stoppable_thread(lambda _: read()) if tool.source else read()


async def _run_tool(run: Run, record: CallRecord, box: Toolbox, ctx: ToolContext) -> Output:
    """Parse, judge, run; once more when a credential that is there already has to be handed over."""
    if not record.counted:
        _count_call(run)
        record.counted = True
    tool = _found(run, record, box, ctx)
    if (output := _picked_up(run, record, tool, ctx)) is not None:
        return output
    ctx.parameters = tool.spec.parameters
    read = partial(called_arguments, run, record, tool, ctx)
    args = called = ctx.arguments = await _read_for(tool, read)
    record.as_read = called
    if record.answers:
        try:
            edited = partial(edited_arguments, run, record, tool, called)
            args = ctx.arguments = await _read_for(tool, edited)
            record.as_read = args
        except ArgumentError as error:
            return as_called(run, tool, ctx, WRONG_EDIT.format("; ".join(error.issues)))
    is_free = tool.name in box.free
    is_judged = not is_free and bool(run.rules or tool.confirm or tool.source)
    while True:
        if run.tool_hooks and not is_free:
            step = partial(_judge_and_run, run, record, tool, ctx)
            turn = partial(give_turn, run, record, tool, ctx)
            output = await run_hooked(run.tool_hooks, tool, ctx, step, turn)
        elif is_judged and (refused := await gate(run, record, tool, ctx)) is not None:
            return refused
        else:
            give_turn(run, record, tool, ctx)
            await _start(run, record, tool, ctx)
            before = kept(ctx.arguments, record.as_read)
            handler, record.early = record.early or tool.run, None
            output = _as_asked(record, ctx, before, await handler(ctx.arguments, ctx))
        if ctx.requested is not None:
            output = Output(status="pending", request=ctx.requested)
        if not isinstance(output, Output):
            raise UsageError(f"A tool's handler returns an Output; {tool.name!r} gave {output!r}.")
        if output.request is None or output.request.kind != "credential":
            break
        if (request := await credential_for(run, ctx, output.request)) is not None:
            return Output(status="pending", request=request)
        ctx.requested, ctx.arguments = None, record.as_read or args
    if ctx.transfer:
        resolve_transfer(run.agent, ctx.transfer)
    if args is not called and output.status != "pending":
        record.note = _changed_to(run, args, called)
    return output


def _found(run: Run, record: CallRecord, box: Toolbox, ctx: ToolContext) -> Tool:
    """The tool; one that is gone by now may have been running when its process died."""
    try:
        return box.find(ctx.call.name, run.readonly)
    except ToolError as error:
        if not record.started:
            raise
        raise ToolError(f"{OUTCOME_UNKNOWN} {error}", outcome_unknown=True) from None


async def _start(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> None:
    """Record that the function runs from here on: everybody who had a say has let it.

    Stored before anything can have happened, unless it only reads: of a call that is idempotent the
    key has to be known to whoever repeats it.
    """
    if record.started:
        return
    run.emit(ToolStarted, path=ctx.path, call=ctx.call)
    record.started = record.begun = True
    if run.log.store is not None and tool.effects != "read":
        await run.log.flush()


async def _judge_and_run(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> Output:
    """What hooks are around: they may have changed the arguments."""
    if (refused := await gate(run, record, tool, ctx)) is not None:
        return refused
    give_turn(run, record, tool, ctx)
    await _start(run, record, tool, ctx)
    before = kept(ctx.arguments, record.as_read)
    return _as_asked(record, ctx, before, await tool.run(ctx.arguments, ctx))


def _as_asked(record: CallRecord, ctx: ToolContext, before: Kept, output: Output) -> Output:
    """What is shown and bound when a function asks is how its arguments were before it ran.

    It gets the objects themselves: a default may be one that others have, too.
    """
    if ctx.requested is not None or getattr(output, "request", None) is not None:
        ctx.arguments, record.as_read = before()
    return output


def _picked_up(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> Output | None:
    """What becomes of a call that an earlier process was at; None when it is to run."""
    if not is_repeatable(tool):
        if record.started:
            return _outcome_unknown(run, record, tool)
        if record.left:
            raise ToolError(NOT_RUN)
    elif record.left and not record.is_deferred:
        # Whether it may be made again, what has happened inside it speaks against.
        inside = come_to_inside(run.log, ctx.function_call_id)
        raise ToolError(f"{INTERRUPTED}{inside or ' It may be called again.'}")
    if tool.effects != "read":
        record.interrupted = record.interrupted or record.started
    # Before the crash its function may have told the outside where to bring its result.
    ctx.promises_result, record.started = record.started, False
    return None


def _outcome_unknown(run: Run, record: CallRecord, tool: Tool) -> Output:
    """A call that was interrupted and may not be repeated: ask for its outcome, or say so."""
    if tool.on_unknown == "ask":
        question = PendingRequest(kind="result", hint=SAY_OUTCOME, outcome=True)
        asked = Output(status="pending", request=question)
        return _not_waited_for(asked, OUTCOME_ASKED, "error") if record.left else asked
    if record.pending is None or not record.is_deferred:
        raise ToolError(OUTCOME_UNKNOWN, outcome_unknown=True)
    # What its function set off may still bring the result.
    run.change_pending(record.pending, blocking=False)
    text = f"{OUTCOME_UNKNOWN} Should its result still come, you will be told."
    raise ToolError(text, outcome_unknown=True)


def _not_waited_for(output: Output, text: str, status: Status) -> Output:
    """The call as one whose result follows as an update: the person's message comes first."""
    request = output.request
    if request is None or request.kind != "result":
        return output
    unknown = status == "error"
    return replace(
        output,
        text=text,
        status=status,
        outcome_unknown=unknown,
        request=replace(request, blocking=False),
    )


def _count_call(run: Run) -> None:
    if (limit := run.meter.count_call()) is not None:
        raise ToolError(f"The run's limit of {limit} tool calls is used up; this call was not run.")


def _changed_to(run: Run, args: Args, called: Args) -> str:
    """What a person has made of the arguments, in words; empty where they are the same."""
    if digest_of_arguments(args) == digest_of_arguments(called):
        return ""
    said = json.dumps(run.card(args), ensure_ascii=False)
    return f"(A person changed the arguments to {said}.)"


async def _park(run: Run, ctx: ToolContext, output: Output, tool: Tool | None) -> ToolResult:
    """Leave the call waiting for the outside, or for calls inside it that do."""
    ctx.end()
    request = output.request
    if request is not None:
        ran = _has_run(run.record(ctx.path, ctx.call), ctx, request)
        is_own = request.kind in ("confirmation", "choice", "input") and not request.question
        if is_own and tool is not None:
            request = as_own_question(run, tool, ctx, request)
        await run.open_pending(ctx, request, ran=ran)
        await look_again(run, ctx)
    return _waiting(ctx.call, output.text)


def _has_run(record: CallRecord, ctx: ToolContext, request: PendingRequest) -> bool:
    """Whether the function of a call that asks something has run, in this pass or before."""
    is_by_rule = bool(request.question) or request.before
    is_by_function = request.kind == "result" or (ctx.asker == FUNCTION and not is_by_rule)
    return is_by_function or any(asked.ran for asked, _ in record.answers)


def _waiting(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(
        call_id=call.call_id, name=call.name, status="pending", content=(TextPart(text),)
    )


def _interrupted(run: Run, ctx: ToolContext, error: StoreError) -> ToolResult:
    """Leave the call as it stands: what a store refuses is the operator's business, not the model's.

    When the run's own log is broken everything stops at once; a tool's own trouble with a store
    ends the run after its siblings have finished.
    """
    if run.log.broken is not None:
        raise error
    ctx.end()
    run.shared.failure = run.shared.failure or error
    return _waiting(ctx.call, "")


def _told(run: Run, call: ToolCall, error: BaseException) -> Output:
    """What the model reads of an exception: type and message, secrets taken out, no traceback."""
    if isinstance(error, ToolError):
        unknown = error.outcome_unknown
        told = message_without_secrets(run.redactor, message_of(error))
        return Output(text=told, status="error", outcome_unknown=unknown)
    logger.error("tool %r raised\n%s", call.name, trace_without_secrets(run.redactor, error))
    if run.agent.on_tool_error == "raise" and run.shared.failure is None:
        run.shared.failure = error
    return Output(
        text=message_without_secrets(run.redactor, named_message_of(error)), status="error"
    )


def _conclude(
    run: Run,
    ctx: ToolContext,
    output: Output,
    parts: Parts,
    began: float,
    error: BaseException | None,
    tool: Tool | None = None,
) -> ToolResult:
    """Make the result and record it."""
    if output.status in ("error", "denied"):
        run.give_up(ctx.function_call_id, ENDED_AROUND)
    content, data = parts
    record = run.record(ctx.path, ctx.call)
    note = (TextPart(record.note),) if record.note else ()
    result = ToolResult(
        call_id=ctx.call.call_id,
        name=ctx.call.name,
        status="error" if output.failed else output.status,
        content=(*note, *content),
        data=data,
        failed=True if output.failed else None,
        outcome_unknown=True if output.outcome_unknown else None,
        found=output.found,
        noted=True if note else None,
    )
    record.end(result, ctx.taken_actions())
    trace = (
        None
        if error is None or isinstance(error, ToolError)
        else trace_without_secrets(run.redactor, error)
    )
    run.emit(
        ToolEnded,
        path=ctx.path,
        result=result,
        actions=record.actions,
        elapsed=time.perf_counter() - began,
        trust=_label(run, ctx, tool),
        traceback=trace,
    )
    run.log.note_shared(ctx.shared_writes)
    return result


def _label(run: Run, ctx: ToolContext, tool: Tool | None) -> Label:
    """By how the tool was registered; never better than what was read inside the call."""
    if tool is None:  # A name that the model has made up: what it reads is ours.
        return "neutral"
    if ctx.repeats_untrusted or ctx.function_call_id in run.log.outside:
        return "untrusted"
    return tool.label
