"""A call that has its result and a question of its function open: neither id ever answers the other."""

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests._postgres import new_database
from tests.cli.program import here
from tests.serve._serving import serving
from tests.serve._web import run_sources

from toolwright import (
    Agent,
    Approve,
    Hooks,
    LongRunningFunctionTool,
    Reject,
    Runner,
    ToolContext,
    UsageError,
    deferred_tool,
    get_user_choice,
)
from toolwright.backends import MemoryStore, OpenCall, waited_for
from toolwright.errors import StoreError
from toolwright.messages import (
    Answered,
    Event,
    Given,
    Pending,
    PendingAnswered,
    Scope,
    StoredAnswer,
    call_of,
    encode_event,
    question_id,
    question_number,
)
from toolwright.serve import Links, ServeSettings, create_app
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool

pytestmark = pytest.mark.anyio
STORES = ["memory://", "sqlite:///{}/kept.db"]
YES: list[Any] = [Approve(), True, {"kind": "approve"}, Reject(), False, {"kind": "reject"}]


class Shop:
    """Tools that tell a supplier where to bring the result, and then ask the boss."""

    def __init__(self, questions: int = 1) -> None:
        self.questions = questions
        self.told: list[str] = []
        """The ids that the supplier was given, for the result."""
        self.asked: list[str] = []
        """The ids of the questions, as the function knows them."""
        self.ran = 0

    def order(self, tool_context: ToolContext) -> dict[str, str]:
        """Order something."""
        self.told.append(tool_context.pending_id)
        if len(tool_context.answers) < self.questions:
            tool_context.request_confirmation(hint=f"Boss: really? ({len(tool_context.answers)})")
            self.asked.append(tool_context.pending_id)
        else:
            self.ran += 1
        return {"status": "pending"}

    def deferred(self, **settings: Any) -> Tool:
        return deferred_tool(**settings)(self.order)

    def long_running(self, **settings: Any) -> Tool:
        return LongRunningFunctionTool(self.order, **settings)


def clerk(tool: Tool, **settings: Any) -> Agent:
    return Agent(
        name="clerk", model=ScriptedModel(call("order"), *("Done.",) * 3), tools=[tool], **settings
    )


async def open_rows(runner: Runner) -> list[tuple[str, str, bool]]:
    rows = await runner.store.open_calls(runner.app_name, "s")
    return [(row.pending.call_id, row.pending.kind, row.answered) for row in rows]


# -- the id of the result -------------------------------------------------------------------------


@pytest.mark.parametrize("store", STORES, ids=["memory", "sqlite"])
async def test_the_id_of_a_result_never_answers_the_question_of_its_function(
    store: str, tmp_path: Path
) -> None:
    shop = Shop()
    async with Runner(clerk(shop.deferred()), store=store.format(tmp_path)) as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        [told] = shop.told
        assert (asked.kind, asked.call_id, shop.asked) == (
            "confirmation", question_id(told, 2), [asked.call_id]
        )  # fmt: skip
        both = [(told, "result", False), (asked.call_id, "confirmation", False)]
        for value in YES:
            with pytest.raises(UsageError, match=rf"answer that as {asked.call_id!r}.*still waits"):
                await runner.answer("s", told, value)
        assert await open_rows(runner) == both
        assert [p.call_id for p in (await runner.resume("s")).pending] == [asked.call_id]
        assert shop.ran == 0
        assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
        [result] = (await runner.resume("s")).pending
        # It has the id that the supplier was given, before and after.
        assert (result.kind, result.call_id, shop.told, shop.ran) == ("result", told, [told] * 2, 1)
        assert await runner.answer("s", asked.call_id, {"shipped": 7}) == "duplicate"
        assert await runner.answer("s", told, True) == "accepted"
        assert (await runner.resume("s")).status == "done"
        assert await open_rows(runner) == []


async def test_an_answer_is_refused_with_the_open_questions_where_nothing_is_stored() -> None:
    shop = Shop()
    agent = clerk(shop.deferred())
    paused = await agent.run("go")
    with pytest.raises(UsageError, match=rf"No call {shop.told[0]!r} waits.*{shop.asked[0]}"):
        await agent.resume(paused, {shop.told[0]: Approve()})
    waits = await agent.resume(paused, {shop.asked[0]: Approve()})
    assert [(p.kind, p.call_id) for p in waits.pending] == [("result", shop.told[0])]
    assert (await agent.resume(waits, {shop.told[0]: "here"})).status == "done"


