"""Judge a call by every rule on its path before it runs; the strictest verdict counts."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from toolwright.agent._log import CallRecord
from toolwright.agent._pins import accept, change_of, pin_used
from toolwright.agent._reviewer import Reviewer
from toolwright.agent._run import Run
from toolwright.errors import ArgumentError
from toolwright.messages import Approve, Pending, PendingRequest
from toolwright.tools import (
    APPROVED,
    Decision,
    Output,
    Tool,
    ToolConfirmation,
    ToolContext,
    decide,
    digest_of,
    digest_of_arguments,
    parse_edited,
    stricter,
)

__all__ = [
    "as_called",
    "as_own_question",
    "confirmations",
    "decisions",
    "edited_arguments",
    "gate",
]

RULE, OWN, AS_CALLED = "rule", "own", "as-called"


async def gate(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> Output | None:
    """None when the call may run; else what it comes to: denied, or a question to a person."""
    given = _approval(run, record, tool, ctx, (RULE, AS_CALLED)) if record.answers else None
    ctx.approval = None if given is None else _confirmation(*given)
    decision = await _judged(run, tool, ctx)
    if decision.verdict == "deny":
        # Nobody can approve it, not even by changing the arguments to these.
        return _denied(decision)
    if decision.verdict == "ask":
        subject, digest = _bound_to(run, tool, ctx, decision.about)
        if decision.about:
            given = _approval(run, record, tool, ctx, (RULE, AS_CALLED), decision.about)
        if given is not None:
            _remember(ctx, given[1], *_bound_to(run, tool, ctx))
        elif not _is_remembered(run, subject, digest):
            return _question(tool, decision, f"{RULE}:{subject}:{digest}")
    if tool.source:
        _pin(run, tool, ctx, None if given is None else given[1])
    return None


async def _judged(run: Run, tool: Tool, ctx: ToolContext) -> Decision:
    """The strictest of all decisions; a change of the tool itself is told beside it."""
    decision, whose = Decision(verdict="allow"), ""
    for reviewing in (False, True):
        if reviewing and decision.verdict != "allow":
            break
        async for found, origin in _opinions(run, tool, ctx, reviewing):
            if stricter(decision, found) is found:
                decision, whose = found, origin
            if decision.verdict == "deny":
                return _named(decision, whose)
    changed = change_of(run, tool) if tool.source else None
    if changed is None or decision.verdict == "allow":
        return changed or (decision if decision.verdict == "allow" else _named(decision, whose))
    return replace(
        decision,
        reason=f"{changed.reason}\n{decision.reason}".strip(),
        payload=changed.payload if decision.payload is None else decision.payload,
        about=f"{decision.about}{changed.about}",
        rule=f"{_named(decision, whose).rule}; {changed.rule}",
    )


async def decisions(run: Run, tool: Tool, ctx: ToolContext) -> list[Decision]:
    """What everybody on the path says of the call; models that review calls are not asked."""
    found = [_named(said, whose) async for said, whose in _opinions(run, tool, ctx, False)]
    changed = change_of(run, tool) if tool.source else None
    return found if changed is None else [*found, changed]


async def _opinions(
    run: Run, tool: Tool, ctx: ToolContext, reviewing: bool
) -> AsyncIterator[tuple[Decision, str]]:
    """Decisions and whose they are, from the outermost to the tool itself.

    Models that review calls are asked apart from the rest, with `reviewing`.
    """
    for guard in run.rules:
        if isinstance(guard.policy, Reviewer) is reviewing:
            yield await decide(guard.policy, tool, ctx.arguments, ctx), guard.origin
    for wish in () if reviewing else tool.confirm:
        yield await wish(ctx.arguments, ctx), ""


def _named(decision: Decision, whose: str) -> Decision:
    """With the rule that decided, in words."""
    if not whose:
        return decision if decision.rule else replace(decision, rule="a policy around the tool")
    return replace(decision, rule=f"{decision.rule} in {whose}" if decision.rule else whose)


def _pin(run: Run, tool: Tool, ctx: ToolContext, answer: Approve | None) -> None:
    """Note how a tool from outside is, now that it may run."""
    if change_of(run, tool) is None:
        return pin_used(ctx, tool)
    return accept(ctx, tool, whole=answer is not None and answer.remember == "source")


def confirmations(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> None:
    """Give the context what its tool has asked so far: the answers, and the latest approval."""
    ctx.answers = [pair for pair in record.answers if _kind(pair[0]) not in (RULE, AS_CALLED)]
    given = _approval(run, record, tool, ctx, (OWN,))
    ctx.tool_confirmation = None if given is None else _confirmation(*given)


def as_own_question(
    run: Run, tool: Tool, ctx: ToolContext, request: PendingRequest
) -> PendingRequest:
    """The request of a tool, bound to who asks it about what."""
    return replace(request, question=":".join((OWN, *_bound_to(run, tool, ctx))))


def as_called(run: Run, tool: Tool, ctx: ToolContext, hint: str) -> Output:
    """Ask about the call as the model made it, since a person's change of it does not fit."""
    question = ":".join((AS_CALLED, *_bound_to(run, tool, ctx)))
    rule = "a change of the arguments that does not fit"
    return Output.pending(kind="confirmation", hint=hint, rule=rule, question=question)


