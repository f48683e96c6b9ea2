"""A hook may replace a result; a call that waits has none, and its question is never swallowed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    Hooks,
    Runner,
    ToolContext,
    deferred_tool,
    get_user_choice,
)
from toolwright.backends import MemoryCredentials
from toolwright.messages import AuthConfig, CustomAuthScheme
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Output, Tool

pytestmark = pytest.mark.anyio
KEY = AuthConfig(auth_scheme=CustomAuthScheme(type="http", scheme="bearer"), credential_key="key")
ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def pay() -> str:
    """Pay."""
    ran.append("pay")
    return "paid"


def ask(tool_context: ToolContext) -> str:
    """Pay, once somebody agrees."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sure?")
        return "asked"
    return pay()


def sign_in(tool_context: ToolContext) -> str:
    """Pay, once somebody has signed in."""
    if tool_context.get_auth_response(KEY) is None:
        tool_context.request_credential(KEY)
        return "asked"
    return pay()


def order() -> None:
    """Order."""
    ran.append("order")


def helper() -> Tool:
    model = ScriptedModel(call("pay"), "The helper has paid.")
    tools = [FunctionTool(pay, require_confirmation=True)]
    return AgentTool(Agent(name="helper", model=model, tools=tools))


WAITING: dict[str, tuple[Callable[[], Tool], dict[str, Any], Any, str]] = {
    "a rule": (lambda: FunctionTool(pay, require_confirmation=True), {}, Approve(), "paid"),
    "the function": (lambda: FunctionTool(ask), {}, Approve(), "paid"),
    "a sign-in": (lambda: FunctionTool(sign_in), {}, "TOKEN", "paid"),
    "a choice": (lambda: get_user_choice, {"options": ["red", "blue"]}, "red", "red"),
    "a result": (lambda: deferred_tool()(order), {}, "shipped", "shipped"),
    "a helper": (helper, {"request": "go"}, Approve(), "The helper has paid."),
}
"""What a call waits for: its tool, its arguments, the answer, and what it comes to."""


class Watch:
    """A hook that says the same of everything, and notes what it was shown."""

    def __init__(self, says: Callable[[Output], Any]) -> None:
        self.says = says
        self.shown: list[str] = []

    def __call__(self, ctx: ToolContext, tool: Tool, args: Args, output: Output) -> Any:
        self.shown.append(output.status)
        return self.says(output)


def runner_of(waits: str, hook: Watch) -> Runner:
    make, arguments, _, _ = WAITING[waits]
    tool = make()
    agent = Agent(
        name="clerk", model=ScriptedModel(call(tool.name, **arguments), "Done.", "Done."),
        tools=[tool], hooks=Hooks(after_tool=hook),
    )  # fmt: skip
    return Runner(agent, credentials=MemoryCredentials())


REPLACED: dict[str, Callable[[Output], Any]] = {
    "a text": lambda output: f"({output.text})",
    "an output": lambda output: Output(text=f"({output.text})"),
    "a changed output": lambda output: replace(output, text=f"({output.text})", status="ok"),
    "its text": lambda output: replace(output, text=f"({output.text})"),
}


@pytest.mark.parametrize("says", REPLACED)
@pytest.mark.parametrize("waits", WAITING)
async def test_a_call_that_waits_waits_on_whatever_a_hook_makes_of_it(
    waits: str, says: str
) -> None:
    _, _, answer, comes_to = WAITING[waits]
    hook = Watch(REPLACED[says])
    runner = runner_of(waits, hook)
    paused = await runner.run("go", session_id="s")
    assert (paused.status, len(paused.pending)) == ("paused", 1)
    assert hook.shown[-1] == "pending"
    assert ran == (["order"] if waits == "a result" else [])
    assert await runner.answer("s", paused.pending[0].call_id, answer) == "accepted"
    done = await runner.resume("s")
    [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    # What was brought for the call is its result; what its tool then makes of it is replaced.
    is_brought = waits in ("a choice", "a result")
    assert (done.status, result.status) == ("done", "ok")
    assert result.text == (comes_to if is_brought else f"({comes_to})")


@pytest.mark.parametrize("status", ["denied", "error"])
@pytest.mark.parametrize("waits", WAITING)
async def test_a_hook_can_end_a_call_that_waits_with_a_no(waits: str, status: Any) -> None:
    hook = Watch(lambda output: replace(output, text="Not today.", status=status))
    runner = runner_of(waits, hook)
    done = await runner.run("go", session_id="s")
    [*_, result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    assert (done.status, result.status, result.text) == ("done", status, "Not today.")
    assert await runner.pending("s") == []
    assert done.pending == ()
    assert ran == (["order"] if waits == "a result" else [])


async def test_with_a_helper_that_a_hook_ends_go_the_questions_inside_it() -> None:
    def no(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> Output | None:
        return Output(text="Not today.", status="denied") if tool.name == "helper" else None

    agent = Agent(
        name="clerk", model=ScriptedModel(call("helper", request="go"), "Done."), tools=[helper()],
        hooks=Hooks(after_tool=no),
    )  # fmt: skip
    runner = Runner(agent)
    done = await runner.run("go", session_id="s")
    assert (done.status, done.pending, await runner.pending("s")) == ("done", (), [])
    assert (await runner.resume("s")).status == "done"
    assert ran == []


async def test_a_hook_s_no_is_no_question_of_the_next_hook() -> None:
    no = Watch(lambda output: Output(text="Not today.", status="denied"))
    outer = Watch(lambda output: None)
    agent = Agent(
        name="clerk", model=ScriptedModel(call("ask"), "Done."), tools=[FunctionTool(ask)],
        hooks=Hooks(after_tool=no),
    )  # fmt: skip
    done = await Runner(agent, hooks=Hooks(after_tool=outer)).run("go")
    assert (done.status, no.shown, outer.shown) == ("done", ["pending"], ["denied"])
