"""Changed arguments are checked by the tool itself, wherever it is, before an answer is accepted."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from pydantic import AfterValidator, BaseModel

from toolwright import Agent, AgentTool, Approve, Runner, UsageError, Workflow, tool
from toolwright.agent import BaseAgent, Hooks, SequentialAgent
from toolwright.builtin import code_mode
from toolwright.kits import SubAgentSpec, create_deep_agent
from toolwright.messages import ToolSpec
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call
from toolwright.tools import (
    Args,
    FunctionTool,
    Output,
    ReadonlyContext,
    Tool,
    ToolContext,
    Toolset,
    prefixed,
    with_confirmation,
)

pytestmark = pytest.mark.anyio
ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("an even number of cents, please")
    return number


@tool(require_confirmation=True)
def pay(cents: Annotated[int, AfterValidator(_even)]) -> str:
    """Pay."""
    ran.append(cents)
    return f"paid {cents}"


@tool(require_confirmation=True)
def book(day: date) -> str:
    """Book a day."""
    ran.append(day)
    return "booked"


@tool(require_confirmation=True)
def note(text: str) -> str:
    """Write something down."""
    ran.append(text)
    return "noted"


class Shop(Toolset):
    """Lists `pay` when it is asked, and not before."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        return [pay]


def one(*tools: Any) -> Agent:
    return Agent(name="payer", model=ScriptedModel(call("pay", cents=2), "."), tools=tools)


PLACES: dict[str, Callable[[], BaseAgent]] = {
    "a tool": lambda: one(pay),
    "a toolset": lambda: one(Shop()),
    "a prefixed toolset": lambda: Agent(
        name="a",
        model=ScriptedModel(call("shop_pay", cents=2), "."),
        tools=[prefixed(Shop(), "shop_")],
    ),
    "an agent in a tool": lambda: Agent(
        name="boss",
        model=ScriptedModel(call("payer", request="x"), "."),
        tools=[AgentTool(one(pay))],
    ),
    "a sub-agent": lambda: Agent(
        name="boss",
        model=ScriptedModel(call("transfer_to_agent", agent_name="payer")),
        sub_agents=[one(Shop())],
    ),
    "a deep agent's helper": lambda: create_deep_agent(
        model=ScriptedModel(call("task", agent="payer", description="x"), "."),
        subagents=[
            SubAgentSpec(
                name="payer",
                description="Pays.",
                system_prompt="Pay.",
                tools=[pay],
                model=ScriptedModel(call("pay", cents=2), "."),
            )
        ],
    ),
    "code": lambda: Agent(
        name="coder",
        model=ScriptedModel(call("run_code", code="await pay(cents=2)"), "."),
        tools=[code_mode([pay])],
    ),
    "a sequence": lambda: SequentialAgent(name="steps", sub_agents=[one(pay)]),
    "a workflow": lambda: Workflow(
        name="flow", nodes={"agent": one(pay)}, edges=[("start", "agent")]
    ),
    "a node": lambda: Workflow(
        name="flow",
        nodes={"first": lambda_node, "pay": pay},
        edges=[("start", "first"), ("first", "pay")],
    ),
}


def lambda_node(text: str) -> int:
    """How much there is to pay."""
    return 2


@pytest.mark.parametrize("place", PLACES)
async def test_an_edit_that_only_the_tool_can_refuse_is_refused_wherever_the_tool_is(
    place: str, tmp_path: Path
) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    runner = Runner(PLACES[place](), store=address)
    paused = await runner.run("2", session_id="s")
    [waiting] = paused.pending
    async with Runner(PLACES[place](), store=address) as another_process:
        with pytest.raises(UsageError, match="an even number of cents, please"):
            await another_process.answer("s", waiting.call_id, Approve(arguments={"cents": 3}))
        assert [p.call_id for p in await runner.pending("s")] == [waiting.call_id]
        edit = {"kind": "approve", "arguments": {"cents": 4}}
        assert await another_process.answer("s", waiting.call_id, edit) == "accepted"
    assert (await runner.resume("s")).status == "done"
    assert ran == [4]
    await runner.close()


@pytest.mark.parametrize(
    ("name", "arguments", "wrong", "why"),
    [
        ("book", {"day": "2026-01-31"}, {"day": "2026-02-31"}, "day"),
        ("note", {"text": "x"}, {"text": "\ud800"}, "text"),
        ("note", {"text": "x"}, {"text": b"\xff"}, "not JSON"),
        ("note", {"text": "x"}, {"text": str}, "not JSON"),
        ("note", {"text": "x"}, {"text": "x", "loud": True}, "unknown parameter 'loud'"),
    ],
)
async def test_dates_and_bad_bytes_in_an_edit_are_refused(
    name: str, arguments: dict[str, Any], wrong: dict[str, Any], why: str
) -> None:
    model = ScriptedModel(call(name, **arguments), ".")
    runner = Runner(Agent(name="a", model=model, tools=[book, note]))
    paused = await runner.run("go", session_id="s")
    with pytest.raises(UsageError, match=why):
        await runner.answer("s", paused.pending[0].call_id, Approve(arguments=wrong))
    assert await runner.answer("s", paused.pending[0].call_id, Approve()) == "accepted"
    assert (await runner.resume("s")).status == "done"
    assert len(ran) == 1


