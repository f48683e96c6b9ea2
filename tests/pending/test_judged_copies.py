"""Whoever judges a call may do what they like to the arguments they are shown: it is only a copy."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from toolwright import Agent, AgentTool, Approve, Hooks, Rule, Runner, ToolContext, rules, tool
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision, Tool, with_approval, with_confirmation, with_retries

pytestmark = pytest.mark.anyio

TO = ["bob", "mallory"]
ALLOW = Decision(verdict="allow")
seen: list[Any] = []
ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()
    seen.clear()


@tool
def send(to: list[str], about: str = "") -> str:
    """Send it."""
    ran.append((list(to), about))
    return "sent"


def change(args: Args, ctx: ToolContext | None = None) -> None:
    """Note what there is, and leave nothing of it as it was."""
    found = [args] if ctx is None else [args, ctx.arguments]
    seen.extend((list(arguments["to"]), arguments["about"]) for arguments in found)
    args["to"].clear()
    args["about"] = "changed"
    if ctx is not None:
        ctx.arguments["to"] = ["eve"]
        ctx.arguments = {"to": ["eve"], "about": "changed"}


async def asynchronous(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    if tool.name == "send":
        change(args, ctx)
    return ALLOW


def in_a_thread(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    if tool.name == "send":
        change(args)
    return ALLOW


class AnObject:
    async def __call__(self, tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        return await asynchronous(tool, args, ctx)


async def a_wish(args: Args, ctx: ToolContext) -> Decision:
    change(args, ctx)
    return ALLOW


def predicate(to: list[str], about: str) -> bool:
    change({"to": to, "about": about})
    return False


async def with_context(to: list[str], about: str, tool_context: ToolContext) -> bool:
    change({"to": to, "about": about}, tool_context)
    return False


def clerk(send: Tool = send, **settings: Any) -> Agent:
    return Agent(
        name="clerk",
        model=ScriptedModel(call("send", to=list(TO)), "done"),
        tools=[send],
        **settings,
    )


def helped(**settings: Any) -> Agent:
    model = ScriptedModel(call("clerk", request="x"), "done")
    return Agent(name="root", model=model, tools=[AgentTool(clerk(**settings))])


JUDGES: dict[str, Callable[[], Agent]] = {
    "a policy": lambda: clerk(policy=asynchronous),
    "a policy in a thread": lambda: clerk(policy=in_a_thread),
    "a policy that is an object": lambda: clerk(policy=AnObject()),
    "a policy of a helper": lambda: helped(policy=asynchronous),
    "the policy behind rules": lambda: clerk(policy=rules(otherwise=asynchronous)),
    "rules in rules": lambda: clerk(policy=rules(otherwise=rules(otherwise=asynchronous))),
    "a condition": lambda: clerk(policy=rules(Rule.ask("send", when=predicate), otherwise="allow")),
    "a condition with the context": lambda: clerk(interrupt_on={"send": with_context}),
    "a policy around the tool": lambda: clerk(with_approval(send, asynchronous)),
    "its confirmation": lambda: clerk(with_confirmation(send, predicate)),
    "a wish of its own": lambda: clerk(send.replace(confirm=(a_wish,))),
}


@pytest.mark.parametrize("judge", JUDGES)
async def test_what_runs_is_what_the_model_wrote(judge: str) -> None:
    assert (await Runner(JUDGES[judge]()).run("go")).status == "done"
    assert set(map(str, seen)) == {str((TO, ""))}
    assert ran == [(TO, "")]


@pytest.mark.parametrize("judge", JUDGES)
async def test_a_person_sees_what_the_model_wrote_and_one_yes_is_enough(judge: str) -> None:
    runner = Runner(JUDGES[judge](), policy=rules(Rule.ask("send"), otherwise="allow"))
    [pending] = (await runner.run("go", session_id="s")).pending
    assert pending.arguments == {"to": TO, "about": ""}
    await runner.answer("s", pending.call_id, Approve())
    assert (await runner.resume("s")).status == "done"
    assert ran == [(TO, "")]


LATER: dict[str, Callable[[Tool], Any]] = {
    "the next condition": lambda send: clerk(
        policy=rules(
            Rule.ask("send", when=predicate), Rule.deny(when="'mallory' in to"), otherwise="allow"
        )
    ),
    "the condition after that": lambda send: clerk(
        policy=rules(
            Rule.ask("send", when=predicate),
            Rule.deny("send", when=lambda to: "mallory" in to),
            otherwise="allow",
        )
    ),
    "the tool itself": lambda send: clerk(
        with_approval(send, rules(Rule.deny(when="'mallory' in to"), otherwise="allow")),
        policy=asynchronous,
    ),
    "the policy of a helper": lambda send: Agent(
        name="root",
        model=ScriptedModel(call("clerk", request="x"), "done"),
        tools=[
            AgentTool(clerk(policy=rules(Rule.deny(when="'mallory' in to"), otherwise="allow")))
        ],
        policy=asynchronous,
    ),
}


@pytest.mark.parametrize("later", LATER)
async def test_whoever_judges_later_judges_what_the_model_wrote(later: str) -> None:
    await Runner(LATER[later](send)).run("go")
    assert seen[0] == (TO, "")
    assert ran == []


async def test_what_a_policy_does_to_its_copy_is_gone_when_it_raises() -> None:
    async def broken(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        change(args, ctx)
        raise OSError("no")

    contexts: list[ToolContext] = []

    async def note(args: Args, ctx: ToolContext) -> Decision:
        contexts.append(ctx)
        return ALLOW

    inner = with_approval(send.replace(confirm=(note,)), broken)
    await Runner(clerk(inner)).run("go")
    assert contexts[0].arguments == {"to": TO, "about": ""}
    assert ran == []


async def test_every_attempt_has_the_arguments_that_were_approved() -> None:
    @tool
    def send(to: list[str], about: str = "") -> str:
        """Send it."""
        ran.append(list(to))
        to.append("eve")
        if len(ran) < 3:
            raise OSError("network")
        return "sent"

    runner = Runner(clerk(with_confirmation(with_retries(send, 2, backoff=0), True)))
    [pending] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", pending.call_id, Approve())
    assert (await runner.resume("s")).status == "done"
    assert ran == [TO, TO, TO]


class Letter(BaseModel):
    to: list[str]
    note: str = ""


def tidy_list(to: list[str], tool_context: ToolContext) -> str:
    """Send it."""
    to.sort()
    to.append("audit")
    return asking(to, tool_context)


def tidy_model(to: Letter, tool_context: ToolContext) -> str:
    """Send it."""
    to.note = "none"
    to.to.append("audit")
    return asking([*to.to, to.note], tool_context)


def tidy_rows(to: list[dict[str, int]], tool_context: ToolContext) -> str:
    """Send it."""
    to[0]["id"] += 1
    to.sort(key=lambda row: row["id"])
    return asking([row["id"] for row in to], tool_context)


def asking(to: list[Any], ctx: ToolContext) -> str:
    if ctx.tool_confirmation is None:
        ctx.request_confirmation(hint=f"Send to {to}?")
        return "?"
    ran.append(to)
    return "sent"


def watch(ctx: ToolContext, tool: Tool, args: Args) -> None:
    """A hook is around the call."""


TIDYING: dict[str, Any] = {
    "a list": (tidy_list, ["bob", "ann"], ["ann", "bob", "audit"]),
    "a model": (tidy_model, {"to": ["bob"], "note": ""}, ["bob", "audit", "none"]),
    "rows": (tidy_rows, [{"id": 2}, {"id": 1}], [1, 3]),
}


@pytest.mark.parametrize("hooks", [Hooks(), Hooks(before_tool=watch)], ids=["no hooks", "hooks"])
@pytest.mark.parametrize("kind", TIDYING)
async def test_a_function_that_tidies_its_arguments_before_it_asks_needs_one_yes(
    kind: str, hooks: Hooks
) -> None:
    function, given, used = TIDYING[kind]
    model = ScriptedModel(call(function.__name__, to=given), "done")
    runner = Runner(Agent(name="a", model=model, tools=[function], hooks=hooks))
    asked = await runner.run("go", session_id="s")
    [pending] = asked.pending
    assert (pending.arguments, pending.hint) == ({"to": given}, f"Send to {used}?")
    await runner.answer("s", pending.call_id, Approve())
    assert (await runner.resume("s")).status == "done"
    assert ran == [used]