async def test_a_function_that_asks_twice_keeps_the_id_of_its_result(tmp_path: Path) -> None:
    shop = Shop(questions=2)
    address = f"sqlite:///{tmp_path}/kept.db"
    for _ in range(2):
        async with Runner(clerk(shop.deferred()), store=address) as runner:
            if not shop.asked:
                await runner.run("go", session_id="s")
            [asked] = await runner.pending("s")
            assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
            last = await runner.resume("s")
    assert [question_number(at) for at in shop.asked] == [2, 3]
    assert [p.call_id for p in last.pending] == [shop.told[0]]
    assert (shop.told, shop.ran) == ([shop.told[0]] * 3, 1)


@pytest.mark.parametrize("store", STORES, ids=["memory", "sqlite"])
async def test_the_supplier_has_its_whole_time_from_when_the_boss_has_answered(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    shop = Shop()
    tool = shop.deferred(timeout=60)
    async with Runner(clerk(tool), store=store.format(tmp_path)) as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        assert asked.deadline is None
        now[0] += 600  # The boss is slow.
        assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
        [result] = (await runner.resume("s")).pending
        assert result.deadline == now[0] + 60
        now[0] += 59
        assert await runner.answer("s", shop.told[0], "here") == "accepted"


async def test_a_branch_waits_for_the_result_of_a_call_whose_question_was_answered() -> None:
    shop = Shop()
    runner = Runner(clerk(shop.deferred()))
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve())
    await runner.resume("s")
    await runner.branch("s", new_id="b")
    assert [(p.kind, p.call_id) for p in await runner.pending("b")] == [("result", shop.told[0])]
    assert await runner.answer("b", shop.told[0], "here") == "accepted"
    assert (await runner.resume("b")).status == "done"


# -- results that come first ----------------------------------------------------------------------


