"""What those who judge a call come to together, in a run of ours or in another framework."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from toolwright.errors import UsageError
from toolwright.tools._context import ToolContext
from toolwright.tools._copies import lent
from toolwright.tools._decision import Decision, Wish
from toolwright.tools._tool import Tool

__all__ = ["decided", "named", "refuse_questions", "until_denied", "wishes_of"]


async def wishes_of(tool: Tool, ctx: ToolContext) -> AsyncIterator[tuple[Decision, Wish]]:
    """What the tool itself wants to be decided of the call in the context, wish by wish."""
    for wish in tool.confirm:
        with lent(ctx.arguments, ctx) as args:
            said = await wish(args, ctx)
        refuse_questions(tool, ctx, said.rule)
        yield said, wish


async def until_denied(opinions: AsyncIterator[tuple[Decision, str]]) -> list[tuple[Decision, str]]:
    """What everybody says and whose it is, up to the first who denies the call."""
    heard: list[tuple[Decision, str]] = []
    async for said, whose in opinions:
        heard.append((said, whose))
        if said.review is None and said.verdict == "deny":
            break
    return heard


async def decided(
    heard: Sequence[tuple[Decision, str]], changed: Decision | None = None, *, is_approved: bool
) -> Decision:
    """The strictest decision; of several that ask, one question that says what all of them say."""
    told = [named(said, whose) for said, whose in heard if said.review is None]
    if told and told[-1].verdict == "deny":
        return told[-1]
    asks = [decision for decision in told if decision.verdict == "ask"]
    asks += [] if changed is None else [changed]
    if asks:
        return _one_question(asks)
    if is_approved:  # By a person, who comes after a reviewer.
        return Decision(verdict="allow")
    return await _reviewed([(said, whose) for said, whose in heard if said.review is not None])


def _one_question(asks: Sequence[Decision]) -> Decision:
    """All their reasons, that of the tool itself first, and all their rules."""
    reasons = dict.fromkeys(decision.reason for decision in reversed(asks) if decision.reason)
    return Decision(
        verdict="ask",
        reason="\n".join(reasons),
        payload=next((ask.payload for ask in asks if ask.payload is not None), None),
        rule="; ".join(dict.fromkeys(decision.rule for decision in asks)),
    )


async def _reviewed(reviews: Sequence[tuple[Decision, str]]) -> Decision:
    """What those say who wanted to know first that everybody else allows the call."""
    for asked, whose in reviews:
        said = asked if asked.review is None else await asked.review()
        if said.verdict != "allow":
            return named(said, whose)
    return Decision(verdict="allow")


def refuse_questions(tool: Tool, ctx: ToolContext, whose: str) -> None:
    """`UsageError` when who judges a call has asked something with its context.

    What is asked there is asked when the call is over: it would have run by then.
    """
    if ctx.requested is not None:
        raise UsageError(
            f"{whose or 'A policy'} asked for {ctx.requested.kind} with the context while it judged a "
            f"call of {tool.name!r}, which was not run. Who judges a call asks with a verdict: return "
            "Decision(verdict='ask', reason=…) from a policy and True from require_confirmation or "
            "interrupt_on, or write Rule.ask(…, when=…)."
        )


def named(decision: Decision, whose: str) -> Decision:
    """With the rule that decided, in words."""
    if not whose:
        return decision if decision.rule else replace(decision, rule="a policy around the tool")
    return replace(decision, rule=f"{decision.rule} in {whose}" if decision.rule else whose)
