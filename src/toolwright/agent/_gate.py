"""Judge a call by every rule on its path before it runs; the strictest verdict counts."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from toolwright.agent._log import CallRecord
from toolwright.agent._pins import accept, change_of, note_asked, pin_used
from toolwright.agent._rules import Guard
from toolwright.agent._run import Run
from toolwright.errors import ArgumentError
from toolwright.messages import Approve, Pending, PendingRequest
from toolwright.tools import (
    APPROVED,
    ONCE,
    SEAL,
    Args,
    Decision,
    Exact,
    Output,
    PolicyWish,
    Tool,
    ToolConfirmation,
    ToolContext,
    apply_edit,
    decide,
    decided,
    differences,
    digest_of,
    digest_of_arguments,
    exact,
    named,
    read_again,
    refuse_questions,
    says,
    until_denied,
    wishes_of,
)

__all__ = [
    "FUNCTION",
    "as_called",
    "as_own_question",
    "called_arguments",
    "decisions",
    "edited_arguments",
    "gate",
    "give_turn",
    "standing_decisions",
]

RULE, OWN, AS_CALLED = "rule", "own", "as-called"
_AND = "+"
FUNCTION = ""
"""The function as the one whose turn it is; hooks have the names of their places."""
_CANNOT_BE_APPROVED = (
    "nobody could see or approve what is in {}: it has parts that cannot be told from others. That is "
    "for the tool's author: a parameter of plain data, or one that the tool hides (hidden=…)"
)
_MOVES = (
    "nobody could approve what would run, since {} would be different again by then. Where the call "
    "takes such a value, give it; else it is for the tool's author: a default that a call can give, "
    "or one that the function makes itself, can be approved."
)
_MOVED = (
    "it was approved twice, and {} was different again each time it was to run, so that nobody could "
    "approve what runs: a hook (before_tool) or the tool makes it anew each time. Where the call takes "
    "such a value, give it; else it is for the author of the hook or the tool to make it once, or in "
    "the function."
)
_AGAIN = "(Asked again: with the arguments that were written, {}.)"
_NEW = "{} would be as it is shown now, which is neither what was written nor what was last shown"
_AS_BEFORE = (
    "{} would not be as it was written but as it was last shown; a yes without a change lets the call "
    "run as it is shown"
)
_UNSEEN = "something that is not shown would not be as it was before"
_ENOUGH = 2
"""How often a person approves a call that is a different one each time it is to run."""
_UNSHOWN = "something that is not shown"
_UNRESOLVED = (
    "A rule names {}, which nothing that could be listed has, and a toolset cannot be listed now: the "
    "name may be misspelt and meant for this call. (Rule.…(…, optional=True) is not checked.)"
)
_REVIEWED_LATER = "A model reviews such calls when they are made; it is not asked now."


async def gate(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> Output | None:
    """None when the call may run; else what it comes to: denied, or a question to a person."""
    if record.answers:  # To those who judge: they have asked nothing.
        ctx.answers, ctx.tool_confirmation = (), None
    heard = await until_denied(_opinions(run, tool, ctx))
    changed = change_of(run, tool) if tool.source else None
    lasting = _about(heard)
    about = lasting if changed is None else [f"{each}{changed.about}" for each in lasting]
    given = _approval(run, record, tool, ctx, (RULE, AS_CALLED), about) if record.answers else None
    # Set after the policies, which could set it, too.
    ctx.approval = None if given is None else _confirmation(*given)
    decision = await decided(heard, changed, is_approved=given is not None)
    refuse_questions(tool, ctx, decision.rule)
    if decision.verdict == "deny":
        # Nobody can approve it, not even by changing the arguments to these.
        return _denied(decision)
    if decision.verdict == "ask":
        if unknowable := Exact(ctx.arguments).unknowable:
            return _denied(replace(decision, reason=_CANNOT_BE_APPROVED.format(unknowable)))
        subject, digest = _bound_to(run, tool, ctx, about)
        if given is not None:
            _remember(run, ctx, given[1], _bound_to(run, tool, ctx, lasting))
        elif not _is_remembered(run, subject, digest):
            if reason := _unstable(run, record, tool, ctx, subject):
                return _denied(replace(decision, reason=reason))
            source = note_asked(ctx, tool) if changed is not None else ""
            again = _why_again(run, record, ctx, subject)
            return _question(tool, decision, f"{RULE}:{subject}:{source}:{digest}", again)
    if tool.source:
        _pin(run, tool, ctx, given)
    return None


def _about(heard: Iterable[tuple[Decision, str]]) -> list[str]:
    """What all of them bind an approval to, those that allow the call too: it is about that as well.

    One thing, or several, of which an approval covers fewer as well.
    """
    one, several = list[str](), set[str]()
    for said, whose in heard:
        if isinstance(said.about, str):
            one += [said.about] if said.about else []
        else:
            several |= {digest_of(whose, each) for each in said.about}
    whole = digest_of(*one) if one else ""
    return [f"{whole}{each}" for each in sorted(several)] or [whole]


async def decisions(run: Run, tool: Tool, ctx: ToolContext) -> list[Decision]:
    """What everybody on the path says of the call; models that review calls are not asked."""
    found = [named(said, whose) async for said, whose in _opinions(run, tool, ctx)]
    changed = change_of(run, tool) if tool.source else None
    later = Decision(verdict="allow", reason=_REVIEWED_LATER)
    told = [said if said.review is None else replace(later, rule=said.rule) for said in found]
    return told if changed is None else [*told, changed]


async def standing_decisions(run: Run, tool: Tool, ctx: ToolContext) -> list[Decision]:
    """What everybody says of a tool whose calls cannot be judged one by one, nor reviewed."""
    return [
        named(said if said.review is None else replace(said, verdict="ask", review=None), whose)
        async for said, whose in _opinions(run, tool, ctx)
    ]


async def _opinions(run: Run, tool: Tool, ctx: ToolContext) -> AsyncIterator[tuple[Decision, str]]:
    """Decisions and whose they are, from the outermost to the tool itself."""
    for guard in run.rules:
        said = await decide(guard.policy, tool, ctx.arguments, ctx)
        refuse_questions(tool, ctx, guard.origin)
        yield _while_unresolved(said, guard, tool), guard.origin
    around = () if run.box is None else run.box.guards
    async for said, wish in wishes_of(tool, ctx):
        for guard in around:
            if isinstance(wish, PolicyWish) and wish.policy is guard.policy:
                said = _while_unresolved(said, guard, tool)
        yield said, ""


def _while_unresolved(said: Decision, guard: Guard, tool: Tool) -> Decision:
    """What `guard` says of a call; it asks where a name in it may be this tool's, misspelt.

    That is not known while a toolset cannot be listed, which may have a tool of that name.
    """
    if not guard.unchecked or said.verdict != "allow" or tool.placeholder:
        return said
    if not (names := guard.unresolved()):
        return said
    listed = ", ".join(names)
    return Decision(
        verdict="ask",
        reason=_UNRESOLVED.format(listed),
        rule=f"a rule for {listed}",
        about=tuple(names),
    )


def _pin(run: Run, tool: Tool, ctx: ToolContext, given: tuple[Pending, Approve] | None) -> None:
    """Note how a tool from outside is, now that it may run."""
    if change_of(run, tool) is None:
        return pin_used(ctx, tool)
    if given is not None and given[1].remember == "source":
        return accept(ctx, tool, as_asked=given[0].question.split(":")[2])
    return accept(ctx, tool)


def give_turn(
    run: Run, record: CallRecord, tool: Tool, ctx: ToolContext, asker: str = FUNCTION
) -> None:
    """Let `asker` have the context: what is asked now is theirs, and they see what they were answered.

    An answer to another's question would keep theirs from being asked.
    """
    ctx.asker = asker
    if not record.answers:
        return
    subject, _ = _bound_to(run, tool, ctx, [asker])
    # Of credentials and results it is not noted who asked; they are the function's.
    own = (subject, "") if asker == FUNCTION else (subject,)
    ctx.answers = [
        (asked, answer)
        for asked, answer in record.answers
        if _kind(asked) not in (RULE, AS_CALLED) and _asked_by(asked) in own
    ]
    given = _approval(run, record, tool, ctx, (OWN,), [asker])
    ctx.tool_confirmation = None if given is None else _confirmation(*given)


def as_own_question(
    run: Run, tool: Tool, ctx: ToolContext, request: PendingRequest
) -> PendingRequest:
    """The request of a tool or of a hook around it, bound to who asks it about what."""
    subject, digest = _bound_to(run, tool, ctx, [ctx.asker])
    return replace(request, question=f"{OWN}:{subject}::{digest}")


def as_called(run: Run, tool: Tool, ctx: ToolContext, hint: str) -> Output:
    """Ask about the call as the model made it, since a person's change of it does not fit."""
    subject, digest = _bound_to(run, tool, ctx)
    question = f"{AS_CALLED}:{subject}::{digest}"
    rule = "a change of the arguments that does not fit"
    return Output.pending(kind="confirmation", hint=hint, rule=rule, question=question)


