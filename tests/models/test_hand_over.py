"""A conversation that was begun with one provider continues with each other one.

What is sent is held against the SDKs' own types of requests, unknown keys included.
"""

import base64
from collections.abc import Iterable
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
from tests.models.wire import Wire

from toolwright.messages import (
    BlobPart,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    ToolResult,
    UserMessage,
    user_message,
)

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
