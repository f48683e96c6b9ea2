"""A conversation that was begun with one provider continues with each other one.

What is sent is held against the SDKs' own types of requests, unknown keys included.
"""

import base64
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types as google_types
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, with_config
from tests.models.requests import WEATHER, history
from tests.models.test_hostile_servers import OURS
from tests.models.wire import Wire, running

from toolwright.messages import (
    BlobPart,
    Message,
    ModelMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    user_message,
)
from toolwright.models import OpenAIChatModel
from toolwright.models._anthropic.client import server_of

pytestmark = pytest.mark.anyio
PNG = BlobPart(media_type="image/png", data=b"png", name="plot.png")
REPLIES: dict[str, Any] = {
    "chat": {
        "choices": [{
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant", "content": "Looking.", "reasoning_content": "Hm",
                "tool_calls": [
                    {"id": "call.1/a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}},
                    {"type": "function", "function": {"name": "get_weather", "arguments": "not json"}},
                ],
            },
        }]
    },
    "responses": {
        "id": "r1", "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "x"},
            {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]},
            {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"type": "search", "query": "q"}},
            {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
            {"type": "function_call", "id": "fc2", "call_id": "c2", "name": "get_weather", "arguments": "not json"},
        ],
    },
    "anthropic": {
        "id": "m1", "type": "message", "stop_reason": "tool_use", "usage": {},
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Looking."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
            {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {}},
        ],
    },
    "gemini": {
        "responseId": "g1",
        "candidates": [{
            "finishReason": "STOP",
            "content": {"role": "model", "parts": [
                {"text": "Hm", "thought": True},
                {"text": "Looking."},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"png").decode()}},
                {"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}, "thoughtSignature": "aGk="},
                {"functionCall": {"name": "get_weather", "args": {}}},
            ]},
        }],
    },
}  # fmt: skip
TYPES = {
    "chat": CompletionCreateParamsNonStreaming,
    "responses": ResponseCreateParamsNonStreaming,
    "anthropic": MessageCreateParamsNonStreaming,
}


async def begun_with(kind: str, wire: Wire) -> list[Message]:
    """A conversation with images, reasoning, a server's tool, two calls and their results."""
    asked = UserMessage((TextPart("The weather?"), PNG))
    wire.will(REPLIES[kind])
    turn = await OURS[kind](wire.url).respond(history(asked, tools=(WEATHER,)))
    first, second = turn.calls
    answered = ToolMessage(
        (
            ToolResult(
                call_id=first.call_id,
                name=first.name,
                status="ok",
                content=(TextPart("Sunny"), PNG),
            ),
            ToolResult(
                call_id=second.call_id, name=second.name, status="error", content=(TextPart("No."),)
            ),
        )
    )
    return [
        asked,
        turn,
        answered,
        ModelMessage(parts=(TextPart("Sunny."),)),
        user_message("Thanks"),
    ]


@pytest.mark.parametrize("onto", OURS)
@pytest.mark.parametrize("begun", OURS)
async def test_a_conversation_continues_on_each_other_provider(
    wire: Wire, begun: str, onto: str
) -> None:
    messages = await begun_with(begun, wire)
    wire.will(REPLIES[onto])

    await OURS[onto](wire.url).respond(
        history(*messages, instructions="Be brief.", tools=(WEATHER,))
    )

    body = wire.bodies[-1]
    written = str(body)
    for said in ("The weather?", "Looking.", "get_weather", "Paris", "Sunny", "No.", "Thanks"):
        assert said in written
    assert base64.b64encode(b"png").decode() in written
    assert ("'Hm'" in written) == ((begun == onto and begun != "gemini") or begun == onto)
    check_ids(onto, body)
    if onto == "chat":
        # OpenAI itself has no such field; the servers that send it want it back.
        kept = [message.pop("reasoning_content", None) for message in body["messages"]]
        assert ("Hm" in kept) == (begun == "chat")
    check_type(onto, body)


OGG = BlobPart(media_type="audio/ogg", data=b"ogg", name="song.ogg")
DRAWN = base64.b64encode(b"png").decode()


@pytest.mark.parametrize("onto", OURS)
async def test_what_another_model_made_is_shown_or_named(wire: Wire, onto: str) -> None:
    for parts in ((PNG, OGG), (TextPart("Look."), PNG, OGG)):
        wire.will(REPLIES[onto])
        made = ModelMessage(parts=parts, model="other:m", meta={"provider": "other"})

        await OURS[onto](wire.url).respond(history(user_message("Draw"), made, user_message("Ok")))

        body = wire.bodies[-1]
        assert DRAWN in str(body)
        assert "song.ogg" in str(body) or base64.b64encode(b"ogg").decode() in str(body)
        check_type(onto, body)
        if onto == "chat":
            assert all(message["content"] for message in body["messages"])


@pytest.mark.parametrize("onto", ["chat", "anthropic"])
async def test_nothing_stands_between_calls_and_their_results(wire: Wire, onto: str) -> None:
    wire.will(REPLIES[onto])
    call = ToolCall(call_id="c1", name="get_weather", arguments="{}")
    result = ToolResult(call_id="c1", name="get_weather", status="ok", content=(TextPart("Ok"),))

    await OURS[onto](wire.url).respond(
        history(user_message("Hi"), ModelMessage(parts=(PNG, call)), ToolMessage((result,)))
    )

    body = wire.bodies[-1]
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool" if onto == "chat" else "user"]
    assert "plot.png" in str(body["messages"][1])


