"""A valid reply with any one value in it replaced is read, or is a `ModelError`: nothing else."""

import copy
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from tests.models.requests import ask

from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, ReasoningPart, TextPart, ToolCall
from toolwright.models import (
    AnthropicModel,
    GeminiModel,
    Model,
    OpenAIChatModel,
    OpenAIModel,
    Retries,
)
from toolwright.models._http import watching
from toolwright.models._secrets import Secrets

pytestmark = pytest.mark.anyio

ONCE = Retries(attempts=1)
ODD = (None, -5, "odd", [5], {"odd": 5})
CHAT = {
    "id": "1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Hi",
                "reasoning_content": "Hm",
                "reasoning_details": [{"type": "reasoning.text", "text": "Hm"}],
                "annotations": [{"type": "url_citation"}],
                "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 1},
    },
}
RESPONSE = {
    "id": "r1",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi", "annotations": []}]},
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "image_generation_call", "id": "ig", "result": "aGk=", "output_format": "png"},
        {"type": "web_search_call", "id": "ws"},
    ],
    "usage": {"input_tokens": 1, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 1}},
}  # fmt: skip
MESSAGE = {
    "id": "m1",
    "type": "message",
    "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "Hi", "citations": [{"type": "char_location"}]},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "container_upload", "file_id": "f1"},
    ],
    "stop_reason": "tool_use",
    "container": {"id": "c"},
    "usage": {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 1},
}
CONTENT = {
    "responseId": "g1",
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm", "thought": True, "thoughtSignature": "aGk="},
                    {"text": "Hi"},
                    {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}},
                    {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
                    {"executableCode": {"language": "PYTHON", "code": "1"}},
                ],
            },
            "finishReason": "STOP",
            "groundingMetadata": {"webSearchQueries": ["q"]},
        }
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1},
}


def variants(value: Any) -> Iterator[Any]:
    """`value` with each single value in it replaced by each odd one, and with it left out."""
    for place in places(value, ()):
        for odd in ODD:
            yield with_value(value, place, odd)
        if place and isinstance(place[-1], str):
            yield with_value(value, place)


def places(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from places(one, (*place, key))


def with_value(value: Any, place: tuple[Any, ...], *new: Any) -> Any:
    if not place:
        return new[0]
    made = copy.deepcopy(value)
    around = made
    for key in place[:-1]:
        around = around[key]
    if new:
        around[place[-1]] = new[0]
    else:
        del around[place[-1]]
    return made


async def _stream(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


class Answering:
    """An HTTP client that answers without a socket."""

    def __init__(self) -> None:
        self.body: bytes = b""
        self.pieces: list[bytes] | None = None
        """The body in chunks of its own making."""
        self.kind = "application/json"

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        content = self.body if self.pieces is None else _stream(self.pieces)
        return httpx2.Response(200, content=content, headers={"content-type": self.kind})

    def model(self, kind: str) -> Model:
        url = "http://127.0.0.1:9"
        http = httpx2.AsyncClient(
            transport=httpx2.MockTransport(self.answer),
            event_hooks=watching("test", Secrets("test"), plainly=kind == "gemini"),
        )
        if kind in ("chat", "responses"):
            client = openai.AsyncOpenAI(api_key="k", base_url=url, http_client=http, max_retries=0)
            made = OpenAIChatModel if kind == "chat" else OpenAIModel
            return made("m", client=client, retries=ONCE)
        if kind == "anthropic":
            claude = anthropic.AsyncAnthropic(
                api_key="k", base_url=url, http_client=http, max_retries=0
            )
            return AnthropicModel("m", client=claude, retries=ONCE)
        options = genai.types.HttpOptions(base_url=url, httpx_async_client=http)
        google = genai.Client(api_key="k", vertexai=False, http_options=options)
        return GeminiModel("gemini-3", client=google, retries=ONCE)


@pytest.mark.parametrize(
    ("kind", "reply"),
    [("chat", CHAT), ("responses", RESPONSE), ("anthropic", MESSAGE), ("gemini", CONTENT)],
    ids=["chat", "responses", "anthropic", "gemini"],
)
async def test_a_reply_with_an_odd_value_is_read_or_refused(kind: str, reply: Any) -> None:
    answering = Answering()
    model = answering.model(kind)
    answering.body = json.dumps(reply).encode()
    whole = await model.respond(ask())
    assert (whole.text, [call.name for call in whole.calls]) == ("Hi", ["f"])
    refused = 0
    for variant in variants(reply):
        answering.body = json.dumps(variant).encode()
        try:
            check(await model.respond(ask()))
        except ModelError:
            refused += 1
    assert refused > 20


def check(message: ModelMessage) -> None:
    """What the loop and the stores rely on."""
    for part in message.parts:
        match part:
            case TextPart() | ReasoningPart():
                assert isinstance(part.text, str)
            case ToolCall():
                assert all(isinstance(v, str) for v in (part.call_id, part.name, part.arguments))
                assert part.call_id
                assert part.name
    assert isinstance(message.usage.input_tokens, int)