async def test_whatever_a_tools_own_parse_raises_refuses_the_edit() -> None:
    def parse(raw: str) -> Args:
        if "odd" in raw:
            raise RuntimeError("this tool has other ideas")
        return {"x": raw}

    async def run(args: Args, ctx: ToolContext) -> Output:
        return Output(text="ran")

    own = with_confirmation(Tool(spec=ToolSpec(name="own"), parse=parse, run=run), True)
    runner = Runner(Agent(name="a", model=ScriptedModel(call("own", x=1), "."), tools=[own]))
    paused = await runner.run("go", session_id="s")
    with pytest.raises(UsageError, match="this tool has other ideas"):
        await runner.answer("s", paused.pending[0].call_id, Approve(arguments={"x": "odd"}))
    assert len(await runner.pending("s")) == 1


async def test_an_edit_in_a_run_that_nobody_stores_is_refused_and_the_result_can_be_used_again() -> (
    None
):
    agent = one(pay)
    paused = await agent.run("go")
    answer = {paused.pending[0].call_id: Approve(arguments={"cents": 3})}
    with pytest.raises(UsageError, match="an even number"):
        await agent.resume(paused, answer)
    done = await agent.resume(paused, {paused.pending[0].call_id: Approve(arguments={"cents": 6})})
    assert (done.status, ran) == ("done", [6])


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        ({"where": "id=5"}, "where"),
        ({"where": None}, "where"),
        ({"limit": 5}, "limit"),
        ({"where": "id=5", "limit": 5}, "limit"),
    ],
)
async def test_an_argument_that_an_edit_leaves_out_is_not_dropped_unasked(
    given: dict[str, Any], left_out: str
) -> None:
    def delete(table: str, where: str | None = None, limit: int | None = 1000) -> str:
        """Delete rows."""
        ran.append((table, where, limit))
        return "deleted"

    asking = FunctionTool(delete, require_confirmation=True)
    model = ScriptedModel(call("delete", table="users", **given), ".")
    runner = Runner(Agent(name="a", model=model, tools=[asking]))
    [pending] = (await runner.run("go", session_id="s")).pending
    edit = {name: part for name, part in pending.arguments.items() if name != left_out}
    await runner.answer("s", pending.call_id, Approve(arguments={**edit, "table": "tmp"}))
    [again] = (await runner.resume("s")).pending
    assert again.arguments["table"] == "tmp"
    assert f"Asked again: with the arguments that were written, {left_out!r} would be" in again.hint
    assert "Asked again" not in pending.hint
    assert again.arguments.get(left_out, "not there") != given[left_out]
    assert ran == []
    await runner.answer("s", again.call_id, Approve())
    assert (await runner.resume("s")).status == "done"
    assert len(ran) == 1


@tool
def spend(cents: int) -> str:
    """Spend it."""
    raise AssertionError("a hook answers")


class Order(BaseModel):
    to: str
    note: str = "none"
    tags: Annotated[list[str], AfterValidator(lambda tags: tags[:1])] = ["a"]


@tool(require_confirmation=True)
def send(order: Order, cents: int) -> str:
    """Send it."""
    raise AssertionError("it was never approved")


NEW = "would be as it is shown now, which is neither what was written nor what was last shown"
KNOWN = "would not be as it was written but as it was last shown; a yes without a change"


@pytest.mark.parametrize(
    ("edits", "hints"),
    [
        (
            [{"order": {"to": "bob"}}] * 3,
            [f"written, 'order.note', 'order.tags' {NEW}."]
            + [f"written, 'order.note', 'order.tags' {KNOWN}"] * 2,
        ),
        (
            [
                {"order": {"to": "bob", "tags": []}},
                {"order": {"to": "eve"}},
                {"order": {"to": "eve"}},
            ],
            [
                f"written, 'order.note' {NEW}.",
                f"written, 'order.tags' {NEW}; 'order.note' {KNOWN}",
                f"written, 'order.note', 'order.tags' {KNOWN}",
            ],
        ),
        # A list of two becomes one of one, of which an item is not what was shown.
        (
            [{"order": {"to": "ann", "note": "urgent", "tags": ["z", "y"]}}] * 2,
            [f"written, 'order.tags' {NEW}.", f"written, 'order.tags' {KNOWN}"],
        ),
    ],
)
async def test_a_question_asked_again_says_what_is_new_and_what_was_shown(
    edits: list[Any], hints: list[str]
) -> None:
    order = {"to": "ann", "note": "urgent", "tags": ["x", "y"]}
    model = ScriptedModel(call("send", order=order, cents=1), ".")
    runner = Runner(Agent(name="a", model=model, tools=[send]))
    [pending] = (await runner.run("go", session_id="s")).pending
    for edit, hint in zip(edits, hints, strict=True):
        await runner.answer("s", pending.call_id, Approve(arguments={**edit, "cents": 1}))
        [pending] = (await runner.resume("s")).pending
        assert f"(Asked again: with the arguments that were {hint}" in pending.hint