def called_arguments(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext) -> Args:
    """The arguments as the model gave them, with what it left out as its first question showed it."""
    return _reader(run, record, tool, 0)(ctx.call.arguments)


def _reader(run: Run, record: CallRecord, tool: Tool, number: int) -> Callable[[str], Args]:
    """Reads what a call's question of that number has shown, and makes nothing anew that it showed."""
    if number >= len(record.answers):
        return tool.parse
    asked = record.answers[number][0]
    shown = asked.arguments if asked.as_read is None else asked.as_read
    return lambda raw: read_again(tool.name, tool.parse, raw, shown, run.card)


def _unstable(run: Run, record: CallRecord, tool: Tool, ctx: ToolContext, subject: str) -> str:
    """Why an approval would never cover the call; empty when it would, as far as can be said."""
    if not record.answers and record.as_read is not None:
        shown = run.card(record.as_read)
        again = read_again(tool.name, tool.parse, ctx.call.arguments, shown, run.card)
        if digest_of_arguments(again) == digest_of_arguments(record.as_read):
            return ""
        return _MOVES.format(_places(exact(again), exact(record.as_read)))
    yes = [
        asked
        for asked, answer in record.answers
        if isinstance(answer, Approve) and answer.arguments is None
        and _kind(asked) in (RULE, AS_CALLED) and _is_about(asked, subject)
    ]  # fmt: skip
    if len(yes) < _ENOUGH:
        return ""
    return _MOVED.format(_places(run.card(ctx.arguments), yes[-1].arguments))


