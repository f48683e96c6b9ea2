"""Rules belong to the run: helpers can add to them, and nothing takes one away."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Hooks,
    Result,
    Rule,
    Runner,
    Tool,
    ToolContext,
    UsageError,
    create_deep_agent,
    reviewed_by,
    rules,
    tool,
)
from toolwright.kits import load_agent_file
from toolwright.messages import ToolEnded, Usage
from toolwright.models import ModelRequest
from toolwright.tasks import NewTask, Orchestrator
from toolwright.tasks._children import _children
from toolwright.tasks._registered import above_child
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision, Toolset, combined, filtered, prefixed, searchable

pytestmark = pytest.mark.anyio

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


@tool
def wipe(what: str = "") -> str:
    """Wipe something."""
    ran.append(f"wipe {what}")
    return "wiped"


@tool(effects="read")
def look(what: str = "") -> str:
    """Look at something."""
    ran.append(f"look {what}")
    return "seen"


class Listed(Toolset):
    """A toolset with tools of its own, or with none while its server is away."""

    def __init__(self, *tools: Tool, **settings: Any) -> None:
        super().__init__(**settings)
        self.tools: Sequence[Tool] = tools

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return list(self.tools)

    async def all_tools(self, context: Any = None) -> list[Tool] | None:
        return await super().all_tools(context) if self.tools else None


def results(result: Result) -> dict[str, tuple[str, str]]:
    ended = [event.result for event in result.events if isinstance(event, ToolEnded)]
    return {r.name: (r.status, r.text) for r in ended}


def helper(*script: Any, tools: Any = (wipe,), **settings: Any) -> Agent:
    return Agent(
        name="helper", description="", model=ScriptedModel(*script), tools=tools, **settings
    )


def deep(*script: Any, **settings: Any) -> Agent:
    task = call("task", agent="general_purpose", description="d")
    return create_deep_agent(model=ScriptedModel(task, *script, "sub", "top"), **settings)


async def test_a_deep_agents_policy_holds_for_its_helpers(tmp_path: Path) -> None:
    denying = rules(Rule.deny("execute", reason="no commands"), otherwise="allow")
    run = call("execute", command=f"touch {tmp_path}/it-ran")
    result = await deep(run, execution="local", policy=denying, work_dir=tmp_path).run("x")
    assert results(result)["execute"] == ("denied", "Denied: no commands")
    assert not (tmp_path / "it-ran").exists()

    asking = rules(Rule.ask("write_file"), otherwise="allow")
    result = await deep(call("write_file", file_path="/a", content="x"), policy=asking).run("x")
    assert [pending.name for pending in result.pending] == ["write_file"]


@pytest.mark.parametrize("inherited", ["toolset", "ready-made"])
async def test_interrupt_on_holds_for_toolsets_and_ready_made_sub_agents(inherited: str) -> None:
    if inherited == "toolset":
        agent = deep(call("wipe"), tools=[Listed(wipe)], interrupt_on={"wipe": True})
    else:
        task = call("task", agent="helper", description="d")
        agent = create_deep_agent(
            model=ScriptedModel(task, "top"),
            subagents=[helper(call("wipe"), ".")],
            interrupt_on={"wipe": True},
        )
    result = await agent.run("go")
    assert (result.status, ran) == ("paused", [])


async def test_a_sub_agent_cannot_switch_off_its_parents_rule() -> None:
    spec: Any = {
        "name": "lax",
        "description": "d",
        "tools": [wipe],
        "model": ScriptedModel(call("wipe"), "."),
        "interrupt_on": {"wipe": False},
    }
    task = call("task", agent="lax", description="d")
    agent = create_deep_agent(
        model=ScriptedModel(task, "."), subagents=[spec], interrupt_on={"wipe": True}
    )
    assert (await agent.run("go")).status == "paused"


async def test_the_strictest_of_all_on_the_path_counts_and_the_question_names_it() -> None:
    inner = helper(
        [call("wipe"), call("look")], ".", tools=[wipe, look],
        policy=rules(Rule.ask("look", reason="Careful."), otherwise="allow"),
    )  # fmt: skip
    outer = Agent(
        name="outer",
        model=ScriptedModel(call("helper", request="go"), "."),
        tools=[AgentTool(inner)],
        policy=rules(Rule.ask("wipe"), otherwise="allow"),
    )
    runner = Runner(outer, policy=rules(Rule.deny("wipe", reason="never"), otherwise="allow"))
    result = await runner.run("go")
    assert results(result)["wipe"] == ("denied", "Denied: never")
    [pending] = result.pending
    assert (pending.name, pending.hint) == ("look", "Careful.")
    assert pending.rule == "Rule.ask('look') in the policy of agent 'helper'"
    [denied] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert denied.data == {"rule": "Rule.deny('wipe') in the policy of the runner"}


async def test_a_helpers_own_rules_do_not_bind_whoever_calls_it() -> None:
    strict = helper(".", tools=[wipe], policy=rules(otherwise="deny"))
    model = ScriptedModel(call("helper", request="go"), call("wipe"), ".")
    await Agent(name="outer", model=model, tools=[AgentTool(strict), wipe]).run("go")
    assert ran == ["wipe "]


async def test_after_a_transfer_and_a_restart_the_rules_of_the_root_still_hold() -> None:
    def desk(*script: Any) -> Agent:
        clerk = Agent(name="clerk", model=ScriptedModel(*script), tools=[wipe])
        first = ScriptedModel(call("transfer_to_agent", agent_name="clerk"))
        return Agent(name="desk", model=first, sub_agents=[clerk], interrupt_on={"wipe": True})

    runner = Runner(desk("Hello."))
    await runner.run("hi", session_id="s")
    again = Runner(desk(call("wipe"), "."), store=runner.store)
    paused = await again.run("wipe", session_id="s")
    assert (paused.status, paused.agent, ran) == ("paused", "clerk", [])


async def test_an_agents_hooks_see_what_its_helpers_do() -> None:
    seen: list[str] = []

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        seen.append(f"{ctx.agent_name} calls {tool.name}")

    async def before_model(ctx: ToolContext, request: ModelRequest) -> None:
        seen.append(f"{ctx.agent_name} asks")

    inner = helper(call("wipe", what="x"), ".")
    model = ScriptedModel(call("helper", request="go"), ".")
    hooks = Hooks(before_tool=before_tool, before_model=before_model)
    await Agent(name="outer", model=model, tools=[AgentTool(inner)], hooks=hooks).run("go")
    assert seen == [
        "outer asks", "outer calls helper",
        "helper asks", "helper calls wipe", "helper asks",
        "outer asks",
    ]  # fmt: skip


async def test_the_arguments_that_a_parents_hook_changes_are_the_ones_that_are_judged() -> None:
    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args | None:
        return {"what": "everything"} if tool.name == "wipe" else None

    inner = helper(call("wipe", what="nothing"), ".")
    outer = Agent(
        name="outer",
        model=ScriptedModel(call("helper", request="go"), "."),
        tools=[AgentTool(inner)],
        hooks=Hooks(before_tool=before_tool),
        policy=rules(Rule.deny("wipe", when="what == 'everything'"), otherwise="allow"),
    )
    assert results(await outer.run("go"))["wipe"][0] == "denied"
    assert ran == []


# -- names that no tool has ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"interrupt_on": {"wpie": True}},
        {"policy": rules(Rule.deny("wpie"))},
        {"policy": rules(Rule.allow("look"), Rule.ask("look", "wpie"))},
    ],
)
async def test_a_rule_for_a_name_that_no_tool_has_is_refused_with_the_nearest(
    settings: Any,
) -> None:
    with pytest.raises(UsageError, match=r"no tool 'wpie', which .* names; near names: wipe"):
        Agent(name="a", model=ScriptedModel(), tools=[wipe, look], **settings)
    agent = Agent(
        name="a", model=ScriptedModel(call("wipe"), "."), tools=[Listed(wipe), look], **settings
    )
    with pytest.raises(UsageError, match=r"no tool 'wpie', which .* names; near names: wipe"):
        await agent.run("go")
    assert ran == []


async def test_a_misspelt_name_in_the_runners_policy_and_in_a_file_is_refused(
    tmp_path: Path,
) -> None:
    agent = Agent(name="a", model=ScriptedModel("."), tools=[wipe])
    with pytest.raises(UsageError, match="'wip_', which the policy of the runner names"):
        await Runner(agent, policy=rules(Rule.deny("wip_"))).run("go")
    file = tmp_path / "agent.yaml"
    file.write_text("tools: {preset: coding}\napprovals: {deny: [bsah]}\n")
    with pytest.raises(UsageError, match=r"no tool 'bsah'.*near names: bash"):
        load_agent_file(file, ScriptedModel())


async def test_a_pattern_that_fits_no_tool_is_refused_unless_it_is_optional() -> None:
    with pytest.raises(UsageError, match=r"no tool 'drop_\*'"):
        Agent(name="a", model=ScriptedModel(), tools=[wipe], policy=rules(Rule.deny("drop_*")))
    company = rules(Rule.deny("drop_*", "bash", optional=True), otherwise="allow")
    result = await Agent(
        name="a", model=ScriptedModel(call("wipe"), "."), tools=[wipe], policy=company
    ).run("go")
    assert (result.status, ran) == ("done", ["wipe "])


@pytest.mark.parametrize(
    "tools",
    [
        [searchable([wipe, look])],
        [prefixed(searchable(prefixed([wipe], "x")), "y")],
        [combined([wipe], [look])],
        [AgentTool(Agent(name="inner", model=ScriptedModel(), tools=[Listed(wipe)]))],
        [Listed(AgentTool(Agent(name="inner", model=ScriptedModel(), tools=[wipe])))],
    ],
)
async def test_names_of_tools_that_are_found_later_or_inside_are_known(tools: Any) -> None:
    policy = rules(Rule.ask("*wipe"), otherwise="allow")
    agent = Agent(name="a", model=ScriptedModel("."), tools=tools, policy=policy)
    assert (await agent.run("go")).status == "done"


async def test_while_a_server_is_away_a_rule_for_its_tools_waits_for_the_next_listing() -> None:
    server = Listed()
    server.cache_listing = False
    model = ScriptedModel(".", call("wipe"), ".", call("wipe"), ".")
    agent = Agent(name="a", model=model, tools=[server], interrupt_on={"wipe": True})
    assert (await agent.run("go")).status == "done"
    server.tools = [wipe]
    assert (await agent.run("go")).status == "paused"


async def test_a_misspelt_tool_filter_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no tool 'wpie'.*near names: wipe"):
        await Listed(wipe, look, tool_filter=["look", "wpie"]).list_tools()
    with pytest.raises(UsageError, match=r"no tool 'wpie'.*near names: wipe"):
        await filtered([wipe], ["wpie"]).list_tools()
    assert await Listed(tool_filter=["wipe"]).list_tools() == []


async def test_a_filter_keeps_what_stands_in_for_tools_that_cannot_be_listed_yet() -> None:
    sign_in = look.replace(placeholder=True)
    assert await Listed(sign_in, tool_filter=["wipe"]).list_tools() == [sign_in]


# -- child tasks -----------------------------------------------------------------------------------


async def test_child_tasks_run_under_the_rules_of_whoever_started_them(tmp_path: Path) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    calls = [call("wipe", what="x"), call("look", what="y")]
    made.register(Agent(name="child", model=ScriptedModel(calls, "."), tools=[wipe, look]))
    starter = helper(
        call("start_child_tasks", prompts=["go"]), ".", tools=[made.child_tasks("child")],
        policy=rules(Rule.ask("look"), otherwise="allow"),
    )  # fmt: skip
    parent = Agent(
        name="parent",
        model=ScriptedModel(call("helper", request="go"), "."),
        tools=[AgentTool(starter)],
    )
    made.register(parent, policy=rules(Rule.deny("wipe", reason="never"), otherwise="allow"))
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            parent_id = await made.enqueue("parent", "go")
            while not (waiting := [p for p in await made.pending() if p[1].kind != "result"]):
                await made.changed(0.5)
            [(child_id, pending)] = waiting
            assert (pending.name, ran) == ("look", [])
            assert pending.rule == "Rule.ask('look') in the policy of agent 'helper'"
            await made.answer(task_id=child_id, tool_call_id=pending.call_id, result=Approve())
            assert (await made.wait(parent_id)).status == "COMPLETED"
            worker.drain()
    events = await made.stored_events(child_id)
    ended = {e.result.name: e.result.status for e in events if isinstance(e, ToolEnded)}
    assert (ended, ran) == ({"wipe": "denied", "look": "ok"}, ["look y"])
    assert "_under" not in await made.agents["child"].runner.state(child_id)
    await made.close()


class Priced(ScriptedModel):
    async def respond(self, request: Any, on_delta: Any = None) -> Any:
        return replace(await super().respond(request, on_delta), usage=Usage(cost=1.0))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("most", "status"), [(0.5, "denied"), (1.5, "ok")])
async def test_a_rule_on_cost_counts_in_a_child_task_what_was_spent_before_it(
    depth: int, most: float, status: str, tmp_path: Path
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    free = ScriptedModel(call("look", what="y"), ".")
    made.register(Agent(name="child0", model=free, tools=[look]))
    for level in range(depth):
        start = call(f"start_child{level}_tasks", prompts=["go"])
        is_first = level == depth - 1
        model = Priced(start, ".") if is_first else ScriptedModel(start, ".")
        denied = rules(Rule.deny("look", when=f"call.cost > {most}"), otherwise="allow")
        made.register(
            Agent(
                name=f"child{level + 1}",
                model=model,
                tools=[made.child_tasks(f"child{level}")],
                policy=denied if is_first else None,
            )
        )
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            await made.wait(await made.enqueue(f"child{depth}", "go"))
            worker.drain()
    assert f"status='{status}'" in str(free.requests[-1].history[-1])
    await made.close()


@pytest.mark.parametrize("written", ["agent", "register"])
async def test_a_grandparents_rules_take_no_rule_of_the_parent_away(
    written: str, tmp_path: Path
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    deny: Any = {"policy": rules(Rule.deny("wipe", optional=True), otherwise="allow")}
    made.register(Agent(name="child", model=ScriptedModel(call("wipe"), "."), tools=[wipe]))
    parent = Agent(
        name="parent",
        model=ScriptedModel(call("start_child_tasks", prompts=["go"]), "."),
        tools=[made.child_tasks("child")],
        **(deny if written == "agent" else {}),
    )
    made.register(parent, **(deny if written == "register" else {}))
    lax = rules(Rule.deny("other", optional=True), otherwise="allow")
    boss = Agent(
        name="boss",
        model=ScriptedModel(call("start_parent_tasks", prompts=["go"]), "."),
        tools=[made.child_tasks("parent")],
        policy=lax,
    )
    made.register(boss)
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            assert (await made.wait(await made.enqueue("boss", "go"))).status == "COMPLETED"
            worker.drain()
    assert ran == []
    await made.close()


async def test_a_childs_own_rules_know_the_path_and_the_person_though_nobody_above_has_rules(
    tmp_path: Path,
) -> None:
    reviewer = ScriptedModel('{"verdict": "allow", "reason": "fine"}')
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    by_path = Rule.deny("wipe", when="'boss' in call.path", agent="parent", optional=True)
    child = Agent(
        name="child",
        model=ScriptedModel([call("wipe", what="x"), call("look", what="y")], "."),
        tools=[wipe, look],
        policy=rules(by_path, otherwise=reviewed_by(reviewer)),
    )
    made.register(child)
    for name, below in (("parent", "child"), ("boss", "parent")):
        script = call(f"start_{below}_tasks", prompts=[f"The person wants {below} to wipe."]), "."
        made.register(
            Agent(name=name, model=ScriptedModel(*script), tools=[made.child_tasks(below)])
        )
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            assert (await made.wait(await made.enqueue("boss", "Be nice"))).status == "COMPLETED"
            worker.drain()
    assert ran == ["look y"]
    [request] = reviewer.requests
    said = json.loads(request.history[-1].text)  # type: ignore[union-attr]
    assert (said["asked_for"], said["agents"]) == ("Be nice", ["boss", "parent", "child"])
    await made.close()


async def test_a_worker_need_not_know_those_on_the_path_who_have_no_rules() -> None:
    above = above_child(["boss", "parent"], "Be nice", {}, unruled=["boss", "parent"])
    assert (above.names, above.asked) == (("boss", "parent"), "Be nice")
    with pytest.raises(UsageError, match=r"'parent'.*register it as well"):
        above_child(["boss", "parent"], "Be nice", {}, unruled=["boss"])


async def test_a_task_whose_path_could_mean_two_agents_of_one_name_is_not_run() -> None:
    made = Orchestrator("sqlite:///unused.db")
    by_name = made.child_tasks("writer")
    made.register(Agent(name="writer", model=ScriptedModel(), tools=[wipe]))
    shadow = AgentTool(Agent(name="writer", description="", model=ScriptedModel()))
    made.register(Agent(name="boss", model=ScriptedModel(), tools=[shadow, by_name]))
    with pytest.raises(
        UsageError, match=r"'writer'.*2 agents of that name on its path.*rename one"
    ):
        above_child(["boss", "writer"], None, made.agents)
    with pytest.raises(UsageError, match="two agents named 'writer'"):
        Agent(name="other", model=ScriptedModel(), tools=[shadow, made.child_tasks("writer")])


async def test_helpers_of_one_name_on_other_paths_are_not_mixed_up() -> None:
    def deep(name: str, **settings: Any) -> Agent:
        inner = Agent(name="general", description="", model=ScriptedModel(), **settings)
        return Agent(name=name, description="", model=ScriptedModel(), tools=[AgentTool(inner)])

    strict = rules(otherwise="deny")
    made = Orchestrator("sqlite:///unused.db")
    tools = [AgentTool(deep("left", policy=strict)), AgentTool(deep("right"))]
    made.register(Agent(name="boss", model=ScriptedModel(), tools=tools))
    left = above_child(["boss", "left", "general"], None, made.agents)
    assert [guard.policy for guard in left.guards] == [strict]
    assert above_child(["boss", "right", "general"], None, made.agents).guards == ()


async def test_a_child_task_does_not_run_where_its_parents_rules_are_not_known(
    tmp_path: Path,
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(Agent(name="child", model=ScriptedModel(call("wipe"), "."), tools=[wipe]))
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            child_id = await made.enqueue("child", "go", inherited={"_under": ["parent"]})
            task = await made.wait(child_id)
            worker.drain()
    assert (task.status, ran) == ("FAILED", [])
    assert "register it as well" in task.reason
    await made.close()


async def by_name(tool: Tool, args: Any, ctx: ToolContext) -> Decision:
    return Decision(verdict="deny")


def on_weekends(disk: str) -> bool:
    return True


NO_WIPING = rules(Rule.deny("wipe"), otherwise="allow")


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (NO_WIPING, None),
        (NO_WIPING, rules(Rule.allow("wipe"), otherwise="allow")),
        (NO_WIPING, rules(Rule.deny("wipe", when="False"), otherwise="allow")),
        (rules(otherwise="deny"), rules(otherwise="allow")),
        (rules(Rule.deny("wipe", when=on_weekends)), rules(Rule.deny("wipe", when=str.isupper))),
        (rules(otherwise=NO_WIPING), rules(otherwise=rules(otherwise="allow"))),
        (by_name, NO_WIPING),
    ],
    ids=["none", "verdict", "condition", "otherwise", "function", "nested", "policy"],
)
async def test_a_worker_that_has_other_rules_for_a_name_on_the_path_refuses_the_task(
    there: Any, here: Any
) -> None:
    def boss(policy: Any, **more: Any) -> Agent:
        return Agent(name="boss", model=ScriptedModel(), tools=[wipe], policy=policy, **more)

    records = [guard.record for guard in boss(there).guards]
    made = Orchestrator("sqlite:///unused.db")
    made.register(boss(here))
    with pytest.raises(UsageError, match="started under the policy of agent 'boss'"):
        above_child(["boss"], None, made.agents, (), records)
    stricter = Orchestrator("sqlite:///unused.db")
    stricter.register(boss(there, interrupt_on={"wipe": True}))
    assert len(above_child(["boss"], None, stricter.agents, (), records).guards) == 2


async def test_a_child_task_carries_the_rules_that_it_was_started_under(tmp_path: Path) -> None:
    started: list[NewTask] = []

    @tool
    def start(tool_context: ToolContext) -> str:
        """Start a child task as `child_tasks` does, but where another worker will find it."""
        [child] = _children("child", ["go"], tool_context, "cancel")
        started.append(replace(child, parent_id=None, parent_call=None))
        return "started"

    starting = ScriptedModel(call("start"), "done")
    parent = Agent(name="parent", model=starting, tools=[start, wipe], policy=NO_WIPING)
    await Runner(parent).run("go")
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(Agent(name="parent", model=ScriptedModel(), tools=[wipe]))
    made.register(Agent(name="child", model=ScriptedModel(call("wipe"), "."), tools=[wipe]))
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            [child_id] = await made.enqueue_many(started)
            task = await made.wait(child_id)
            worker.drain()
    assert (task.status, ran) == ("FAILED", [])
    assert "started under the policy of agent 'parent'" in task.reason
    await made.close()


async def test_an_agents_rules_hold_below_it_and_where_its_conversation_goes_but_not_for_peers() -> (
    None
):
    wiped: list[str] = []

    @tool
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        wiped.append(disk)
        return "wiped"

    no_wiping = rules(Rule.deny("wipe"), otherwise="allow")

    def team(**above: Any) -> tuple[Agent, Agent]:
        handing = ScriptedModel(call("transfer_to_agent", agent_name="peer"), "done")
        careful = Agent(name="careful", model=handing, policy=no_wiping, tools=[wipe])
        peer = Agent(name="peer", model=ScriptedModel(call("wipe", disk="a"), "."), tools=[wipe])
        first = ScriptedModel(call("transfer_to_agent", agent_name="careful"), "done")
        return Agent(name="root", model=first, sub_agents=[careful, peer], **above), careful

    for began_with in (team()[1], team(policy=no_wiping)[0]):
        done = await Runner(began_with).run("go")
        denied = [event.result for event in done.events if isinstance(event, ToolEnded)][-1]
        assert (denied.name, denied.status, wiped) == ("wipe", "denied", [])
    await Runner(team()[0]).run("go")
    assert wiped == ["a"]
