"""The key of a call is the same whenever that call is run, and no other call's."""

from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, AgentTool, Runner, ToolContext, Workflow, tool
from toolwright.agent import START
from toolwright.backends import open_store
from toolwright.messages import ModelMessage, ToolCall, call_key
from toolwright.serve import Links
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db")


class Keys:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.fails = False

        @tool(idempotent=True)
        async def pay(tool_context: ToolContext) -> str:
            """Pay."""
            self.seen.append(tool_context.idempotency_key)
            if self.fails:
                raise KeyboardInterrupt
            return "paid"

        self.pay = pay


def asks(name: str, call_id: str = "") -> ModelMessage:
    """A turn of a model that gives its calls no ids, or always the same."""
    arguments = '{"request": "go"}' if name == "inner" else "{}"
    return ModelMessage(parts=(ToolCall(call_id=call_id, name=name, arguments=arguments),))


@pytest.mark.parametrize("call_id", ["", "same"])
async def test_no_two_calls_have_one_key_whatever_ids_the_model_gives(
    store: Any, call_id: str
) -> None:
    keys, pays = Keys(), asks("pay", call_id)
    inner = Agent(name="inner", model=ScriptedModel(*[pays, "ok"] * 9), tools=[keys.pay])
    turns = [pays, pays, asks("inner", call_id), "ok"]
    model = ScriptedModel(*turns * 5)
    agent = Agent(name="a", model=model, tools=[keys.pay, AgentTool(agent=inner)])
    for app_name in ("shop", "other"):
        runner = Runner(agent, store=store, app_name=app_name)
        for session_id in ("ada", "bob"):
            await runner.run("go", session_id=session_id)
    await runner.delete("ada")
    await runner.run("go", session_id="ada")
    assert len(keys.seen) == len(set(keys.seen)) == 15
    assert {len(key) for key in keys.seen} == {40}


async def test_no_two_calls_of_a_workflow_have_one_key(store: Any) -> None:
    keys = Keys()
    flow = Workflow(name="w", nodes={"pay": keys.pay}, edges=[(START, "pay")])
    for app_name in ("shop", "other"):
        runner = Runner(flow, store=store, app_name=app_name)
        for _ in range(2):
            for _ in range(2):
                await runner.run("go", session_id="ada")
            await runner.delete("ada")
    assert len(keys.seen) == len(set(keys.seen)) == 8


async def test_a_call_that_is_repeated_after_a_crash_has_its_key_again(tmp_path: Path) -> None:
    keys, url = Keys(), f"sqlite:///{tmp_path}/s.db"
    keys.fails = True
    for _ in range(2):
        agent = Agent(name="a", model=ScriptedModel(asks("pay"), "ok"), tools=[keys.pay])
        runner = Runner(agent, store=url)
        with pytest.raises(KeyboardInterrupt):
            await runner.begin_or_resume("go", user_id="ada", session_id="s")
        await runner.close()
    assert len(keys.seen) == 2
    assert len(set(keys.seen)) == 1


async def test_a_call_that_was_interrupted_has_its_key_again_in_a_branch(store: Any) -> None:
    keys = Keys()
    model = ScriptedModel(asks("pay"), *["ok"] * 3, *[asks("pay"), "ok"] * 3)
    runner = Runner(Agent(name="a", model=model, tools=[keys.pay]), store=store)
    keys.fails = True
    with pytest.raises(KeyboardInterrupt):
        await runner.run("go", session_id="s")
    await runner.branch("s", new_id="b")
    await runner.branch("b", new_id="c")
    keys.fails = False
    for session in ("c", "b", "s"):
        assert (await runner.resume(session)).status == "done"
    assert len(keys.seen) == 4
    assert len(set(keys.seen)) == 1
    for session in ("c", "b", "s"):
        await runner.run("again", session_id=session)
    assert len(set(keys.seen)) == 4, "what a branch does by itself is its own"


@pytest.mark.parametrize("call_id", ["", "same"])
async def test_a_call_that_is_going_has_its_key_in_a_branch_that_is_made_meanwhile(
    store: Any, call_id: str
) -> None:
    keys: list[str] = []

    @tool(idempotent=True)
    async def pay(tool_context: ToolContext) -> str:
        """Pay."""
        keys.append(tool_context.idempotency_key)
        if len(keys) == 1:
            await runner.branch("s", new_id="b")
        return "paid"

    model = ScriptedModel(asks("pay", call_id), "ok", "ok")
    async with Runner(Agent(name="a", model=model, tools=[pay]), store=store) as runner:
        await runner.run("go", session_id="s")
        assert (await runner.resume("b")).status == "done"
    assert len(keys) == 2
    assert len(set(keys)) == 1


async def test_a_link_made_by_a_call_that_a_branch_repeats_answers_it_there() -> None:
    links, made = Links("sixteen letters!", "http://here"), []

    @tool(idempotent=True)
    async def pay(tool_context: ToolContext) -> str:
        """Pay."""
        made.append(links.read(links.answer(tool_context, "paid").rpartition("/")[2]))
        if len(made) == 1:
            raise KeyboardInterrupt
        return "paid"

    runner = Runner(Agent(name="a", model=ScriptedModel(asks("pay"), "ok"), tools=[pay]))
    with pytest.raises(KeyboardInterrupt):
        await runner.run("go", session_id="s")
    branch = await runner.branch("s", new_id="b")
    await runner.resume("b")
    key = call_key(branch.scope, branch.created_at, made[1].call_id)
    assert (made[1].id, made[1].key) == ("b", key)