def _why_again(run: Run, record: CallRecord, ctx: ToolContext, subject: str) -> str:
    """Why a person who has changed the arguments is asked once more; empty when they have not."""
    changes = [
        (asked.arguments, answer.arguments)
        for asked, answer in record.answers
        if isinstance(answer, Approve) and answer.arguments is not None
        and _kind(asked) in (RULE, AS_CALLED) and _is_about(asked, subject)
    ]  # fmt: skip
    if not changes:
        return ""
    shown, written = changes[-1]
    now, latest = run.card(ctx.arguments), record.answers[-1][0].arguments
    unwritten = differences(now, {**shown, **written})
    moved = differences(now, latest)
    new = [place for place in unwritten if any(_is_around(place, other) for other in moved)]
    told = {_NEW: new, _AS_BEFORE: [place for place in unwritten if place not in new]}
    why = [text.format(_listed(places)) for text, places in told.items() if places]
    return _AGAIN.format("; ".join(why) or _UNSEEN)


def _is_around(place: str, other: str) -> bool:
    """Whether one of two places in arguments is the other, or is inside it."""
    short, long = sorted((place, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))


def _listed(places: Sequence[str]) -> str:
    return ", ".join(map(repr, places))


def _places(one: Any, other: Any) -> str:
    return _listed(differences(one, other)) or _UNSHOWN


def edited_arguments(run: Run, record: CallRecord, tool: Tool, called: Args) -> Args:
    """The arguments that the person who approved the call wants it to have; `called` are the model's.

    `ArgumentError` when the latest change of them does not fit.
    """
    latest = [wanted for _, _, wanted in _approvals(run, record, tool, called)]
    wanted = latest[-1] if latest else called
    if isinstance(wanted, ArgumentError):
        raise wanted
    return wanted


def _approvals(
    run: Run, record: CallRecord, tool: Tool, called: Args
) -> Iterator[tuple[Pending, Approve, Args | ArgumentError]]:
    """The approvals so far, and what the arguments were to be after each."""
    args, wanted = called, called
    for number, (asked, answer) in enumerate(record.answers):
        if not isinstance(answer, Approve):
            continue
        if answer.arguments is not None:
            try:
                edited = answer.arguments, asked.arguments
                read = _reader(run, record, tool, number + 1)
                args = wanted = apply_edit(tool.name, read, *edited, args)
            except ArgumentError as error:
                wanted = error
        elif _kind(asked) == AS_CALLED:
            args = wanted = called
        yield asked, answer, wanted