SECRET_TO_ONE = {
    "chat": "Hm",
    "responses": "'rs1'",
    "anthropic": "thinking",
    "gemini": "aGk=",
}


@pytest.mark.parametrize("kind", OURS)
async def test_what_one_server_keeps_for_itself_is_sent_to_no_other(wire: Wire, kind: str) -> None:
    messages = await begun_with(kind, wire)
    async with running() as other:
        for asked in (wire, other):
            asked.will(REPLIES[kind])
            await OURS[kind](asked.url).respond(history(*messages, tools=(WEATHER,)))

        assert SECRET_TO_ONE[kind] in str(wire.bodies[-1])
        assert SECRET_TO_ONE[kind] not in str(other.bodies[-1])
        for said in ("The weather?", "Looking.", "get_weather", "Paris", "Sunny"):
            assert said in str(other.bodies[-1])
        check_ids(kind, other.bodies[-1])
        check_type(kind, other.bodies[-1])


async def test_a_turn_from_before_servers_were_told_apart_keeps_its_reasoning(wire: Wire) -> None:
    asked, turn, *_ = await begun_with("chat", wire)
    assert isinstance(turn, ModelMessage)
    old = replace(turn, meta={key: turn.meta[key] for key in turn.meta if key != "server"})
    wire.will(REPLIES["chat"])

    await OURS["chat"](wire.url).respond(history(asked, old))

    assert wire.bodies[-1]["messages"][1]["reasoning_content"] == "Hm"


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com"),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/x", "https://api.anthropic.com"),
        ("https://amazonaws.com.example", "https://amazonaws.com.example"),
        ("http://me:secret@LOCALHOST:8000/v1?key=1", "http://localhost:8000"),
    ],
)
def test_claude_is_one_server_wherever_it_runs(address: str, server: str) -> None:
    assert server_of(address) == server


@pytest.mark.parametrize("onto", OURS)
async def test_arguments_that_are_nested_too_deep_are_only_quoted(wire: Wire, onto: str) -> None:
    for levels in (500, 3_000):
        wire.will(REPLIES[onto])
        deep = f'{{"a": {"[" * levels}{"]" * levels}}}'
        call = ToolCall(call_id="c1", name="get_weather", arguments=deep)
        result = ToolResult(call_id="c1", name="get_weather", status="error", content=())

        await OURS[onto](wire.url).respond(
            history(user_message("Hi"), ModelMessage(parts=(call,)), ToolMessage((result,)))
        )

        assert "[" * levels in str(wire.bodies[-1])


async def test_mistral_is_sent_ids_of_nine_letters_and_digits(wire: Wire) -> None:
    ids = (
        "toolu_01A09q90qw90lq917835lq9",
        "call_abc",
        "abcDEF123",
        "abcDEF12\u00e9",
        "abcDEF12345",
    )
    calls = tuple(ToolCall(call_id=one, name="get_weather", arguments="{}") for one in ids)
    results = tuple(
        ToolResult(call_id=one, name="get_weather", status="ok", content=(TextPart("Ok"),))
        for one in ids
    )
    conversation = history(user_message("Hi"), ModelMessage(parts=calls), ToolMessage(results))
    for provider in ("mistral", "mistral", "groq"):
        wire.will(REPLIES["chat"])
        model = OpenAIChatModel("m", provider=provider, base_url=wire.url, api_key="k")
        await model.respond(conversation)

    sent, again, others = (
        [call["id"] for call in body["messages"][1]["tool_calls"]] for body in wire.bodies
    )
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", one, re.ASCII) for one in sent)
    assert (sent, sent[2], len(set(sent))) == (again, "abcDEF123", len(ids))
    assert sent == [result["tool_call_id"] for result in wire.bodies[0]["messages"][2:]]
    assert others == list(ids)


def check_ids(kind: str, body: Any) -> None:
    """Each result belongs to one call, under the id that the request itself gives it."""
    if kind == "chat":
        calls = [c["id"] for m in body["messages"] for c in m.get("tool_calls") or ()]
        given = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
    elif kind == "responses":
        calls = [i["call_id"] for i in body["input"] if i["type"] == "function_call"]
        given = [i["call_id"] for i in body["input"] if i["type"] == "function_call_output"]
    elif kind == "anthropic":
        blocks = [b for m in body["messages"] for b in m["content"]]
        calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        given = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    else:
        parts = [p for c in body["contents"] for p in c["parts"]]
        calls = [p["functionCall"].get("id") for p in parts if "functionCall" in p]
        given = [p["functionResponse"].get("id") for p in parts if "functionResponse" in p]
    assert len(calls) == 2
    assert calls == given


def check_type(kind: str, body: Any) -> None:
    if kind == "gemini":
        for content in body["contents"]:
            google_types.Content.model_validate(content)  # it forbids unknown keys
        return
    read_through(request_type(kind).validate_python(body))


@cache
def request_type(kind: str) -> TypeAdapter[Any]:
    """The SDK's type; keys that it does not know are refused, at any depth.

    Kept, because pydantic panics when it is gone before what it has made is read through.
    """
    closed: Any = with_config(ConfigDict(extra="forbid"))(TYPES[kind])
    return TypeAdapter(closed)


def read_through(value: Any) -> None:
    """What is typed as iterable is validated only while it is read."""
    if isinstance(value, dict):
        for one in value.values():
            read_through(one)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for one in value:
            read_through(one)
