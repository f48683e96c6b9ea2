"""Whatever strings a tool makes, such as names of files that are no UTF-8, the server sends them."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import mcp_types as types
import pytest
from ag_ui.core import Event
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from pydantic import TypeAdapter
from tests.serve._serving import serving

from toolwright import Agent, BlobPart, Output, Runner, TextPart, ToolContext, ToolError, tool
from toolwright.serve import ServeSettings, create_app
from toolwright.serve._problems import problem_response
from toolwright.serve.mcp import McpServer
from toolwright.testing import ScriptedModel, call

ANY_TEXT = st.text(st.characters(), max_size=8) | st.text("ab\udcff\ud800\x1a", max_size=5)
NAME = "decoy-\udcff.txt"
SHOWN = "decoy-?.txt"


@tool
async def say(points: list[int], where: str, tool_context: ToolContext) -> Any:
    """Put the text with these code points there."""
    text = "".join(map(chr, points))
    tool_context.progress(text, {text: text})
    match where:
        case "text":
            return text
        case "error":
            raise ToolError(text)
        case "exception":
            raise ValueError(text)
        case "blob":
            return BlobPart(media_type="text/plain", data=b"\xff", name=text)
        case "part":
            return Output(parts=(TextPart(text, source=text),))
        case "state":
            tool_context.state["seen"] = text
        case "question" if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint=text, payload={"names": [text]})
    return "shown", {"names": [text]}


PLACES = ["text", "error", "exception", "blob", "part", "state", "question", "data"]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    model = ScriptedModel(call("say", points=[*map(ord, NAME)], where="question"))
    runner = Runner(Agent(name="a", model=model, tools=[say]), app_name="test")
    app = create_app(runner, settings=ServeSettings(requests_per_second=0, agui=True))
    with serving(app) as address, httpx2.Client(base_url=address, timeout=20) as client:
        yield client


@settings(max_examples=40)
@given(text=ANY_TEXT, where=st.sampled_from(PLACES))
def test_any_text_of_a_tool_can_be_read_in_its_result_its_events_and_the_inbox(
    http: httpx2.Client, text: str, where: str
) -> None:
    body = {"arguments": {"points": [*map(ord, text)], "where": where}}
    done = http.post("/api/tools/say/call", json=body)
    assert done.status_code == 200, done.text
    session = done.json()["session_id"]
    events = http.get(f"/api/sessions/{session}/events")
    assert (events.status_code, events.headers["content-type"]) == (200, "application/json")
    events.content.decode()
    waiting = http.get("/api/pending")
    assert waiting.status_code == 200, waiting.text
    if where == "question":
        [found] = [row["pending"] for row in waiting.json() if row["id"] == session]
        # Between two halves of one character a mark is sent.
        assert found["hint"].replace("\x1a", "") == text.replace("\x1a", "")
        assert found["schema"] is None


def test_what_is_sent_has_the_same_fields_whatever_is_in_it(http: httpx2.Client) -> None:
    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(item) for key, item in value.items() if key != "names"}
        return [shape(item) for item in value] if isinstance(value, list) else type(value)

    def events(text: str) -> list[Any]:
        body = {"arguments": {"points": [*map(ord, text)], "where": "question"}}
        done = http.post("/api/tools/say/call", json=body).json()
        return http.get(f"/api/sessions/{done['session_id']}/events").json()

    assert shape(events(NAME)) == shape(events("decoy-x.txt"))


def test_agui_shows_names_that_are_not_utf8(http: httpx2.Client) -> None:
    said = [{"id": "m", "role": "user", "content": "go"}]
    reply = http.post("/agui", json={"threadId": "t", "runId": "r", "messages": said})
    lines = [line[6:] for line in reply.text.splitlines() if line.startswith("data: ")]
    shown = [TypeAdapter(Event).validate_json(line) for line in lines]
    assert shown[-1].type == "RUN_FINISHED"
    assert json.loads(lines[-1])["outcome"]["interrupts"][0]["message"] == SHOWN


@pytest.mark.anyio
@pytest.mark.parametrize("where", PLACES)
async def test_mcp_clients_read_names_that_are_not_utf8(where: str) -> None:
    async def decline(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert "decoy-\\udcff.txt" in params.message
        return types.ElicitResult(action="decline")

    server = McpServer([say])
    async with Client(server.server, elicitation_callback=decline) as client:
        given = {"points": [*map(ord, NAME)], "where": where}
        result = await client.call_tool("say", given)
        assert (SHOWN in result.model_dump_json()) is (where != "question")


def test_a_refusal_says_any_text() -> None:
    shown = problem_response(404, f"There is no {NAME}.", [NAME])
    assert json.loads(bytes(shown.body))["detail"] == f"There is no {NAME}."
