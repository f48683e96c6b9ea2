"""The loop: ask the model, answer its calls, ask again; until it is done, waits, or must stop."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import cast

import anyio

from toolwright.agent._chat import ChatNode
from toolwright.agent._compaction import compact
from toolwright.agent._dispatch import answer_calls
from toolwright.agent._hooks import call_hook
from toolwright.agent._instructions import are_others, change_message, change_told, render
from toolwright.agent._log import Waiting, begin_turn, full_id, settle_turn
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.agent._server_tools import with_allowed_server_tools
from toolwright.agent._transfer import resolve_transfer
from toolwright.agent._updates import fetch_answers
from toolwright.concurrency import first_cause
from toolwright.errors import LimitError, ModelError
from toolwright.messages import (
    CALL_BYTES,
    ModelMessage,
    ModelReplied,
    Steered,
    ToolCall,
    ToolResult,
    Transferred,
    TurnStarted,
    size,
    user_message,
)
from toolwright.models import ModelRequest

__all__ = ["run_turns"]

_ODD = re.compile(r"[^!-.0-}]")
"""What the ids of calls do not have: the marks of addresses, and what not everybody sees or types."""


async def run_turns(run: Run) -> Outcome | None:
    """Go on from wherever the conversation stands; None when it was handed to another agent."""
    agent = run.agent
    try:
        outcome = await _pick_up(run)
        while outcome is None and run.agent is agent:
            if (run.log.listeners or agent.start_early) and run.starts_early:
                outcome = await _early_turn(run)
            else:
                outcome = await _settle(run, await _next_turn(run))
        return outcome
    except LimitError as error:
        return Outcome(status="stopped", reason=str(error))


async def _early_turn(run: Run) -> Outcome | None:
    """A turn whose reads are started before the model's reply is whole."""
    from toolwright.agent._early import EarlyCalls  # noqa: PLC0415 - the others need it not

    try:
        async with anyio.create_task_group() as group:
            run.thread.early = EarlyCalls(run, group)
            try:
                return await _settle(run, await _next_turn(run))
            finally:
                run.thread.early = None
                group.cancel_scope.cancel()
    except ExceptionGroup as raised:
        raise first_cause(raised) from raised


async def _pick_up(run: Run) -> Outcome | None:
    """Finish what an earlier run of the conversation has begun: its calls, or its last reply."""
    if run.thread.calls:
        return await _answer_turn(run, run.thread.calls)
    last = run.history[-1] if run.history else None
    return await _finish(run, last) if isinstance(last, ModelMessage) else None


async def _settle(run: Run, reply: ModelMessage) -> Outcome | None:
    """Answer the reply's calls; a reply without calls is the final one."""
    calls = run.thread.calls
    return await _answer_turn(run, calls) if calls else await _finish(run, reply)


async def _answer_turn(run: Run, calls: Sequence[ToolCall]) -> Outcome | None:
    """Answer the calls of a turn; an outcome when the run must not go on to the model."""
    box = run.box or await run.list_tools()
    with _wall_time(run):
        while True:
            results = await answer_calls(run, calls, box, run.path)
            if run.shared.failure is not None:
                raise run.shared.failure
            if not any(result.status == "pending" for result in results):
                break
            if not await fetch_answers(run.log):
                await run.log.flush()
                return Outcome(status="paused")
    settle_turn(run.log, run.path)
    return _after_actions(run, results)


def _after_actions(run: Run, results: Sequence[ToolResult]) -> Outcome | None:
    """Do what the tools of the turn asked for beside their results; of two transfers, the first."""
    handed_over = False
    for result in results:
        actions = run.log.record(full_id(run.path, result.call_id)).actions
        if actions is None or result.status != "ok":
            continue
        if actions.transfer_to_agent and not handed_over:
            handed_over = True
            _hand_over(run, actions.transfer_to_agent)
        run.escalated = run.escalated or actions.escalate
        if actions.skip_summarization or actions.escalate:
            return Outcome(status="done", text=result.text, output=result.text)
    return None


def _hand_over(run: Run, name: str) -> None:
    # After a crash the transfer may have been recorded already, though its turn was not over.
    if name != run.agent.name:
        run.take_over(cast(ChatNode, resolve_transfer(run.agent, name)))
        run.emit(Transferred, to_agent=name)


async def _next_turn(run: Run) -> ModelMessage:
    """Ask the model once and add its reply to the history."""
    run.meter.start_turn()
    run.turn += 1
    _take_inbox(run)
    request, pieces = await _request(run)
    compaction = run.agent.compaction
    if compaction is not None and await compact(run, compaction, request):
        request, pieces = await _request(run)
    if run.agent.changes_instructions:
        request = _begin_alike(run, request, pieces)
    else:
        run.emit(TurnStarted, turn=run.turn)
    reply = _with_own_ids(run, await _ask(run, request))
    run.meter.spend(reply.usage)
    begin_turn(run.thread, run.emit(ModelReplied, message=reply))
    if run.thread.early is not None:
        run.thread.early.bind(run.thread.calls)
    # The last reply is stored together with the end of the run, which follows at once.
    last = not (run.thread.calls or run.path or run.log.inbox or run.agent.output_adapter)
    if run.log.store is not None and not last:
        await run.log.flush()
    return reply


