"""Answer every tool call of one model turn, each exactly once, in the order they were asked."""

import json
import logging
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from toolwright.agent._answers import Pass, next_step
from toolwright.agent._bounds import bounded
from toolwright.agent._credentials import credential_for
from toolwright.agent._hooks import with_hooks
from toolwright.agent._log import CallRecord
from toolwright.agent._run import Run
from toolwright.agent._toolbox import Toolbox
from toolwright.agent._transfer import resolve_transfer
from toolwright.errors import ToolError
from toolwright.messages import TextPart, ToolCall, ToolEnded, ToolResult, ToolStarted, jsonable
from toolwright.tools import Output, Tool, ToolContext, remembered_key

__all__ = ["answer_calls"]

logger = logging.getLogger("toolwright")

CANCELLED = "This call was cancelled before it finished."
OUTCOME_UNKNOWN = (
    "This call was interrupted and its outcome is unknown: it may or may not have taken effect. "
    "Check before you call it again."
)
SAY_OUTCOME = (
    "This call was interrupted and may or may not have taken effect. Find out, and give its result."
)
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

    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(job if len(jobs) <= limit else partial(gated, job))
    return None


async def _answer_one(run: Run, call: ToolCall, box: Toolbox, path: str) -> ToolResult:
    """The result of one call: known already, brought from outside, or by running the tool."""
    record = run.record(path, call)
    if record.result is not None:
        return record.result
    step = next_step(record)
    if step is None:
        return _waiting(call, "")
    ctx = ToolContext(run, call, path, node=run.node)
    began = time.perf_counter()
    error: Exception | None = None
    try:
        output = step if isinstance(step, Output) else await _run_tool(run, record, box, ctx, step)
    except anyio.get_cancelled_exc_class():
        run.give_up(ctx.function_call_id, CANCELLED)
        _conclude(run, ctx, Output(text=CANCELLED, status="error"), began)
        raise
    except Exception as caught:  # noqa: BLE001 - the one place where what tools raise ends
        error, output = caught, _told(run, call, caught)
    if output.status == "pending":
        return await _park(run, ctx, output)
    result = _conclude(run, ctx, output, began, box.tools.get(call.name), error)
    if output.request is not None:
        await run.open_pending(ctx, output.request)
    if run.log.store is not None:
        await run.log.flush()
    return result


async def _run_tool(
    run: Run, record: CallRecord, box: Toolbox, ctx: ToolContext, step: Pass
) -> Output:
    """Parse once, run once; a credential that is there already is handed over in a second pass."""
    tool = box.find(ctx.call.name, ctx)
    if run.outer_hooks is not None:
        tool = with_hooks(tool, run.outer_hooks)
    repeatable = tool.effects == "read" or tool.idempotent
    if record.started and not repeatable:
        if tool.on_unknown == "ask":
            return Output.pending(kind="result", hint=SAY_OUTCOME)
        raise ToolError(OUTCOME_UNKNOWN)
    _count_call(run)
    run.emit(ToolStarted, path=ctx.path, call=ctx.call)
    record.started = True
    if run.log.store is not None and not repeatable:
        await run.log.flush()
    args = ctx.arguments = tool.parse(
        ctx.call.arguments if step.arguments is None else json.dumps(step.arguments)
    )
    ctx.tool_confirmation = step.confirmation
    if step.remember:
        ctx.state.note(remembered_key(tool.name), True)
    output = await tool.run(args, ctx)
    if ctx.requested is not None:
        output = Output(status="pending", request=ctx.requested)
    if output.request is not None and output.request.kind == "credential":
        return await _with_credential(run, tool, ctx, output)
    if ctx.taken_actions() and ctx.actions.transfer_to_agent:
        resolve_transfer(run.agent, ctx.actions.transfer_to_agent)
    return _noting_edits(output, step)


async def _with_credential(run: Run, tool: Tool, ctx: ToolContext, output: Output) -> Output:
    """Run again at once, as long as the credentials it asks for can be had without a person."""
    while output.request is not None and output.request.kind == "credential":
        request = await credential_for(run, ctx, output.request)
        if request is not None:
            return Output(status="pending", request=request)
        ctx.requested = None
        output = await tool.run(ctx.arguments, ctx)
        if ctx.requested is not None:
            output = Output(status="pending", request=ctx.requested)
    return output


def _count_call(run: Run) -> None:
    if (limit := run.meter.count_call()) is not None:
        raise ToolError(f"The run's limit of {limit} tool calls is used up; this call was not run.")


def _noting_edits(output: Output, step: Pass) -> Output:
    if step.arguments is None or output.status == "pending":
        return output
    edited = json.dumps(step.arguments, ensure_ascii=False)
    return replace(output, text=f"(A person changed the arguments to {edited}.)\n{output.text}")


async def _park(run: Run, ctx: ToolContext, output: Output) -> ToolResult:
    """Leave the call waiting for the outside, or for calls inside it that do."""
    ctx.end()
    if output.request is not None:
        await run.open_pending(ctx, output.request)
    return _waiting(ctx.call, output.text)


def _waiting(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(
        call_id=call.call_id, name=call.name, status="pending", content=(TextPart(text),)
    )


def _told(run: Run, call: ToolCall, error: Exception) -> Output:
    """What the model reads of an exception: type and message, secrets taken out, no traceback."""
    if isinstance(error, ToolError):
        return Output(text=run.redactor(str(error)), status="error")
    logger.error("tool %r raised\n%s", call.name, _trace(run, error))
    if run.agent.on_tool_error == "raise" and run.shared.failure is None:
        run.shared.failure = error
    return Output(text=run.redactor(f"{type(error).__name__}: {error}"), status="error")


def _trace(run: Run, error: Exception) -> str:
    return run.redactor("".join(traceback.format_exception(error)))


def _conclude(
    run: Run,
    ctx: ToolContext,
    output: Output,
    began: float,
    tool: Tool | None = None,
    error: Exception | None = None,
) -> ToolResult:
    """Make the result, bounded and without secrets, and record it."""
    ctx.end()
    content, data = output.content, output.data
    if run.redactor:
        content = tuple(
            TextPart(run.redactor.exact(p.text)) if isinstance(p, TextPart) else p for p in content
        )
        data = run.redactor.inside(jsonable(data))
    if tool is not None:
        content = bounded(content, tool.max_output, run.shared.spill)
    result = ToolResult(
        call_id=ctx.call.call_id,
        name=ctx.call.name,
        status=output.status,
        content=content,
        data=data,
    )
    record = run.record(ctx.path, ctx.call)
    record.started, record.result, record.actions = False, result, ctx.taken_actions()
    trace = None if error is None or isinstance(error, ToolError) else _trace(run, error)
    run.emit(
        ToolEnded,
        path=ctx.path,
        result=result,
        actions=record.actions,
        elapsed=time.perf_counter() - began,
        traceback=trace,
    )
    return result