def _bound_to(
    run: Run, tool: Tool, ctx: ToolContext, about: Sequence[str] = ("",)
) -> tuple[str, str]:
    """Two digests: of who calls which tool, one for each thing that is about, and of its arguments."""
    listed = "" if tool.listing is None else tool.listing.key
    who = (list(run.names), tool.fingerprint, listed)
    subject = _AND.join(digest_of(*who, each) for each in about)
    digest = digest_of_arguments(ctx.arguments, partial(_seal, run, ctx))
    return subject, f"{ONCE}{digest}" if run.unseen(ctx.arguments) else digest


def _seal(run: Run, ctx: ToolContext) -> str:
    """What the session's digests of secrets are made with."""
    if SEAL not in run.table.values:
        ctx.state.note(SEAL, secrets.token_hex(32))
    return str(run.table.values[SEAL])


def _is_about(asked: Pending, subject: str) -> bool:
    """Whether a question was about all of the subject; it may have been about more."""
    covered = asked.question.split(":")[1]
    return set(subject.split(_AND)) <= set(covered.split(_AND))


def _kind(pending: Pending) -> str:
    """The first part of KIND:SUBJECT:SOURCE:DIGEST, which is what a question was bound to."""
    return pending.question.partition(":")[0]


def _asked_by(pending: Pending) -> str:
    """Who asked it as a question of their own; empty where that was not noted."""
    kind, _, rest = pending.question.partition(":")
    return rest.partition(":")[0] if kind == OWN else ""


def _approval(
    run: Run,
    record: CallRecord,
    tool: Tool,
    ctx: ToolContext,
    kinds: tuple[str, ...],
    about: Sequence[str],
) -> tuple[Pending, Approve] | None:
    """The latest approval that was given for exactly this: path, tool, arguments and question."""
    subject, digest = _bound_to(run, tool, ctx, about)
    found: tuple[Pending, Approve] | None = None
    called = called_arguments(run, record, tool, ctx)
    for asked, answer, wanted in _approvals(run, record, tool, called):
        if _kind(asked) not in kinds or asked.question.count(":") != 3:
            continue  # Another question, or one of a version that bound less to it.
        if not _is_about(asked, subject):
            continue
        if answer.arguments is None:
            # What is known as a secret may be others by now; the arguments are the same.
            shown = asked.question.rpartition(":")[2]
            fits = digest.removeprefix(ONCE) == shown.removeprefix(ONCE)
        else:
            # Arguments that a person has written are bound like those shown: what runs is what
            # they wrote, and not what the tool or a hook makes of it.
            fits = not isinstance(wanted, ArgumentError) and says(
                answer.arguments, asked.arguments, wanted, ctx.arguments, run.card
            )
        found = (asked, answer) if fits else found
    return found


def _confirmation(asked: Pending, answer: Approve) -> ToolConfirmation:
    payload = asked.payload if answer.payload is None else answer.payload
    return ToolConfirmation(hint=asked.hint, payload=payload)


def _denied(decision: Decision) -> Output:
    text = f"Denied: {decision.reason or 'not allowed here'}"
    return Output(text=text, status="denied", data={"rule": decision.rule})


def _question(tool: Tool, decision: Decision, question: str, again: str) -> Output:
    hint = decision.reason or f"Allow {tool.name!r} with these arguments?"
    return Output.pending(
        kind="confirmation",
        hint=f"{hint} {again}".rstrip(),
        payload=decision.payload,
        rule=decision.rule,
        question=question,
    )


# -- what a person does not want to be asked again ----------------------------------------------


def _is_remembered(run: Run, subject: str, digest: str) -> bool:
    return all(_is_noted(run, one, digest) for one in subject.split(_AND))


def _is_noted(run: Run, subject: str, digest: str) -> bool:
    known = run.table.values
    here = _here(run, subject)
    keys = (here, f"{here}:{digest}", f"user:{APPROVED}{subject}")
    return any(known.get(key) is True for key in keys)


def _here(run: Run, subject: str) -> str:
    """The key of what is remembered in this session: a branch of it has the state, but not the yes."""
    return f"{APPROVED}{digest_of(run.scope.session_id, subject)}"


def _remember(run: Run, ctx: ToolContext, answer: Approve, bound: tuple[str, str]) -> None:
    subject, digest = bound
    for one in subject.split(_AND):
        match answer.remember:
            case "arguments" if not digest.startswith(ONCE):
                ctx.state.note(f"{_here(run, one)}:{digest}", True)
            case "session" | True:
                ctx.state.note(_here(run, one), True)
            case "user":
                ctx.state.note(f"user:{APPROVED}{one}", True)
