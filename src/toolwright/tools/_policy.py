"""Policies from rules: which calls are allowed, asked about or denied, the first that fits decides."""

import fnmatch
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from toolwright.errors import UsageError
from toolwright.messages import Effects
from toolwright.tools._arguments import Args
from toolwright.tools._confirmation import Decision, Policy, by_argument_names, with_approval
from toolwright.tools._context import ToolContext
from toolwright.tools._tool import Tool
from toolwright.tools._toolset import ToolLike, Toolset, reshaped

__all__ = ["Rule", "Verdict", "guarded", "rules"]

Verdict = Literal["allow", "ask", "deny"]
When = Callable[..., bool | Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do about the calls it fits; made with `Rule.allow`, `Rule.ask` and `Rule.deny`.

    A call fits when its tool's name matches one of the patterns (`*` and `?` as in file names),
    its effects are among `effects`, and `when`, given the arguments it names, says yes. What is
    left out fits everything.
    """

    verdict: Verdict
    tools: tuple[str, ...] = ()
    effects: tuple[Effects, ...] = ()
    when: When | None = None
    reason: str = ""

    @classmethod
    def allow(cls, *tools: str, effects: Any = (), when: When | None = None) -> "Rule":
        """Run these calls without asking."""
        return cls("allow", tools, _effects(effects), when)

    @classmethod
    def ask(
        cls, *tools: str, effects: Any = (), when: When | None = None, reason: str = ""
    ) -> "Rule":
        """Ask a person before these calls; `reason` is shown to them."""
        return cls("ask", tools, _effects(effects), when, reason)

    @classmethod
    def deny(
        cls, *tools: str, effects: Any = (), when: When | None = None, reason: str = ""
    ) -> "Rule":
        """Never run these calls; the model is told `reason`."""
        return cls("deny", tools, _effects(effects), when, reason)


def rules(*ordered: Rule, otherwise: Verdict = "ask") -> Policy:
    """A policy that does what the first fitting rule says, and `otherwise` when none fits."""
    for rule in ordered:
        if not isinstance(rule, Rule):
            raise UsageError(
                f"rules(…) takes Rule.allow(…), Rule.ask(…) and Rule.deny(…); got {rule!r}."
            )
    if otherwise not in get_args(Verdict):
        raise UsageError(f"otherwise is 'allow', 'ask' or 'deny'; got {otherwise!r}.")
    checks = [(_fits(rule), Decision(verdict=rule.verdict, reason=rule.reason)) for rule in ordered]
    fallback = Decision(verdict=otherwise)

    async def policy(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        for fits, decision in checks:
            if await fits(tool, args, ctx):
                return decision
        return fallback

    return policy


def guarded(toolset: Toolset | Sequence[ToolLike], policy: Policy) -> Toolset:
    """The same tools, each under `policy`."""
    return reshaped(toolset, lambda tool: with_approval(tool, policy))


def _fits(rule: Rule) -> Callable[[Tool, Args, ToolContext], Awaitable[bool]]:
    # An argument that `when` needs and the call leaves out: no call is allowed on a guess.
    unknown = rule.verdict != "allow"
    judge = None if rule.when is None else by_argument_names(rule.when, unknown=unknown)

    async def fits(tool: Tool, args: Args, ctx: ToolContext) -> bool:
        if rule.tools and not any(fnmatch.fnmatchcase(tool.name, p) for p in rule.tools):
            return False
        if rule.effects and tool.effects not in rule.effects:
            return False
        return judge is None or await judge(args, ctx)

    return fits


def _effects(effects: Effects | Sequence[Effects]) -> tuple[Effects, ...]:
    given = (effects,) if isinstance(effects, str) else tuple(effects)
    for effect in given:
        if effect not in get_args(Effects):
            raise UsageError(f"Effects are {', '.join(get_args(Effects))}; got {effect!r}.")
    return given