@pytest.mark.parametrize("late", [Approve(), Reject()], ids=["yes", "no"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_result_that_comes_before_the_answer_is_the_result(when: str, late: Any) -> None:
    shop = Shop()
    runner = Runner(clerk(shop.deferred()))
    [asked] = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", shop.told[0], {"shipped": 7}) == "accepted"
    assert await runner.pending("s") == []
    if when == "before":
        assert await runner.answer("s", asked.call_id, late) == "finished"
    done = await runner.resume("s")
    [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    assert (done.status, result.text, shop.ran) == ("done", '{"shipped":7}', 0)
    if when == "after":
        assert await runner.answer("s", asked.call_id, late) == "finished"
    told = await runner.resume("s")
    assert (told.status, shop.ran, await open_rows(runner)) == ("done", 0, [])
    assert await runner.unfinished() == []


# -- results that come after the answer -----------------------------------------------------------

DECIDED_ON = [*STORES, pytest.param("postgres", marks=pytest.mark.postgres)]
ON = ["memory", "sqlite", "postgres"]


def kept(store: str, tmp_path: Path) -> str:
    return new_database() if store == "postgres" else store.format(tmp_path)


@pytest.mark.parametrize("confirmed", [False, True], ids=["", "confirmed-first"])
@pytest.mark.parametrize("store", DECIDED_ON, ids=ON)
async def test_after_a_no_no_result_is_taken(store: str, tmp_path: Path, confirmed: bool) -> None:
    shop = Shop()
    tool = shop.deferred(require_confirmation=confirmed)
    async with Runner(clerk(tool), store=kept(store, tmp_path)) as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        if confirmed:
            await runner.answer("s", asked.call_id, Approve())
            [asked] = (await runner.resume("s")).pending
        assert await runner.answer("s", asked.call_id, Reject(reason="NEVER")) == "accepted"
        for at in (shop.told[0], call_of(shop.told[0])):
            assert await runner.answer("s", at, {"shipped": 1}) == "finished"
        done = await runner.resume("s")
        [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
        assert (result.status, "NEVER" in result.text, shop.ran) == ("denied", True, 0)
        assert [m.kind for m in (await runner.resume("s")).history].count("user") == 1
        assert await runner.answer("s", shop.told[0], {"shipped": 1}) == "finished"
        assert (await open_rows(runner), await runner.unfinished()) == ([], [])


@pytest.mark.parametrize("yes", [Approve(), Approve(arguments={})], ids=["yes", "edited"])
@pytest.mark.parametrize("store", DECIDED_ON, ids=ON)
async def test_after_a_yes_the_result_is_taken_when_the_function_has_run(
    store: str, tmp_path: Path, yes: Approve
) -> None:
    shop = Shop()
    async with Runner(clerk(shop.deferred()), store=kept(store, tmp_path)) as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        assert await runner.answer("s", asked.call_id, yes) == "accepted"
        with pytest.raises(UsageError, match=rf"{asked.call_id!r} is answered.*still waits"):
            await runner.answer("s", shop.told[0], {"shipped": 1})
        [result] = (await runner.resume("s")).pending
        assert (result.call_id, shop.ran) == (shop.told[0], 1)
        assert await runner.answer("s", shop.told[0], {"shipped": 1}) == "accepted"
        assert (await runner.resume("s")).status == "done"


async def test_a_supplier_may_be_quicker_than_the_second_run() -> None:
    said: list[Answered] = []

    @deferred_tool()
    async def order(tool_context: ToolContext) -> None:
        """Order something."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Sure?")
        else:
            said.append(await runner.answer("s", tool_context.pending_id, {"shipped": 1}))

    runner = Runner(clerk(order))
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve())
    assert ((await runner.resume("s")).status, said) == ("done", ["accepted"])


async def test_a_question_and_the_result_are_not_answered_together() -> None:
    shop = Shop()
    runner = Runner(clerk(shop.deferred()))
    [asked] = (await runner.run("go", session_id="s")).pending
    for decision in (Approve(), Reject()):
        with pytest.raises(UsageError, match="still waits"):
            await runner.answer_all("s", {shop.told[0]: {"shipped": 1}, asked.call_id: decision})
    assert [answered for _, _, answered in await open_rows(runner)] == [False, False]


class Overtaking(MemoryStore):
    """Takes an answer to the question when a result has been checked and is about to be stored."""

    first: tuple[str, Any] | None = None

    async def answer(
        self,
        app_name: str,
        session_id: str,
        call_id: str,
        answer: StoredAnswer | None,
        unless: Sequence[tuple[str, str]] = (),
        *,
        born: float | None = None,
    ) -> Answered:
        if self.first and call_id != self.first[0]:
            (at, value), self.first = self.first, None
            assert await super().answer(app_name, session_id, at, value) == "accepted"
        return await super().answer(app_name, session_id, call_id, answer, unless, born=born)


@pytest.mark.parametrize("decision", [Approve(), Reject()], ids=["yes", "no"])
async def test_an_answer_that_overtakes_a_result_decides(decision: Any) -> None:
    shop, store = Shop(), Overtaking()
    runner = Runner(clerk(shop.deferred()), store=store)
    [asked] = (await runner.run("go", session_id="s")).pending
    store.first = (asked.call_id, decision)
    said = await _outcome(runner.answer("s", shop.told[0], {"shipped": 1}))
    assert said == ("refused" if isinstance(decision, Approve) else "finished")
    assert [answered for _, _, answered in await open_rows(runner)] == [False, True]


@pytest.mark.parametrize("decision", [Approve(), Reject()], ids=["yes", "no"])
async def test_a_result_that_overtakes_an_answer_decides(decision: Any) -> None:
    shop, store = Shop(), Overtaking()
    runner = Runner(clerk(shop.deferred()), store=store)
    [asked] = (await runner.run("go", session_id="s")).pending
    store.first = (shop.told[0], Given(value={"shipped": 1}))
    assert await runner.answer("s", asked.call_id, decision) == "finished"
    assert [answered for _, _, answered in await open_rows(runner)] == [True, False]
    done = await runner.resume("s")
    assert (done.text, shop.ran, await open_rows(runner)) == ("Done.", 0, [])


async def test_of_a_batch_whose_result_is_overtaken_nothing_is_taken() -> None:
    """Whatever stands first in it."""
    shop, store = Shop(), Overtaking()
    turn = [call("other"), call("order")]

    @deferred_tool()
    def other() -> None:
        """Do something else."""

    agent = clerk(shop.deferred()).replace(model=ScriptedModel(turn, "Done."))
    runner = Runner(agent.replace(tools=[*agent.tools, other]), store=store)
    paused = await runner.run("go", session_id="s")
    at = {pending.name: pending.call_id for pending in paused.pending}
    store.first = (at["order"], Approve())
    with pytest.raises(UsageError, match="is answered"):
        await runner.answer_all("s", {at["other"]: 1, shop.told[0]: {"shipped": 1}})
    taken = [name for name, _, answered in await open_rows(runner) if answered]
    assert taken == [at["order"]]


async def test_a_task_takes_no_result_after_a_no(tmp_path: Path) -> None:
    shop = Shop()
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        made.register(clerk(shop.deferred()))
        task = await made.enqueue("clerk", "go")
        await worked(made)
        await made.answer(task_id=task, tool_call_id=shop.asked[0], result=Reject())
        late = await made.answer(task_id=task, tool_call_id=shop.told[0], result={"shipped": 1})
        await worked(made)
        assert (late, (await made.status(task)).text, shop.ran) == ("finished", "Done.", 0)


# -- results and answers that cross ---------------------------------------------------------------


class Crossing(MemoryStore):
    """Takes an answer to the question just before the call's result is stored."""

    crossing: tuple[str, Any] | None = None

    async def append(self, scope: Scope, events: Sequence[Event], *more: Any, **named: Any) -> None:
        if self.crossing and any(isinstance(event, PendingAnswered) for event in events):
            (at, answer), self.crossing = self.crossing, None
            assert await self.answer(scope.app_name, "s", at, answer) == "accepted"
        await super().append(scope, events, *more, **named)


async def test_a_yes_that_crosses_with_the_result_is_told_and_nothing_is_stuck() -> None:
    shop, store = Shop(), Crossing()
    runner = Runner(clerk(shop.deferred()), store=store)
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", shop.told[0], "here")
    store.crossing = (asked.call_id, Approve())
    assert (await runner.resume("s")).status == "done"
    told = await runner.resume("s")
    said = [m.text for m in told.history if m.kind == "user"]
    assert said[1:] == [
        f"[Update on call {asked.call_id} of 'order']\n"
        "This call was approved, but it had ended before; the approval has no effect."
    ]
    assert (shop.ran, await open_rows(runner), await runner.unfinished()) == (0, [], [])


# -- long-running tools, and crashes --------------------------------------------------------------


async def test_what_a_long_running_function_has_promised_for_its_result_is_no_question() -> None:
    shop = Shop()
    runner = Runner(clerk(shop.long_running()))
    [asked] = (await runner.run("go", session_id="s")).pending
    assert (asked.call_id, shop.asked) == (question_id(shop.told[0], 2), [asked.call_id])
    for value in YES:
        assert await runner.answer("s", shop.told[0], value) == "unknown"
    assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
    assert (await runner.resume("s")).status == "done"
    [job] = await runner.pending("s")
    assert (job.kind, job.call_id, shop.ran) == ("result", shop.told[1], 1)
    assert job.call_id not in (shop.told[0], asked.call_id)
    # The call's own id leads to its result, and to nothing else.
    assert await runner.answer("s", shop.told[0], "ready") == "accepted"
    assert "ready" in [m.text for m in (await runner.resume("s")).history if m.kind == "user"][-1]


async def test_a_choice_which_hands_out_nothing_is_asked_under_the_id_of_its_call() -> None:
    choose = call("get_user_choice", options=["red", "blue"])
    agent = Agent(name="a", model=ScriptedModel(choose, "Done."), tools=[get_user_choice])
    [asked] = (await Runner(agent).run("go", session_id="s")).pending
    assert (asked.kind, question_number(asked.call_id)) == ("choice", 1)


class Mortal(MemoryStore):
    """Takes nothing more once its process is dead."""

    dead = False

    async def append(self, *given: Any, **named: Any) -> None:
        if self.dead:
            raise StoreError("the process is dead")
        await super().append(*given, **named)


@pytest.mark.parametrize("kind", ["deferred", "long_running"])
async def test_after_a_crash_a_question_has_no_id_that_was_handed_out_before(kind: str) -> None:
    store, told, passes = Mortal(), list[str](), list[str]()

    def order(tool_context: ToolContext) -> dict[str, str]:
        """Order something."""
        told.append(tool_context.pending_id)
        store.dead = len(told) == 1
        return {"status": "pending"}

    def before(ctx: ToolContext, tool: Tool, args: dict[str, Any]) -> None:
        passes.append("")
        if len(passes) > 1 and ctx.tool_confirmation is None:
            ctx.request_confirmation(hint="Once more?")

    made = {"deferred": deferred_tool(idempotent=True), "long_running": _long}[kind](order)
    agent = clerk(made, hooks=Hooks(before_tool=before))
    with pytest.raises(StoreError):
        await Runner(agent, store=store, retry_writes=0).run("go", session_id="s")
    store.dead = False
    runner = Runner(agent, store=store)
    [asked] = (await runner.resume("s")).pending
    assert asked.hint.startswith("Once more? An earlier try of this call was interrupted")
    assert asked.call_id != told[0]
    said = await _outcome(runner.answer("s", told[0], Approve()))
    assert said in ("refused", "unknown")
    assert [p.call_id for p in await runner.pending("s")] == [asked.call_id]
    assert len(told) == 1


def _long(func: Callable[..., Any]) -> Tool:
    return LongRunningFunctionTool(func, idempotent=True)


async def _outcome(answering: Awaitable[Answered]) -> str:
    try:
        return await answering
    except UsageError:
        return "refused"


# -- every surface --------------------------------------------------------------------------------


@asynccontextmanager
async def served(shop: Shop) -> Any:
    settings = ServeSettings(requests_per_second=0, agui=True)
    with serving(create_app(Runner(clerk(shop.deferred())), settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            body = {"id": "m1", "role": "user", "content": "go"}
            reply = await http.post(
                "/agui", json={"threadId": "s", "runId": "r", "messages": [body]}
            )
            assert reply.status_code == 200, reply.text
            yield http


async def test_over_http_and_ag_ui_the_id_of_the_result_answers_no_question() -> None:
    shop = Shop()
    async with served(shop) as http:
        listed = (await http.get("/api/pending")).json()
        assert [found["pending"]["call_id"] for found in listed] == shop.asked
        for answer in ({"kind": "approve"}, {"kind": "reject", "reason": "no"}):
            body = {"call_id": shop.told[0], "answer": answer}
            refused = await http.post("/api/sessions/s/answers", json=body)
            assert (refused.status_code, shop.asked[0] in refused.text) == (422, True), refused.text
        events = (await http.get("/api/sessions/s/events")).json()
        opened = [event["pending"] for event in events if event["type"] == "pending_opened"]
        assert [pending["call_id"] for pending in opened] == [shop.told[0], shop.asked[0]]
        ids = [f"{pending['call_id']}.{pending['key'][:16]}" for pending in opened]
        for payload in (True, {"approved": True}, {"approved": False}, "yes", {"shipped": 1}):
            resume = [{"interruptId": ids[0], "status": "resolved", "payload": payload}]
            body = {"threadId": "s", "runId": "r2", "messages": [], "resume": resume}
            refused = await http.post("/agui", json=body)
            assert (refused.status_code, ids[1] in refused.text) == (422, True), refused.text
        listed = (await http.get("/api/pending")).json()
    assert ([found["pending"]["call_id"] for found in listed], shop.ran) == (shop.asked, 0)


async def test_a_link_made_for_the_result_is_none_for_the_question() -> None:
    links, made = Links("a secret of some length", "http://bank.example"), list[str]()

    @deferred_tool()
    def order(tool_context: ToolContext) -> None:
        """Order something."""
        if tool_context.tool_confirmation is None:
            made.append(links.answer(tool_context, {"kind": "approve"}))
            tool_context.request_confirmation(hint="Sure?")
            made.append(links.answer(tool_context, Approve()))

    runner = Runner(clerk(order))
    [asked] = (await runner.run("go", session_id="s")).pending
    early, late = (links.read(link.rpartition("/")[2]) for link in made)
    with pytest.raises(UsageError, match="still waits"):
        await runner.answer("s", early.call_id, early.answer)
    assert late.call_id == asked.call_id


async def test_a_task_waits_for_the_boss_and_then_for_the_result(tmp_path: Path) -> None:
    shop = Shop()
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        made.register(clerk(shop.deferred(timeout=3600)))
        task = await made.enqueue("clerk", "go")
        await worked(made)
        assert [p.call_id for _, p in await made.pending(task)] == shop.asked
        for value in YES:
            with pytest.raises(UsageError, match="still waits"):
                await made.answer(task_id=task, tool_call_id=shop.told[0], result=value)
        assert (await made.status(task)).status == "PENDING_TOOL_RESULTS"
        await made.answer(task_id=task, tool_call_id=shop.asked[0], result=Approve())
        assert (await made.status(task)).status == "QUEUED"
        await worked(made)
        assert (await made.status(task)).status == "PENDING_TOOL_RESULTS"
        assert [(p.kind, p.call_id) for _, p in await made.pending(task)] == [
            ("result", shop.told[0])
        ]
        await made.answer(task_id=task, tool_call_id=shop.told[0], result="here")
        await worked(made)
        assert ((await made.status(task)).text, shop.ran) == ("Done.", 1)


async def worked(made: Orchestrator) -> None:
    worker = made.worker()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        with anyio.fail_after(20), made.bell.listen() as ear:
            while any(task.status in ("QUEUED", "ACTIVE") for task in await made.list()):
                await ear.wait(0.05)
        worker.drain()


CLERK = '''
from dataclasses import replace

from toolwright import Agent, ToolContext, deferred_tool
from toolwright.testing import ScriptedModel, call


@deferred_tool()
def order(tool_context: ToolContext) -> None:
    """Order something."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sure?")


agent = Agent(name="agent", model=ScriptedModel(replace(call("order"), call_id="c1"), "Done."), tools=[order])
'''


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "shop_clerk.py").write_text(CLERK)
    return tmp_path


def test_on_the_command_line_the_id_of_the_result_answers_no_question(desk: Path) -> None:
    agent = ("--agent", "shop_clerk:agent")
    run = here("run", "go", *agent, cwd=desk, check=3)
    session = here("sessions", "list", "shop_clerk:agent", cwd=desk).stdout.split()[0]
    assert "c1~2" in run.stdout + run.stderr
    refused = here("sessions", "answer", session, "c1", "approve", *agent, cwd=desk, check=2)
    assert "c1~2" in refused.stderr
    shown = here("sessions", "show", session, *agent, cwd=desk).stdout
    assert "c1~2  order (confirmation)" in shown


async def test_the_page_shows_the_result_as_waited_for_when_the_question_is_answered() -> None:
    shop = Shop()
    runner = Runner(clerk(shop.deferred()))
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve())
    await runner.resume("s")
    script = """
        import { Conversation } from "./conversation.ts";
        const page = new Conversation(), shown = [];
        for (const event of given) {
            page.apply(event, event);
            const call = page.blocks.find((block) => block.kind === "turn")?.calls[0];
            shown.push([event.type, call?.state, call?.pending?.kind]);
        }
        send(shown.filter(([type]) => type.startsWith("pending_")));
    """
    events = [json.loads(encode_event(event)) for event in await runner.events("s")]
    assert run_sources(script, events) == [
        ["pending_opened", "waiting", "result"],
        ["pending_opened", "waiting", "confirmation"],
        ["pending_answered", "running", None],
        ["pending_changed", "waiting", "result"],
        ["pending_changed", "waiting", "result"],
    ]


# -- what a call waits for ------------------------------------------------------------------------


def row(number: int, kind: Any = "result", session: str = "s", **fields: Any) -> OpenCall:
    pending = Pending(call_id=question_id("c", number), name="order", kind=kind)
    scope = Scope(app_name="app", user_id="ada", session_id=session)
    return OpenCall(scope=scope, pending=pending, **fields)


def test_a_call_waits_for_its_latest_question_that_nobody_has_answered() -> None:
    result, question = row(1), row(2, "confirmation")
    assert waited_for([result, question]) == [question]
    taken = row(2, "confirmation", answered=True)
    assert waited_for([result, taken]) == [result]
    untaken = row(2, "confirmation", answered=True, answer=Approve())
    assert waited_for([result, untaken]) == []
    assert waited_for([row(1, answered=True, answer=Given(value=1)), question]) == []
    assert waited_for([result, row(2, "confirmation", session="another")]) == [
        result, row(2, "confirmation", session="another")
    ]  # fmt: skip