async def test_a_question_asked_again_compares_with_the_question_before_it() -> None:
    passes: list[int] = []

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        passes.append(1)
        args["number"] = len(passes)
        args["note"] = args["note"] if len(passes) == 1 else "made"

    @tool(require_confirmation=True)
    def write(number: int, note: str) -> str:
        """Write it down."""
        raise AssertionError("it was never approved")

    model = ScriptedModel(call("write", number=0, note="asked"), ".")
    runner = Runner(
        Agent(name="a", model=model, tools=[write]), hooks=Hooks(before_tool=before_tool)
    )
    [pending] = (await runner.run("go", session_id="s")).pending
    edit = Approve(arguments={**pending.arguments, "note": "written"})
    for answer, hint in (
        (edit, f"'number', 'note' {NEW}.)"),
        (Approve(), f"'number' {NEW}; 'note' {KNOWN}"),
    ):
        await runner.answer("s", pending.call_id, answer)
        [pending] = (await runner.resume("s")).pending
        assert f"(Asked again: with the arguments that were written, {hint}" in pending.hint


async def test_a_node_that_a_hook_answers_hands_on_the_answer_without_the_note_on_a_change() -> (
    None
):
    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Any:
        if tool.name == "heard":
            return None
        if ctx.tool_confirmation is None:
            return ctx.request_confirmation(hint="May it be answered?")
        return f"{args['cents']} are enough"

    def heard(text: str) -> str:
        ran.append(text)
        return text

    nodes = {"spend": spend, "heard": heard}
    flow = Workflow(name="w", nodes=nodes, edges=[("start", "spend"), ("spend", "heard")])
    runner = Runner(flow, hooks=Hooks(before_tool=before_tool))
    [pending] = (await runner.run("2", session_id="s")).pending
    await runner.answer("s", pending.call_id, Approve(arguments={"cents": 6}))
    assert (await runner.resume("s")).status == "done"
    assert ran == ["6 are enough"]


async def test_an_edit_of_a_task_is_checked_where_its_agent_is_registered(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    async with Orchestrator(url) as here:
        here.register(one(pay))
        task = await here.enqueue("payer", "go")
        async with anyio.create_task_group() as group:
            group.start_soon(here.worker().run)
            with anyio.fail_after(20):
                while not (asked := await here.pending(task)):
                    await here.changed(1.0)
            group.cancel_scope.cancel()
        [(_, waiting)] = asked
        with pytest.raises(UsageError, match="an even number"):
            await here.answer(
                task_id=task,
                tool_call_id=waiting.call_id,
                result=Approve(arguments={"cents": 3}),
            )
        assert len(await here.pending(task)) == 1


async def test_a_process_that_has_only_the_store_checks_the_schema_and_the_tool_asks_again(
    tmp_path: Path,
) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    runner = Runner(one(pay), store=address)
    paused = await runner.run("go", session_id="s")
    call_id = paused.pending[0].call_id
    async with Runner(Agent(name="nobody"), store=address) as elsewhere:
        with pytest.raises(UsageError, match="cents"):
            await elsewhere.answer("s", call_id, Approve(arguments={"cents": "many"}))
        assert await elsewhere.answer("s", call_id, Approve(arguments={"cents": 3})) == "accepted"
    again = await runner.resume("s")
    assert (again.status, ran) == ("paused", [])
    assert "an even number" in again.pending[0].hint
    assert again.pending[0].call_id == f"{call_id}~2"
    await runner.close()


async def test_a_toolset_that_cannot_be_listed_leaves_the_schema_to_check_an_edit_with(
    tmp_path: Path,
) -> None:
    class Broken(Shop):
        broken = False

        async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
            if self.broken:
                raise ConnectionError("the server is away")
            return [pay]

    shop = Broken()
    runner = Runner(one(shop))
    paused = await runner.run("go", session_id="s")
    shop.broken = True
    call_id = paused.pending[0].call_id
    with pytest.raises(UsageError, match="cents"):
        await runner.answer("s", call_id, Approve(arguments={"cents": "many"}))
    assert await runner.answer("s", call_id, Approve(arguments={"cents": 4})) == "accepted"


async def test_the_tool_of_the_agent_that_asks_decides_though_another_has_one_of_the_same_name() -> (
    None
):
    def lenient(cents: int) -> str:
        """Pay."""
        ran.append(cents)
        return "paid"

    inner = Agent(
        name="inner",
        model=ScriptedModel(call("pay", cents=2), "."),
        tools=[FunctionTool(lenient, name="pay", require_confirmation=True)],
    )
    model = ScriptedModel(call("inner", request="x"), ".")
    runner = Runner(Agent(name="outer", model=model, tools=[pay, AgentTool(inner)]))
    paused = await runner.run("go", session_id="s")
    edit = Approve(arguments={"cents": 3})
    assert await runner.answer("s", paused.pending[0].call_id, edit) == "accepted"
    await runner.resume("s")
    assert ran == [3]
