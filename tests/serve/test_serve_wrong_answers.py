"""Over HTTP and AG-UI, an answer that cannot be used is a 422 with the reason, and the call waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
import httpx2
import pytest
from pydantic import AfterValidator
from tests.serve._serving import listening, new_session, say, serving, until

from toolwright import Agent, AuthConfig, AuthenticatedFunctionTool, CustomAuthScheme, Runner, tool
from toolwright.builtin import ask_user, get_user_choice
from toolwright.messages import AuthCredential, ModelMessage, TextPart, ToolCall, UserMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.serve import ServeSettings, create_app
from toolwright.tasks import Orchestrator

pytestmark = pytest.mark.anyio


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("an even number of cents, please")
    return number


@tool(require_confirmation=True)
def pay(cents: Annotated[int, AfterValidator(_even)]) -> str:
    """Pay."""
    return f"paid {cents}"


def fetch(credential: AuthCredential) -> str:
    """Fetch."""
    return f"fetched with {len(credential.api_key or '')} characters"


KEY = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="X-Key"),
    credential_key="shop",
)
TOOLS = [pay, ask_user, get_user_choice, AuthenticatedFunctionTool(func=fetch, auth_config=KEY)]
CALLS = {
    "pay": '{"cents": 2}',
    "fetch": "{}",
    "ask_user": '{"question": "Which city?"}',
    "get_user_choice": '{"options": ["tea", "coffee"]}',
}
WRONG = [
    ("pay", {"kind": "approve", "arguments": {"cents": 3}}, "an even number of cents, please"),
    ("pay", {"kind": "value", "value": "yes"}, "waits for a confirmation"),
    ("pay", {"kind": "value", "value": True}, "waits for a confirmation"),
    ("pay", {"kind": "value", "value": {"kind": "approve"}}, "waits for a confirmation"),
    ("pay", {"kind": "approve", "remember": 1}, "remember"),
    ("pay", {"kind": "approve", "remember": "true"}, "remember"),
    ("pay", {"kind": "approve", "remember": "forever"}, "remember"),
    ("pay", {"kind": "approve", "argumnets": {"cents": 4}}, "argumnets"),
    ("pay", {"kind": "approve", "reason": "NO"}, "reason"),
    ("pay", {"kind": "approve", "arguments": [["cents", 4]]}, "arguments"),
    ("pay", {"kind": "reject", "reason": 5}, "reason"),
    ("pay", {"kind": "reject", "arguments": {"cents": 4}}, "arguments"),
    ("pay", {"kind": "Approve"}, "kind"),
    ("pay", True, "answer"),
    ("fetch", {"kind": "value", "value": {"access_token": None}}, "no credential"),
    ("fetch", {"kind": "value", "value": {"api_key": ""}}, "no credential"),
    ("fetch", {"kind": "approve"}, "no credential"),
    ("ask_user", {"kind": "value", "value": 5}, "a text is wanted"),
    ("ask_user", {"kind": "approve"}, "an approval is not"),
    ("get_user_choice", {"kind": "value", "value": "wine"}, "wine"),
]


class Caller:
    """Calls the tools that the person names, then says what came of the first."""

    name = "scripted:caller"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        last = request.history[-1]
        if isinstance(last, UserMessage):
            calls = [
                ToolCall(call_id=f"c{number}", name=name, arguments=CALLS[name])
                for number, name in enumerate(last.text.split(), 1)
            ]
            return ModelMessage(parts=tuple(calls), finish_reason="calls")
        return ModelMessage(parts=(TextPart(last.results[0].text),))  # type: ignore[union-attr]


@asynccontextmanager
async def client(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    agent = Agent(name="caller", model=Caller(), tools=TOOLS)
    orchestrator = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    orchestrator.register(agent, credentials="memory://")
    runner = Runner(agent, credentials="memory://")
    settings = ServeSettings(requests_per_second=0, agui=True, work=True)
    with serving(create_app(runner, settings=settings, tasks=orchestrator)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            yield http


async def asked(http: httpx2.AsyncClient, place: str, number: str) -> dict[str, Any]:
    """What a session or a task waits for, once it does."""
    async with listening(http, f"/api/{place}s/{number}/stream") as frames:
        await until(frames, "run_ended", status="paused")
    return await waiting(http, number)


async def waiting(http: httpx2.AsyncClient, number: str) -> dict[str, Any]:
    [found] = [one for one in (await http.get("/api/pending")).json() if one["id"] == number]
    return found


@pytest.mark.parametrize("place", ["session", "task"])
async def test_sessions_and_tasks_refuse_wrong_answers(place: str, tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        for name in CALLS:
            number = await (new_session(http) if place == "session" else enqueue(http, name))
            if place == "session":
                await say(http, number, name)
            before = await asked(http, place, number)
            for answer, why in [(answer, why) for of, answer, why in WRONG if of == name]:
                body = {"call_id": "c1", "answer": answer}
                reply = await http.post(f"/api/{place}s/{number}/answers", json=body)
                assert (reply.status_code, why in reply.text) == (422, True), reply.text
                assert await waiting(http, number) == before


async def enqueue(http: httpx2.AsyncClient, message: str) -> str:
    reply = await http.post("/api/tasks", json={"agent": "caller", "message": message})
    return reply.json()["id"]


async def test_a_field_that_is_there_twice_is_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    async with client(tmp_path) as http:
        session = await new_session(http)
        await say(http, session, "pay")
        before = await asked(http, "session", session)
        for answer in (
            '"kind": "reject", "kind": "approve"',
            '"kind": "approve", "kind": "approve"',
        ):
            reply = await http.post(
                f"/api/sessions/{session}/answers",
                content=f'{{"call_id": "c1", "answer": {{{answer}}}}}',
                headers={"Content-Type": "application/json"},
            )
            assert (reply.status_code, "more than once" in reply.text) == (422, True), reply.text
        assert await waiting(http, session) == before


async def agui(
    http: httpx2.AsyncClient, thread: str, message: str = "", resume: Any = ()
) -> httpx2.Response:
    """A message to a thread, or answers to what it waits for."""
    messages = [{"id": "m", "role": "user", "content": message}] if message else []
    entries = [entry | {"interruptId": await interrupt(http, thread, entry)} for entry in resume]
    body = {"threadId": thread, "runId": "r", "messages": messages, "resume": entries}
    return await http.post("/agui", json=body)


async def interrupt(http: httpx2.AsyncClient, thread: str, entry: dict[str, Any]) -> str:
    """The id under which AG-UI shows the call of an entry; as it is when it does not wait."""
    waits = [
        one["pending"] for one in (await http.get("/api/pending")).json() if one["id"] == thread
    ]
    keys = {pending["call_id"]: pending["key"] for pending in waits}
    at = entry["interruptId"]
    return f"{at}.{keys[at][:16]}" if at in keys else at


def resolved(payload: Any, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"interruptId": call_id, "status": "resolved", "payload": payload, **more}


async def test_ag_ui_refuses_wrong_answers(tmp_path: Path) -> None:
    payloads = [
        ("pay", {"approved": True, "arguments": {"cents": 3}}, "an even number of cents, please"),
        ("pay", {"approved": True, "arguments": "all"}, "the arguments are an object"),
        ("fetch", {"access_token": None}, "no credential"),
        ("ask_user", {"answer": "Oslo"}, "a text is wanted"),
        ("get_user_choice", "wine", "wine"),
    ]
    async with client(tmp_path) as http:
        for number, (name, payload, why) in enumerate(payloads):
            assert (await agui(http, f"t{number}", name)).status_code == 200
            before = await waiting(http, f"t{number}")
            reply = await agui(http, f"t{number}", resume=[resolved(payload)])
            assert (reply.status_code, why in reply.text) == (422, True), reply.text
            assert await waiting(http, f"t{number}") == before


CONTRADICTIONS: list[list[dict[str, Any]]] = [
    [resolved({"approved": True, "args": {"cents": 4}})],
    [resolved({"approved": True, "argumnets": {"cents": 4}})],
    [resolved({"approved": True, "denied": True})],
    [resolved({"approved": True, "reason": "NO"})],
    [resolved({"approved": False, "arguments": {"cents": 4}})],
    [resolved({"approved": False, "reason": 5})],
    [resolved({"approved": True, "remember": 1})],
    [resolved({"approved": True, "remember": "forever"})],
    [resolved({"approved": True, "kind": "reject"})],
    [resolved({"kind": "approve"})],
    [resolved({"approved": [True]})],
    [resolved({"approved": 1.0})],
    [resolved(True, denied=True)],
    [resolved(True, interrupt_id="c2")],
    [{"interruptId": "c1", "status": "cancelled", "payload": True}],
    [resolved(True), resolved(False)],
    [resolved(False), resolved(True)],
    [resolved(True), resolved(True)],
    [resolved(True), {"interruptId": "c1", "status": "cancelled"}],
    [resolved(True), resolved("maybe", "c2")],
    [resolved(True), resolved({"approved": True, "arguments": {"cents": 3}}, "c2")],
    [resolved(True), resolved({"approved": True, "remember": "source"}, "c2")],
]


async def test_contradictory_answers_refuse_the_whole_request_and_nothing_runs(
    tmp_path: Path,
) -> None:
    async with client(tmp_path) as http:
        assert (await agui(http, "t", "pay pay")).status_code == 200

        async def waits() -> list[str]:
            found = [one for one in (await http.get("/api/pending")).json() if one["id"] == "t"]
            return [one["pending"]["call_id"] for one in found]

        for entries in CONTRADICTIONS:
            reply = await agui(http, "t", resume=entries)
            assert (reply.status_code, "wait" in reply.text) == (422, True), (entries, reply.text)
            assert await waits() == ["c1", "c2"], entries
        unknown = await agui(http, "t", resume=[resolved(True), resolved(True, "c3")])
        assert (unknown.status_code, await waits()) == (404, ["c1", "c2"])
        events = (await http.get("/api/sessions/t/events")).json()
        assert not [event for event in events if event["type"] == "pending_answered"]
        both = [resolved({"approved": False, "reason": "no"}, "c2"), resolved(True)]
        assert "paid 2" in (await agui(http, "t", resume=both)).text
        assert (await agui(http, "u", "pay fetch")).status_code == 200
        mixed = [resolved(True), resolved({"access_token": None}, "c2")]
        assert (await agui(http, "u", resume=mixed)).status_code == 422
        found = [one for one in (await http.get("/api/pending")).json() if one["id"] == "u"]
        assert len(found) == 2, "a credential that is none keeps the others from being taken"


async def test_whoever_signs_in_too_late_is_told_so_and_all_sessions_go_on(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        sessions = [await new_session(http) for _ in range(3)]
        for session in sessions:
            await say(http, session, "fetch")
            await asked(http, "session", session)
        statuses: list[int] = []

        async def answer(session: str) -> None:
            body = {"call_id": "c1", "answer": {"kind": "value", "value": "a-good-key"}}
            reply = await http.post(f"/api/sessions/{session}/answers", json=body)
            statuses.append(reply.status_code)

        async with anyio.create_task_group() as group:
            for session in sessions:
                group.start_soon(answer, session)
        assert sorted(statuses) == [200, 409, 409]
        for session in sessions:
            async with listening(http, f"/api/sessions/{session}/stream") as frames:
                seen = await until(frames, "run_ended", status="done")
            assert seen[-1]["data"]["text"] == "fetched with 10 characters"
