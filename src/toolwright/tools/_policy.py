"""Policies from rules: which calls are allowed, asked about or denied, the first that fits decides."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, get_args

from toolwright._sealed import sealed
from toolwright.errors import UsageError
from toolwright.messages import Effects
from toolwright.tools._arguments import Args
from toolwright.tools._confirmation import (
    Careful,
    Policy,
    Require,
    by_argument_names,
    decide,
    with_approval,
)
from toolwright.tools._context import Origin, ToolContext
from toolwright.tools._decision import Decision, Verdict
from toolwright.tools._expression import Expression, Unknown
from toolwright.tools._fingerprint import digest_of
from toolwright.tools._patterns import Named, NamedPath, is_like
from toolwright.tools._tool import Tool
from toolwright.tools._toolset import ToolLike, Toolset, nearest, reshaped

__all__ = ["NameKind", "Rule", "Rules", "digest_of_policy", "guarded", "interrupting", "rules"]

When = str | Callable[..., bool | Awaitable[bool]]
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOSED = {"effects": get_args(Effects), "weekday": _WEEKDAYS}
"""What `call.…` can be, where there is only so much that it can be."""
Fits = Callable[[Tool, Args, ToolContext], Awaitable[bool]]
NameKind = Literal["tool", "agent", "source"]


@sealed
@dataclass(frozen=True, slots=True)
class Rule:
    """What to do about the calls it fits; made with `Rule.allow`, `Rule.ask` and `Rule.deny`.

    A call fits when all that is given fits; what is left out fits everything.

    Attributes:
        verdict: What is to be done: `allow`, `ask` or `deny`.
        tools: Names of tools; `*` and `?` as in file names.
        effects: What the tool declares to do: `read`, `write` or `destructive`.
        when: A condition on the arguments: a function that names those it wants to see, or text
            such as `"cents > 1000 and call.user != 'ada'"`.
        reason: Shown to whoever is asked, or to the model whose call is denied.
        source: Where the tool came from, such as `mcp:*` or `mcp:files@*` (`Tool.source`).
        agent: The agent that makes the call, or one around it.
        user: Whose session it is.
        optional: Whether it is in order that no tool or agent has one of these names, and none came
            from this source.
        from_untrusted: Only calls with a value that stands in an untrusted result, and neither in what
            the person has said nor in a trusted one. Calls that only read are left alone, unless
            `tools` or `effects` name them, and so are those that make calls themselves: each of
            these is judged.
    """

    verdict: Verdict
    tools: tuple[str, ...] = ()
    effects: tuple[Effects, ...] = ()
    when: When | None = None
    reason: str = ""
    source: str | None = None
    agent: str | None = None
    user: str | None = None
    optional: bool = False
    from_untrusted: bool = False

    def __post_init__(self) -> None:
        named = (*(("tool", name) for name in self.tools), ("agent", self.agent))
        for kind, name in named:
            if name == "":
                raise UsageError(
                    f"A rule names no {kind} with ''; for all there are, leave it out."
                )
        # Mostly a setting that is missing; it would be a rule about nobody.
        if self.user == "":
            raise UsageError(
                "A rule names no user with ''; for all there are, leave it out, and for those whose "
                "name is empty write when=\"call.user == ''\"."
            )

    @classmethod
    def allow(
        cls,
        *tools: str,
        effects: Any = (),
        when: When | None = None,
        source: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        optional: bool = False,
    ) -> "Rule":
        """Run these calls without asking, as far as this policy is concerned."""
        given = (source, agent, user, optional)
        return cls("allow", tools, _effects(effects), when, "", *given)

    @classmethod
    def ask(
        cls,
        *tools: str,
        effects: Any = (),
        when: When | None = None,
        reason: str = "",
        source: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        optional: bool = False,
        from_untrusted: bool = False,
    ) -> "Rule":
        """Ask a person before these calls; `reason` is shown to them."""
        given = (source, agent, user, optional, from_untrusted)
        return cls("ask", tools, _effects(effects), when, reason, *given)

    @classmethod
    def deny(
        cls,
        *tools: str,
        effects: Any = (),
        when: When | None = None,
        reason: str = "",
        source: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        optional: bool = False,
        from_untrusted: bool = False,
    ) -> "Rule":
        """Never run these calls; the model is told `reason`."""
        given = (source, agent, user, optional, from_untrusted)
        return cls("deny", tools, _effects(effects), when, reason, *given)

    def __str__(self) -> str:
        said = [repr(name) for name in self.tools]
        if self.effects:
            said.append(f"effects={self.effects[0] if len(self.effects) == 1 else self.effects!r}")
        said += [
            f"{name}={value!r}"
            for name in ("source", "agent", "user")
            if (value := getattr(self, name)) is not None
        ]
        if self.from_untrusted:
            said.append("from_untrusted=True")
        if self.when is not None:
            said.append(f"when={self.when!r}" if isinstance(self.when, str) else "when=…")
        return f"Rule.{self.verdict}({', '.join(said)})"


class Rules(Careful):
    """An ordered list of rules: the first that fits a call decides, and `otherwise` when none does.

    It is a policy: an async function of a tool, its arguments and the context.
    """

    __slots__ = ("_checks", "ordered", "otherwise", "written")

    def __init__(
        self,
        ordered: Sequence[Rule],
        otherwise: Verdict | Policy = "ask",
        written: Mapping[str, str] | None = None,
    ) -> None:
        for rule in ordered:
            if not isinstance(rule, Rule):
                raise UsageError(
                    f"rules(…) takes Rule.allow(…), Rule.ask(…) and Rule.deny(…); got {rule!r}."
                )
        if not callable(otherwise) and otherwise not in get_args(Verdict):
            raise UsageError(f"otherwise is 'allow', 'ask', 'deny' or a policy; got {otherwise!r}.")
        self.ordered = tuple(ordered)
        self.otherwise = otherwise
        self.written = dict(written or {})
        """For the names of tools that stand in a file: the file and the line."""
        self._checks = [
            (rule, _fits(rule), Decision(verdict=rule.verdict, reason=rule.reason, rule=str(rule)))
            for rule in ordered
        ]

    async def __call__(self, tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        """What the rules say of this call."""
        for rule, fits, decision in self._checks:
            if not await fits(tool, args, ctx):
                continue
            if not rule.from_untrusted:
                return decision
            if origins := await ctx.run.untrusted_in(tool, ctx):
                return _about_values(decision, tool, origins, ctx)
        if callable(self.otherwise):
            return await decide(self.otherwise, tool, args, ctx)
        return Decision(verdict=self.otherwise, rule=f"otherwise={self.otherwise!r}")

    def names(self, *, strict: bool = False) -> Iterator[tuple[NameKind, Named]]:
        """The names and patterns that must be those of tools, agents and sources.

        With `strict`, only those that could let a call run when they are misspelt: not what a rule
        allows by name, but what its condition names (`call.tool != 'wipe'`).
        """
        for rule in self.ordered:
            if rule.optional:
                continue
            if not strict or rule.verdict != "allow":
                yield from _names(rule)
            yield from _names_in_condition(rule)
        if isinstance(self.otherwise, Rules):
            yield from self.otherwise.names(strict=strict)

    def about(self, tool: Tool) -> Iterator[Rule]:
        """The rules that may fit calls of `tool`."""
        yield from (rule for rule in self.ordered if _is_about(rule, tool))
        if isinstance(self.otherwise, Rules):
            yield from self.otherwise.about(tool)


def rules(*ordered: Rule, otherwise: Verdict | Policy = "ask") -> Rules:
    """A policy that does what the first fitting rule says, and `otherwise` when none fits.

    Args:
        ordered: The rules, those that come first deciding first.
        otherwise: A verdict, or another policy, such as `reviewed_by(model)`.
    """
    return Rules(ordered, otherwise)


def digest_of_policy(policy: Policy) -> str | None:
    """What a policy decides, the same in every process: its rules as they are written, and the functions
    among them by their code and what they hold. None where that cannot be known."""
    from toolwright.tools._identity import Unknowable  # noqa: PLC0415 - only child tasks need it

    try:
        return digest_of(_spelled(policy))
    except Unknowable:
        return None


def _spelled(policy: Any) -> Any:
    if isinstance(policy, str):
        return policy
    if not isinstance(policy, Rules):
        from toolwright.tools._identity import identity_of  # noqa: PLC0415 - as above

        return identity_of(policy, _written_as)
    return [[_fields(rule) for rule in policy.ordered], _spelled(policy.otherwise)]


def _fields(rule: Rule) -> dict[str, Any]:
    """All that a rule has, by its fields: its text says less."""
    held = {field.name: getattr(rule, field.name) for field in fields(rule)}
    if not rule.from_untrusted:
        del held["from_untrusted"]  # Child tasks of older versions carry digests without it.
    return held | ({"when": ["function", _spelled(rule.when)]} if callable(rule.when) else {})


def _written_as(policy: Any) -> Any:
    """How rules are written, also inside a function, and what else says so itself; None for others."""
    if isinstance(policy, Rules):
        return _spelled(policy)
    # Asked of its class: an object may answer to any name, or ask another process.
    return policy.written_as if hasattr(type(policy), "written_as") else None


def interrupting(required: dict[str, Require]) -> Rules:
    """The rules that `interrupt_on` stands for."""
    asking = [
        Rule.ask(name, when=None if isinstance(when, bool) else when)
        for name, when in required.items()
        if when is not False
    ]
    return Rules(asking, otherwise="allow")


def guarded(toolset: Toolset | Sequence[ToolLike], policy: Policy) -> Toolset:
    """The same tools, each under `policy`."""
    return reshaped(toolset, lambda tool: with_approval(tool, policy))


def _fits(rule: Rule) -> Fits:
    # An argument that `when` needs and the call leaves out: no call is allowed on a guess.
    holds = _condition(rule.when, unknown=rule.verdict != "allow")

    async def fits(tool: Tool, args: Args, ctx: ToolContext) -> bool:
        if not _is_about(rule, tool):
            return False
        if rule.agent is not None and not _on_path(rule.agent, ctx):
            return False
        if rule.user is not None and not is_like(ctx.user_id, rule.user):
            return False
        return holds is None or await holds(tool, args, ctx)

    return fits


def _is_about(rule: Rule, tool: Tool) -> bool:
    """Whether names, effects and source fit."""
    if rule.tools and not any(is_like(tool.name, p) for p in rule.tools):
        return False
    if rule.effects and tool.effects not in rule.effects:
        return False
    if rule.from_untrusted and not _may_carry(rule, tool):
        return False
    return rule.source is None or is_like(tool.source, rule.source)


def _may_carry(rule: Rule, tool: Tool) -> bool:
    """Whether values that a call is given go anywhere with it, or the rule is about it all the same."""
    if rule.tools or rule.effects:
        return True
    return tool.effects != "read" and not tool.inside


def _about_values(
    decision: Decision, tool: Tool, origins: Sequence[Origin], ctx: ToolContext
) -> Decision:
    """The decision with what was found; a yes to it is about these values."""
    from toolwright.tools._origin import (  # noqa: PLC0415 - only such rules need it
        about_origins,
        question_about,
    )

    told = question_about(tool.name, origins, ctx.run.asked)
    reason = ctx.run.redactor.inside(f"{decision.reason}\n{told}".lstrip())
    return replace(decision, reason=reason, about=about_origins(origins))


def _names(rule: Rule) -> Iterator[tuple[NameKind, Named]]:
    yield from (("tool", Named(name)) for name in rule.tools)
    if rule.agent is not None:
        yield "agent", Named(rule.agent)
    if rule.source is not None:
        yield "source", Named(rule.source)


def _names_in_condition(rule: Rule) -> Iterator[tuple[NameKind, Named]]:
    if isinstance(rule.when, str):
        condition = Expression(rule.when)
        kinds: tuple[NameKind, ...] = ("tool", "agent", "source")
        yield from ((kind, name) for kind in kinds for name in condition.names(kind))
        yield from (("agent", name) for path in condition.names("path") for name in _on(path))


def _on(path: Named) -> Iterator[Named]:
    """The names on a path that is written out; else the path, as it is."""
    if set(path.like) & set("*?"):
        yield NamedPath(path.pattern, path.how, like=path.like, lowered=path.lowered)
        return
    for name in path.like.split("/") if path.like else ():
        yield NamedPath(name, path.how, like=name, lowered=path.lowered)


def _on_path(agent: str, ctx: ToolContext) -> bool:
    return any(is_like(name, agent) for name in ctx.run.names)


def _condition(when: When | None, *, unknown: bool) -> Fits | None:
    if when is None:
        return None
    if isinstance(when, str):
        return _written(_checked(Expression(when)), unknown)
    judge = by_argument_names(when, unknown=unknown)

    async def holds(tool: Tool, args: Args, ctx: ToolContext) -> bool:
        return await judge(args, ctx)

    return holds


def _checked(condition: Expression) -> Expression:
    """`UsageError` when it compares something with what that can never be."""
    for field, known in _CLOSED.items():
        for name in condition.names(field):
            if not name.is_one_of(known):
                raise UsageError(
                    f"{name.pattern!r} in {condition.text!r} is nothing that call.{field} can be; "
                    f"{nearest(name.pattern, known)}"
                )
    return condition


def _written(expression: Expression, unknown: bool) -> Fits:
    async def holds(tool: Tool, args: Args, ctx: ToolContext) -> bool:
        try:
            return expression(args, _CallFields(tool, ctx))
        except Unknown:
            return unknown

    return holds


class _CallFields(dict[str, Any]):
    """What `call.…` stands for in a condition; each is looked up when it is asked for."""

    def __init__(self, tool: Tool, ctx: ToolContext) -> None:
        super().__init__()
        self._tool, self._ctx = tool, ctx

    def __missing__(self, field: str) -> Any:
        tool, ctx = self._tool, self._ctx
        match field:
            case "tool":
                return tool.name
            case "effects":
                return tool.effects
            case "source":
                return tool.source
            case "agent":
                return ctx.agent_name
            case "path":
                return "/".join(ctx.run.names)
            case "user":
                return ctx.user_id
            case "session":
                return ctx.run.scope.session_id
            case "cost":
                return ctx.run.cost
            case "hour":
                return _now().hour
            case "weekday":
                return _WEEKDAYS[_now().weekday()]
            case _:
                raise KeyError(field)


def _now() -> datetime:
    return datetime.now()


def _effects(effects: Effects | Sequence[Effects]) -> tuple[Effects, ...]:
    given = (effects,) if isinstance(effects, str) else tuple(effects)
    for effect in given:
        if effect not in get_args(Effects):
            raise UsageError(f"Effects are {', '.join(get_args(Effects))}; got {effect!r}.")
    return given
