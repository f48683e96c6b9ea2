"""AG-UI front ends: their events are valid, in order, and interrupts are answered by resuming."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter
from tests.serve._serving import serving
from tests.serve._workbench import bench_runner

from toolwright import Agent, AgentTool, FunctionTool, Rule, Runner, ToolContext, rules
from toolwright.backends import MemoryStore
from toolwright.errors import StoreError
from toolwright.messages import (
    ModelMessage,
    ModelReplied,
    RunEnded,
    RunStarted,
    TextDelta,
    TextPart,
    ToolCall,
)
from toolwright.serve import ServeSettings, create_app
from toolwright.serve.agui import Translator
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    settings = ServeSettings(requests_per_second=0, agui=True)
    with serving(create_app(bench_runner(), settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            yield http


async def run(http: httpx2.AsyncClient, message: str = "", **fields: Any) -> list[dict[str, Any]]:
    messages = [{"id": "m1", "role": "user", "content": message}] if message else []
    body = {"threadId": "t", "runId": "r", "messages": messages, **fields}
    reply = await http.post("/agui", json=body)
    assert reply.status_code == 200, reply.text
    lines = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    for event in events:
        TypeAdapter(Event).validate_python(event)
    return events


async def test_a_run_is_streamed_as_the_protocol_has_it() -> None:
    async with client() as http:
        events = await run(http, "parallel")
    kinds = [event["type"] for event in events]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert kinds.count("TOOL_CALL_START") == kinds.count("TOOL_CALL_RESULT") == 3
    text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert text.strip() == "All three are back."
    start, end = kinds.index("TEXT_MESSAGE_START"), kinds.index("TEXT_MESSAGE_END")
    assert set(kinds[start + 1 : end]) == {"TEXT_MESSAGE_CONTENT"}
    assert events[-1]["outcome"] == {"type": "success"}


async def test_a_pending_call_is_an_interrupt_and_resuming_answers_it() -> None:
    async with client() as http:
        paused = await run(http, "wipe")
        [interrupt] = paused[-1]["outcome"]["interrupts"]
        assert (interrupt["reason"], interrupt["metadata"]["arguments"]) == (
            "confirmation",
            {"target": "staging", "force": False},
        )
        assert interrupt["metadata"]["rule"] == "require_confirmation of tool 'wipe'"
        answer = {
            "interruptId": interrupt["id"],
            "status": "resolved",
            "payload": {"approved": True, "arguments": {"target": "a shelf"}},
        }
        resumed = await run(http, resume=[answer])
    [result] = [event for event in resumed if event["type"] == "TOOL_CALL_RESULT"]
    assert "wiped a shelf" in result["content"]
    assert resumed[-1]["outcome"] == {"type": "success"}


async def test_a_cancelled_interrupt_is_a_rejection() -> None:
    async with client() as http:
        [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
        resumed = await run(http, resume=[{"interruptId": interrupt["id"], "status": "cancelled"}])
    [result] = [event for event in resumed if event["type"] == "TOOL_CALL_RESULT"]
    assert "rejected" in result["content"]


async def test_state_changes_are_json_patches() -> None:
    async with client() as http:
        events = await run(http, "plan")
    [delta] = [event["delta"] for event in events if event["type"] == "STATE_DELTA"]
    assert (delta[0]["op"], delta[0]["path"]) == ("add", "/todos")


async def test_a_request_without_a_message_is_told_what_is_missing() -> None:
    async with client() as http:
        body = {"threadId": "t", "runId": "r", "messages": []}
        reply = await http.post("/agui", json=body)
    assert reply.status_code == 422
    assert "last message must be the user's" in reply.json()["detail"]


async def resume(http: httpx2.AsyncClient, *answers: dict[str, Any]) -> httpx2.Response:
    body = {"threadId": "t", "runId": "again", "messages": [], "resume": answers}
    return await http.post("/agui", json=body)


async def test_arguments_are_edited_by_the_name_that_the_protocol_recommends() -> None:
    async with client() as http:
        [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
        edited = {"approved": True, "editedArgs": {"target": "a shelf"}}
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": edited}
        both = {**answer, "payload": {**edited, "arguments": {"target": "all"}}}
        refused = await resume(http, both)
        assert (refused.status_code, "send one" in refused.json()["detail"]) == (422, True)
        no = {**answer, "payload": {"approved": False, "editedArgs": {}}}
        assert (await resume(http, no)).status_code == 422
        resumed = await run(http, resume=[answer])
    [result] = [event for event in resumed if event["type"] == "TOOL_CALL_RESULT"]
    assert "wiped a shelf" in result["content"]


async def test_the_same_answer_again_shows_the_same_run_and_runs_nothing() -> None:
    async with client() as http:
        [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
        edited = {"approved": True, "arguments": {"target": "a shelf"}}
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": edited}
        first = await run(http, resume=[answer])
        await run(http, "parallel")
        before = (await http.get("/api/sessions/t/events")).json()
        again = await run(http, resume=[answer])
        after = (await http.get("/api/sessions/t/events")).json()
    assert after == before
    shown = [[e for e in events if e["type"] == "TOOL_CALL_RESULT"] for events in (first, again)]
    assert shown[0] == shown[1] != []
    assert [again[0]["type"], again[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
    assert again[-1] == first[-1]


async def test_the_same_answer_again_shows_the_question_that_it_led_to() -> None:
    async def wipe(rows: int, tool_context: ToolContext) -> str:
        """Wipe."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Really?")
        return "wiped"

    model = ScriptedModel(call("wipe", rows=4), "Done.")
    agent = Agent(name="clerk", model=model, tools=[FunctionTool(wipe, require_confirmation=True)])
    settings = ServeSettings(requests_per_second=0, agui=True)
    with serving(create_app(Runner(agent), settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            asked = await run(http, "go")
            for _ in range(2):
                [interrupt] = asked[-1]["outcome"]["interrupts"]
                answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
                first, again = [await run(http, resume=[answer]) for _ in range(2)]
                assert again[-1] == first[-1]
                asked = first
            wrong = await resume(http, {**answer, "payload": False})
    assert asked[-1]["outcome"] == {"type": "success"}
    assert wrong.status_code == 409


async def test_the_same_answer_at_the_same_moment_is_no_other_one() -> None:
    async with client() as http:
        replies: list[int] = []

        async def send(answer: dict[str, Any]) -> None:
            replies.append((await resume(http, answer)).status_code)

        for _ in range(5):
            [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
            answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(send, answer)
    assert replies == [200] * 20


async def test_another_answer_to_the_same_call_is_refused() -> None:
    async with client() as http:
        [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
        await run(http, resume=[answer])
        before = (await http.get("/api/sessions/t/events")).json()
        others = [
            {**answer, "payload": False},
            {**answer, "payload": {"approved": True, "editedArgs": {"target": "all"}}},
            {**answer, "payload": {"approved": True, "editedArgs": {"wrong": 1}}},
            {"interruptId": interrupt["id"], "status": "cancelled"},
        ]
        refused = [await resume(http, other) for other in others]
        unknown = await resume(http, {**answer, "interruptId": "nobody"})
        assert (await http.get("/api/sessions/t/events")).json() == before
    assert [reply.status_code for reply in refused] == [409] * 4
    assert "the first answer holds" in refused[0].json()["detail"]
    assert unknown.status_code == 404


async def test_one_answer_again_beside_calls_that_still_wait() -> None:
    async def pay(cents: int) -> str:
        """Pay."""
        return f"paid {cents}"

    model = ScriptedModel([call("pay", cents=1), call("pay", cents=2)], "Done.")
    agent = Agent(name="clerk", model=model, tools=[FunctionTool(pay, require_confirmation=True)])
    settings = ServeSettings(requests_per_second=0, agui=True)
    with serving(create_app(Runner(agent), settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            interrupts = (await run(http, "go"))[-1]["outcome"]["interrupts"]
            one, two = (
                {"interruptId": each["id"], "status": "resolved", "payload": True}
                for each in interrupts
            )
            for _ in range(2):
                still = await run(http, resume=[one])
                assert [i["id"] for i in still[-1]["outcome"]["interrupts"]] == [two["interruptId"]]
            assert (await resume(http, {**one, "payload": False}, two)).status_code == 409
            ended = await run(http, resume=[one, two])
    results = [event["content"] for event in ended if event["type"] == "TOOL_CALL_RESULT"]
    assert results == ["paid 1", "paid 2"]


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "no",
        "true",
        0,
        1,
        [],
        "",
        {},
        {"approved": "true"},
        {"approved": 1},
        {"approve": True},
        {"approved": "false"},
        {"approved": None},
        {"accepted": False},
        {"confirmed": True},
        {"decision": "reject"},
        {"rejected": True},
        "reject",
    ],
)
async def test_what_is_neither_a_yes_nor_a_no_is_refused_and_the_call_still_waits(
    payload: Any,
) -> None:
    async with client() as http:
        [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
        body = {"threadId": "t", "runId": "r2", "messages": [], "resume": [answer]}
        refused = await http.post("/agui", json=body)
        assert refused.status_code == 422
        assert "Accepted are true, false" in refused.json()["detail"]
        resumed = await run(http, resume=[{**answer, "payload": {"approved": False}}])
    [result] = [event for event in resumed if event["type"] == "TOOL_CALL_RESULT"]
    assert "rejected" in result["content"]


async def test_a_bare_yes_is_enough() -> None:
    async with client() as http:
        [interrupt] = (await run(http, "wipe"))[-1]["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
        resumed = await run(http, resume=[answer])
    [result] = [event for event in resumed if event["type"] == "TOOL_CALL_RESULT"]
    assert "wiped staging" in result["content"]


async def test_what_an_agent_inside_a_call_asks_is_an_interrupt_too() -> None:
    def pay(cents: int) -> str:
        """Pay."""
        return f"paid {cents}"

    clerk = Agent(
        name="clerk",
        description="Pays.",
        model=ScriptedModel(call("pay", cents=1), "Paid."),
        tools=[FunctionTool(pay)],
    )
    boss = Agent(
        name="boss",
        model=ScriptedModel(call("clerk", request="pay"), "Done."),
        tools=[AgentTool(clerk)],
        policy=rules(Rule.ask("pay"), otherwise="allow"),
    )
    settings = ServeSettings(requests_per_second=0, agui=True)
    with serving(create_app(Runner(boss), settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            [interrupt] = (await run(http, "go"))[-1]["outcome"]["interrupts"]
            assert (interrupt["metadata"]["tool"], interrupt["metadata"]["rule"]) == (
                "pay",
                "Rule.ask('pay') in the policy of agent 'boss'",
            )
            answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
            assert (await run(http, resume=[answer]))[-1]["outcome"] == {"type": "success"}


async def test_an_old_page_s_resume_answers_nothing_in_a_thread_that_was_begun_anew() -> None:
    paid: list[str] = []

    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return f"paid {to}"

    turns = [
        ModelMessage(
            parts=(ToolCall(call_id="same", name="pay", arguments=f'{{"to": "{payee}"}}'),)
        )
        for payee in ("bob", "mallory")
    ]
    tool = FunctionTool(pay, require_confirmation=True)
    runner = Runner(Agent(name="a", model=ScriptedModel(*turns, "Paid."), tools=[tool]))
    settings = ServeSettings(requests_per_second=0, agui=True)
    with serving(create_app(runner, settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            [old] = (await run(http, "go"))[-1]["outcome"]["interrupts"]
            assert (await http.delete("/api/sessions/t")).status_code == 204
            [new] = (await run(http, "go"))[-1]["outcome"]["interrupts"]
            assert old["toolCallId"] == new["toolCallId"] == "same"
            for interrupt_id in (old["id"], "same"):
                answer = {"interruptId": interrupt_id, "status": "resolved", "payload": True}
                refused = await resume(http, answer)
                assert (refused.status_code, "No interrupt" in refused.text) == (404, True)
            assert len(await runner.pending("t")) == 1
            answer = {"interruptId": new["id"], "status": "resolved", "payload": True}
            for _ in range(2):  # Sent again, it is still known.
                assert (await run(http, resume=[answer]))[-1]["outcome"] == {"type": "success"}
            assert (await resume(http, answer | {"interruptId": old["id"]})).status_code == 404
    assert paid == ["mallory"]


async def test_answers_that_were_taken_before_one_failed_are_gone_on_with() -> None:
    class Forgetful(MemoryStore):
        """Takes the second answer and says that it could not."""

        taken = 0

        async def answer(self, *given: Any, **more: Any) -> Any:
            found = await super().answer(*given, **more)
            self.taken += found == "accepted"
            if self.taken == 2:
                raise StoreError("The connection was lost.")
            return found

    paid: list[int] = []

    def pay(cents: int) -> str:
        """Pay."""
        paid.append(cents)
        return "paid"

    tool = FunctionTool(pay, require_confirmation=True)
    model = ScriptedModel([call("pay", cents=1), call("pay", cents=2)], "Paid.")
    runner = Runner(Agent(name="a", model=model, tools=[tool]), store=Forgetful())
    app = create_app(runner, settings=ServeSettings(requests_per_second=0, agui=True))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            shown = (await run(http, "go"))[-1]["outcome"]["interrupts"]
            yes = {"status": "resolved", "payload": True}
            failed = await resume(http, *[yes | {"interruptId": one["id"]} for one in shown])
            assert failed.status_code == 503, failed.text
            with anyio.fail_after(5):  # The successor would look in ten seconds.
                while len(paid) < 2:
                    await anyio.lowlevel.checkpoint()
    assert sorted(paid) == [1, 2]


@pytest.mark.parametrize("streamed", [[], [TextDelta(text="Well, ")]])
def test_a_run_that_goes_on_after_its_process_died_begins_once(streamed: list[TextDelta]) -> None:
    reply = ModelReplied(message=ModelMessage(parts=(TextPart(text="Done."),)))
    log = [RunStarted(), *streamed, RunStarted(), reply, RunEnded(status="done")]
    translator = Translator("t", "r")
    shown = [translated for event in log for translated in translator.translate(event)]
    kinds = [event.type.value for event in shown]
    assert kinds.count("RUN_STARTED") == 1
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    message = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert kinds[1:-1] == message * (1 + len(streamed))
