"""`toolwright models probe` says what a model can do; here against loopback servers of each kind."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.program import here
from tests.models.test_hostile_servers import OURS
from tests.models.wire import Reply, running, sse

from toolwright.cli._probe import Answer, probe

GOOD = {
    "text": "works", "stream": "works", "one call": "works", "parallel calls": "works",
    "structured output": "works", "image": "works", "error": "works",
}  # fmt: skip
PLACE = '{"city": "Paris", "inhabitants": 2}'


def said(kind: str, text: str) -> Any:
    match kind:
        case "chat":
            return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        case "responses":
            content = [{"type": "output_text", "text": text}]
            return {"status": "completed", "output": [{"type": "message", "content": content}]}
        case "anthropic":
            return {
                "type": "message",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
            }
        case _:
            parts = [{"text": text}]
            return {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}


def called(kind: str, *cities: str) -> Any:
    calls = [(f"c{n}", json.dumps({"city": city})) for n, city in enumerate(cities)]
    match kind:
        case "chat":
            written = [
                {"id": i, "function": {"name": "get_weather", "arguments": a}} for i, a in calls
            ]
            return {
                "choices": [{"message": {"tool_calls": written}, "finish_reason": "tool_calls"}]
            }
        case "responses":
            items = [
                {"type": "function_call", "call_id": i, "name": "get_weather", "arguments": a}
                for i, a in calls
            ]
            return {"status": "completed", "output": items}
        case "anthropic":
            blocks = [
                {"type": "tool_use", "id": i, "name": "get_weather", "input": json.loads(a)}
                for i, a in calls
            ]
            return {"type": "message", "content": blocks, "stop_reason": "tool_use"}
        case _:
            parts = [
                {"functionCall": {"name": "get_weather", "args": json.loads(a)}} for _, a in calls
            ]
            return {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}


def streamed(kind: str, *pieces: str) -> Reply:
    match kind:
        case "chat":
            chunks = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
            return sse(
                *chunks, {"choices": [{"delta": {}, "finish_reason": "stop"}]}, done="[DONE]"
            )
        case "responses":
            deltas = [{"type": "response.output_text.delta", "delta": piece} for piece in pieces]
            return sse(
                *deltas, {"type": "response.completed", "response": said(kind, "".join(pieces))}
            )
        case "anthropic":
            deltas = [
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "text_delta", "text": piece},
                }
                for piece in pieces
            ]
            start = {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            }
            begin = {"type": "message_start", "message": {"type": "message", "content": []}}
            return sse(begin, start, *deltas, {"type": "message_stop"})
        case _:
            chunks = [
                {"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces
            ]
            return sse(*chunks, {"candidates": [{"finishReason": "STOP"}]})


@pytest.mark.anyio
@pytest.mark.parametrize("kind", OURS)
async def test_a_model_that_can_do_everything(kind: str) -> None:
    async with running() as wire:
        wire.will(
            said(kind, "Pong!"), streamed(kind, "1 2", " 3"), called(kind, "Paris"),
            said(kind, "Hail in Paris."), called(kind, "Paris", "Rome"), said(kind, PLACE),
            said(kind, "Red."), Reply(status=404, body={"error": {"message": "no such model"}}),
        )  # fmt: skip
        told: list[Answer] = []

        answers = await probe(
            OURS[kind](wire.url), OURS[kind](wire.url), timeout=5, tell=told.append
        )

    assert {answer.question: answer.verdict for answer in answers} == GOOD
    assert told == answers
    assert "no usage is told" in answers[0].detail
    assert answers[1].detail == "2 pieces, without reasoning"
    assert "get_weather" in answers[2].detail
    assert "'Hail in Paris.'" in answers[2].detail


@pytest.mark.anyio
@pytest.mark.parametrize("kind", OURS)
async def test_a_model_that_can_do_little(kind: str) -> None:
    async with running() as wire:
        wire.will(
            said(kind, "What?"), streamed(kind, "1 2 3"), said(kind, "I cannot."),
            called(kind, "Paris"), said(kind, "Paris, 2 million"), said(kind, "A cat."),
            said(kind, "Hello"),
        )  # fmt: skip

        answers = await probe(
            OURS[kind](wire.url), OURS[kind](wire.url), timeout=5, tell=lambda answer: None
        )

    assert [answer.verdict for answer in answers] == [
        "unsure", "unsure", "fails", "unsure", "fails", "unsure", "unsure",
    ]  # fmt: skip
    assert answers[2].detail == "no call, but 'I cannot.'"
    assert answers[3].detail == "1 calls in one turn"


@pytest.mark.anyio
async def test_a_question_that_fails_does_not_end_the_others() -> None:
    async with running() as wire:
        wire.will(*[Reply(status=401, body={"error": {"message": "no key"}})] * 7)

        answers = await probe(
            OURS["chat"](wire.url), OURS["chat"](wire.url), timeout=5, tell=lambda answer: None
        )

    assert [answer.verdict for answer in answers] == ["fails"] * 6 + ["works"]
    assert answers[0].detail.startswith("auth: ")


@pytest.mark.anyio
async def test_a_server_that_is_overloaded_says_nothing_about_its_errors() -> None:
    async with running() as wire:
        wire.will(*[Reply(status=503, body={"error": {"message": "later"}})] * 7)

        answers = await probe(
            OURS["chat"](wire.url), OURS["chat"](wire.url), timeout=5, tell=lambda answer: None
        )

    assert [answer.verdict for answer in answers] == ["fails"] * 7


class _Says(BaseHTTPRequestHandler):
    """A server whose model only ever says one thing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(said("chat", "pong \x1b[31mred")).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Says)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_command_prints_a_line_for_each_question(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", address)

    lines = here("models", "probe", "vllm:small", cwd=tmp_path).stdout.splitlines()
    rows = [
        json.loads(line)
        for line in here(
            "models", "probe", "vllm:small", "--json", cwd=tmp_path
        ).stdout.splitlines()
    ]

    assert lines[0].startswith("works   text               'pong ")
    assert "\x1b" not in "".join(lines)
    assert lines[-1] == "vllm:small: 2 of 7 work"
    assert [row["verdict"] for row in rows] == [
        "works", "unsure", "fails", "fails", "fails", "works", "unsure",
    ]  # fmt: skip