async def _request(run: Run) -> tuple[ModelRequest, tuple[str, ...]]:
    """What the model is asked next, and the pieces that its instructions are made of."""
    box = await run.list_tools()
    request = ModelRequest(
        history=run.history.view(),
        instructions=await render(run.agent.instructions, run.readonly),
        tools=box.specs,
        found=box.found,
        searches=box.searches,
        server_tools=run.agent.shelf.server_tools,
        output_schema=run.agent.output_json_schema,
        settings=run.agent.settings,
        conversation=run.thread.key or run.conversation,
    )
    pieces = (request.instructions,)
    for shaper in run.agent.shelf.shapers:
        before = request.instructions
        request = await shaper.shape_request(run.readonly, request)
        text = request.instructions
        pieces = (*pieces, text[len(before) :]) if text.startswith(before) else (text,)
    return request, pieces


def _begin_alike(run: Run, request: ModelRequest, now: tuple[str, ...]) -> ModelRequest:
    """Record the turn; its request begins as the last one did, and ends with what has changed."""
    thread = run.thread
    if thread.begins is None or are_others(thread.begins, now):
        thread.begins = thread.told = now
        run.emit(TurnStarted, turn=run.turn, instructions=tuple(map(run.redactor.inside, now)))
        return request
    if now != thread.told:
        text = change_told(thread.begins, thread.told, now)
        run.put_in(Waiting(change_message(run.redactor.inside(text))))
        thread.told = now
    run.emit(TurnStarted, turn=run.turn)
    return replace(request, instructions="".join(thread.begins), history=run.history.view())


async def _ask(run: Run, request: ModelRequest) -> ModelMessage:
    """Ask the model, with the runner's hooks around the agent's own."""
    for hooks in run.hooks:
        if hooks.before_model is not None:
            said = await call_hook(run, "before_model", hooks.before_model, request)
            if isinstance(said, ModelMessage):
                return said
            request = said or request
    if request.server_tools and run.rules:
        request = await with_allowed_server_tools(run, request)
    reply = await _reply(run, request)
    for hooks in reversed(run.hooks):
        if hooks.after_model is not None:
            reply = await call_hook(run, "after_model", hooks.after_model, reply) or reply
    return reply


async def _reply(run: Run, request: ModelRequest) -> ModelMessage:
    on_delta = run.show_delta if run.log.listeners else None
    if run.thread.early is not None:
        request, on_delta = replace(request, whole_calls=True), run.thread.early.hear
    try:
        with _wall_time(run):
            reply = await run.model.respond(request, on_delta)
        return run.box.with_real_calls(reply) if run.box and run.box.searches else reply
    except ModelError as error:
        for hooks in run.hooks:
            if hooks.on_model_error is not None:
                said = await call_hook(run, "on_model_error", hooks.on_model_error, error)
                if said is not None:
                    return said
        raise


def _wall_time(run: Run) -> AbstractContextManager[object]:
    """Ends what is done inside when the run's wall time is up."""
    seconds = run.meter.seconds_left()
    # A cancel scope is a fifth of a turn's cost, so there is none without a limit.
    return nullcontext() if seconds is None else _until(seconds)


@contextmanager
def _until(seconds: float) -> Iterator[None]:
    with anyio.move_on_after(seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise LimitError("The run used up its wall time (seconds).", limit="seconds")


def _with_own_ids(run: Run, reply: ModelMessage) -> ModelMessage:
    """The reply with call ids that are unique in the session, since some providers repeat them, and
    plain: what a person reads as the id of a call, and types, is that of no other."""
    seen: set[str] = set()
    fixed = list(reply.parts)
    changed = False
    for index, part in enumerate(fixed):
        if not isinstance(part, ToolCall):
            continue
        wanted = _ODD.sub("-", part.call_id) or f"call-{run.turn}-{index}"
        if size(wanted) > CALL_BYTES:
            digest = hashlib.sha256(wanted.encode())
            wanted = f"call-{digest.hexdigest()[:32]}"
        call_id, count = wanted, 2
        while call_id in seen or full_id(run.path, call_id) in run.log.calls:
            call_id, count = f"{wanted}.{count}", count + 1
        seen.add(call_id)
        if call_id != part.call_id:
            fixed[index], changed = replace(part, call_id=call_id), True
    return replace(reply, parts=tuple(fixed)) if changed else reply


def _take_inbox(run: Run) -> None:
    if not run.has_mail:
        return
    waiting, run.log.inbox = run.log.inbox, []
    for message in waiting:
        run.put_in(message)


async def _finish(run: Run, reply: ModelMessage) -> Outcome | None:
    """Accept the final reply; None when it must be written again, or when somebody has steered."""
    if run.has_mail:
        return None
    agent = run.agent
    if agent.output_adapter is None:
        return Outcome(status="done", text=reply.text, output=reply.text, reason=_cut_short(reply))
    try:
        output = agent.output_adapter.validate_json(_json_in(reply.text))
    except ValueError as error:
        return _ask_again(run, error)
    return Outcome(status="done", text=reply.text, output=output)


def _cut_short(reply: ModelMessage) -> str:
    """Why the reply may not be what was wanted, if the provider said so."""
    reasons = {
        "length": "it reached its output limit",
        "refused": "it refused",
        "error": "of an error",
    }
    why = reasons.get(reply.finish_reason)
    return f"The model stopped because {why}." if why else ""


def _json_in(text: str) -> str:
    """The JSON in a reply, which some models fence."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json")
    return text


def _ask_again(run: Run, error: ValueError) -> Outcome | None:
    run.output_retries += 1
    if run.output_retries > run.agent.output_retries:
        return Outcome(
            status="stopped", reason=f"The final reply did not fit output_schema: {error}"
        )
    message = user_message(f"Your reply does not fit the required schema:\n{error}\nReply again.")
    run.emit(Steered, message=message)
    run.history.append(message)
    return None
