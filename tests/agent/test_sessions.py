"""Sessions: what is kept, what is given up, and who may write."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, Approve, Hooks, Runner, ToolContext, UsageError, deferred_tool, tool
from toolwright.agent import AgentTool, Result
from toolwright.messages import ModelMessage, ToolCall, ToolMessage, ToolStarted
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Tool

pytestmark = pytest.mark.anyio


@tool(require_confirmation=True)
def wipe(what: str = "disk") -> str:
    """Wipe something."""
    return f"wiped {what}"


def nested(*inner_turns: object, outer: ScriptedModel) -> Runner:
    inner = Agent(name="inner", model=ScriptedModel(*inner_turns), tools=[wipe])  # type: ignore[arg-type]
    return Runner(Agent(name="o", model=outer, tools=[AgentTool(inner)]))


async def test_going_on_with_a_new_message_also_gives_up_what_waits_inside_a_call() -> None:
    runner = nested(call("wipe"), outer=ScriptedModel(call("inner", request="go"), "Fine."))
    paused = await runner.run("go", session_id="s")
    [pending] = paused.pending
    result = await runner.run("never mind", session_id="s")
    assert (result.text, result.pending) == ("Fine.", ())
    assert await runner.pending("s") == []
    assert await runner.answer("s", pending.call_id, Approve()) != "accepted"


@pytest.mark.parametrize("wrong", [{"session_id": 7}, {"user_id": 3}, {"user_id": None}])
async def test_an_id_that_is_no_string_is_refused_and_makes_no_session(wrong: Any) -> None:
    runner = Runner(Agent(name="t", model=ScriptedModel("Fine.")))
    [name] = wrong
    with pytest.raises(UsageError, match=f"{name} is a string; got"):
        await runner.run("go", **wrong)
    with pytest.raises(UsageError, match=f"{name} is a string; got"):
        async for _ in runner.stream("go", **wrong):
            pass
    assert await runner.sessions() == []


async def test_what_a_deferred_tool_writes_to_the_state_is_kept() -> None:
    @deferred_tool()
    def order(tool_context: ToolContext) -> None:
        """Order something."""
        tool_context.state["ordered"] = True

    runner = Runner(Agent(name="t", model=ScriptedModel(call("order"), "Done."), tools=[order]))
    paused = await runner.run("go", session_id="s")
    assert await runner.state("s") == {"ordered": True}
    await runner.answer("s", paused.pending[0].call_id, "it came")
    assert (await runner.resume("s")).text == "Done."
    assert await runner.state("s") == {"ordered": True}


async def test_after_a_stream_was_closed_the_session_is_free_at_once() -> None:
    @tool
    async def hang() -> str:
        """Never end."""
        await anyio.sleep_forever()
        return ""

    runner = Runner(Agent(name="t", model=ScriptedModel(call("hang"), "Fine."), tools=[hang]))
    stream = runner.stream("go", session_id="s")
    with anyio.fail_after(30):
        async for event in stream:
            if isinstance(event, ToolStarted):
                break
        await stream.aclose()  # type: ignore[attr-defined]
        assert (await runner.run("again", session_id="s")).text == "Fine."


async def test_of_two_runs_begun_at_once_in_one_session_one_is_refused(tmp_path: Path) -> None:
    other_is_refused = anyio.Event()

    async def wait_for_the_other(request: ModelRequest) -> str:
        await other_is_refused.wait()
        return "Done."

    agent = Agent(name="t", model=ScriptedModel(wait_for_the_other))
    async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
        done: list[Result] = []
        refused: list[UsageError] = []

        async def go() -> None:
            try:
                done.append(await runner.run("go", session_id="s"))
            except UsageError as error:
                refused.append(error)
                other_is_refused.set()

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(go)
                group.start_soon(go)
    assert (len(done), len(refused)) == (1, 1)
    assert "has a run going" in str(refused[0])


async def test_who_approves_sees_the_arguments_that_a_hook_has_put_in() -> None:
    async def before(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {"what": "production"}

    model = ScriptedModel(call("wipe", what="staging"))
    agent = Agent(name="t", model=model, tools=[wipe], hooks=Hooks(before_tool=before))
    [pending] = (await agent.run("go")).pending
    assert pending.arguments == {"what": "production"}


async def test_call_ids_may_have_any_characters() -> None:
    odd = ModelMessage(parts=(ToolCall(call_id="a~b/c", name="wipe", arguments="{}"),))
    runner = Runner(Agent(name="t", model=ScriptedModel(odd, "Done."), tools=[wipe]))
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, Approve())
    message = (await runner.resume("s")).history[2]
    assert isinstance(message, ToolMessage)
    assert message.results[0].text == "wiped disk"


async def test_a_branch_from_the_middle_of_a_turn_goes_on_from_there() -> None:
    ran: list[int] = []

    @tool
    def count(n: int) -> str:
        """Count."""
        ran.append(n)
        return str(n)

    model = ScriptedModel([call("count", n=1), call("count", n=2)], "Done.", "Done again.")
    runner = Runner(Agent(name="t", model=model, tools=[count]))
    await runner.run("go", session_id="s")
    replied = next(e.seq for e in await runner.events("s") if e.type == "model_replied")  # type: ignore[attr-defined]
    await runner.branch("s", new_id="before", upto=replied)
    assert (await runner.resume("before")).text == "Done again."
    assert sorted(ran) == [1, 1, 2, 2]


async def test_state_that_comes_with_a_message_is_kept_and_not_brought_back_later() -> None:
    @tool
    def rename(name: str, tool_context: ToolContext) -> str:
        """Take another name."""
        tool_context.state["name"] = name
        return "ok"

    model = ScriptedModel([call("rename", name="Grace"), call("wipe")], "Done.")
    runner = Runner(Agent(name="t", model=model, instructions="{name}", tools=[rename, wipe]))
    given = {"name": "Ada", "temp:secret": "x"}
    paused = await runner.begin_or_resume("go", user_id="u", session_id="s", state=given)
    assert model.requests[0].instructions == "Ada"
    await runner.answer("s", paused.pending[0].call_id, Approve())
    await runner.begin_or_resume("go", user_id="u", session_id="s", state=given)
    assert await runner.state("s") == {"name": "Grace"}
    assert "secret" not in str(await runner.events("s"))