def edited_arguments(record: CallRecord) -> dict[str, Any] | None:
    """The arguments that a person wants the call to have, if they are not the model's."""
    edited = None
    for asked, answer in record.answers:
        if isinstance(answer, Approve) and (
            answer.arguments is not None or _kind(asked) == AS_CALLED
        ):
            edited = answer.arguments
    return edited


def _bound_to(run: Run, tool: Tool, ctx: ToolContext, about: str = "") -> tuple[str, str]:
    """Two digests: of who calls which tool, and of its arguments."""
    subject = digest_of(list(run.names), tool.fingerprint, about)
    return subject, digest_of_arguments(ctx.arguments)


def _kind(pending: Pending) -> str:
    return pending.question.partition(":")[0]


def _approval(
    run: Run,
    record: CallRecord,
    tool: Tool,
    ctx: ToolContext,
    kinds: tuple[str, ...],
    about: str = "",
) -> tuple[Pending, Approve] | None:
    """The latest approval that was given for exactly this: path, tool, arguments and question."""
    subject, digest = _bound_to(run, tool, ctx, about)
    for asked, answer in reversed(record.answers):
        if not isinstance(answer, Approve):
            continue
        kind, _, bound = asked.question.partition(":")
        about, _, shown = bound.partition(":")
        if kind not in kinds or about != subject:
            continue
        if digest == (shown if answer.arguments is None else _edited(tool, answer)):
            return asked, answer
    return None


def _edited(tool: Tool, answer: Approve) -> str:
    """The digest of arguments that a person has written; they are bound like those shown."""
    try:
        return digest_of_arguments(parse_edited(tool.name, tool.parse, answer.arguments or {}))
    except ArgumentError:
        return ""


def _confirmation(asked: Pending, answer: Approve) -> ToolConfirmation:
    payload = asked.payload if answer.payload is None else answer.payload
    return ToolConfirmation(hint=asked.hint, payload=payload)


def _denied(decision: Decision) -> Output:
    text = f"Denied: {decision.reason or 'not allowed here'}"
    return Output(text=text, status="denied", data={"rule": decision.rule})


def _question(tool: Tool, decision: Decision, question: str) -> Output:
    return Output.pending(
        kind="confirmation",
        hint=decision.reason or f"Allow {tool.name!r} with these arguments?",
        payload=decision.payload,
        rule=decision.rule,
        question=question,
    )


# -- what a person does not want to be asked again ----------------------------------------------


def _is_remembered(run: Run, subject: str, digest: str) -> bool:
    known = run.table.values
    keys = (f"{APPROVED}{subject}", f"user:{APPROVED}{subject}", f"{APPROVED}{subject}:{digest}")
    return any(known.get(key) is True for key in keys)


def _remember(ctx: ToolContext, answer: Approve, subject: str, digest: str) -> None:
    match answer.remember:
        case "arguments":
            ctx.state.note(f"{APPROVED}{subject}:{digest}", True)
        case "session" | True:
            ctx.state.note(f"{APPROVED}{subject}", True)
        case "user":
            ctx.state.note(f"user:{APPROVED}{subject}", True)
