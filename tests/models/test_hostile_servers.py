"""Whatever a server sends in place of a reply, the run gets a `ModelError` that says what came."""

import gc
import gzip
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from pydantic_ai.models.openai import OpenAIChatModel as TheirModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.models.requests import ask
from tests.models.wire import Reply, Wire, sse

from toolwright.errors import ModelError, UsageError
from toolwright.models import (
    AnthropicModel,
    GeminiModel,
    Model,
    OpenAIChatModel,
    OpenAIModel,
    PydanticAIModel,
    Retries,
    _http,
)
from toolwright.models._depth import text_is_too_deep
from toolwright.models._secrets import Secrets
from toolwright.models._sse import EventDecoder

pytestmark = pytest.mark.anyio

ONCE = Retries(attempts=1)
OURS: dict[str, Callable[[str], Model]] = {
    "chat": lambda url: OpenAIChatModel("m", base_url=url, api_key="k", retries=ONCE),
    "responses": lambda url: OpenAIModel("gpt-5", base_url=url, api_key="k", retries=ONCE),
    "anthropic": lambda url: AnthropicModel("claude-5", base_url=url, api_key="k", retries=ONCE),
    "gemini": lambda url: GeminiModel(
        "gemini-3", base_url=url, api_key="k", vertex=False, retries=ONCE
    ),
}
ALL = {
    **OURS,
    "pydantic-ai": lambda url: PydanticAIModel(
        TheirModel("m", provider=OpenAIProvider(base_url=url, api_key="k"))
    ),
}
PAGE = b"<!doctype html>\n<title>Sign in</title> token=abcdefgh12345"
DEEP = b'{"a":' * 100_000
each_of_ours = pytest.mark.parametrize("kind", OURS)
each_way = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def made_once(kind: str, wire: Wire) -> Model:
    """One model for all that a test sends: making a client takes longer than asking it."""
    if kind not in wire.models:
        wire.models[kind] = ALL[kind](wire.url)
    return wire.models[kind]


async def failures(wire: Wire, kind: str, streamed: bool, *replies: Reply) -> list[ModelError]:
    """What the model raises when the server answers with each of these."""
    wire.will(*replies)
    model = made_once(kind, wire)
    raised = []
    for _ in replies:
        with pytest.raises(ModelError, match=f"^{model.name}: ") as caught:
            await model.respond(ask(), (lambda delta: None) if streamed else None)
        raised.append(caught.value)
    return raised


async def failure(wire: Wire, kind: str, streamed: bool, reply: Reply) -> ModelError:
    return (await failures(wire, kind, streamed, reply))[0]


def page(body: bytes, kind: str = "text/html", **headers: str) -> Reply:
    return Reply(raw=body, headers={"content-type": kind, **headers})


@each_way
@each_of_ours
async def test_a_page_in_place_of_a_reply_is_shown_with_a_hint(
    wire: Wire, kind: str, streamed: bool
) -> None:
    types = ("text/html", "application/json", "text/event-stream")
    for error in await failures(wire, kind, streamed, *(page(PAGE, one) for one in types)):
        assert (error.reason, error.retryable, error.status) == ("protocol", False, 200)
        shown = "'<!doctype html> <title>Sign in</title> token=[redacted]'"
        assert f"{shown} [{wire.url}]" in str(error)
        assert "check base_url" in str(error)


@each_way
@each_of_ours
async def test_an_empty_body_may_be_asked_for_again(wire: Wire, kind: str, streamed: bool) -> None:
    for error in await failures(wire, kind, streamed, page(b""), page(b" \n\n")):
        assert (error.reason, error.retryable) == ("connection", True)
        assert "the body is empty" in str(error)


@each_of_ours
async def test_json_that_breaks_off_may_be_asked_for_again(wire: Wire, kind: str) -> None:
    error = await failure(wire, kind, False, page(b'{"id": "1", "cho', "application/json"))

    assert (error.reason, error.retryable) == ("connection", True)
    assert """after '{"id": "1", "cho'""" in str(error)


@each_way
@each_of_ours
async def test_a_body_that_is_shorter_than_announced_may_be_asked_for_again(
    wire: Wire, kind: str, streamed: bool
) -> None:
    cut = page(b'{"id": "1", "cho', "application/json", **{"content-length": "900"})

    error = await failure(wire, kind, streamed, cut)

    assert (error.reason, error.retryable) == ("connection", True)
    assert "broke off" in str(error)


GIVEN: dict[str, Callable[[str], Model]] = {
    "chat with a client": lambda url: OpenAIChatModel("m", client=openais(url), retries=ONCE),
    "responses with a client": lambda url: OpenAIModel("m", client=openais(url), retries=ONCE),
    "anthropic with a client": lambda url: AnthropicModel(
        "m",
        client=anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0),
        retries=ONCE,
    ),
}
ALL |= GIVEN


def openais(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0)


EVENTS: dict[str, Any] = {
    "chat": {"choices": [{"delta": {"content": "H"}}]},
    "responses": {"type": "response.output_text.delta", "delta": "H"},
    "anthropic": {"type": "message_start", "message": {"content": []}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "H"}]}}]},
}


each_read_by_us = pytest.mark.parametrize("kind", [*OURS, *GIVEN])


def first_event(kind: str) -> Any:
    return EVENTS[kind.partition(" ")[0]]


def told_where(error: ModelError, wire: Wire, *shown: str) -> bool:
    """Whether the error has the address, the status and what came."""
    return error.status == 200 and all(
        text in str(error) for text in ("HTTP 200", f"[{wire.url}]", *shown)
    )


@each_read_by_us
async def test_a_stream_that_ends_too_early_may_be_asked_for_again(wire: Wire, kind: str) -> None:
    error = await failure(wire, kind, True, sse(first_event(kind)))

    assert (error.reason, error.retryable) == ("connection", True)
    assert told_where(error, wire, "the stream ended before the reply did, after '")


OTHER_SHAPES = ({"message": "Welcome"}, {"detail": "Welcome"}, ["Welcome"], "Welcome")


@each_way
@each_read_by_us
async def test_json_of_another_shape_is_shown_with_a_hint(
    wire: Wire, kind: str, streamed: bool
) -> None:
    replies = [Reply(body=body) for body in OTHER_SHAPES[:3]]
    if streamed:
        replies += [sse(body) for body in OTHER_SHAPES]
        replies += [sse(body, done="[DONE]") for body in OTHER_SHAPES]
        replies += [sse({"type": "brand_new", "text": "Welcome"})]

    for error in await failures(wire, kind, streamed, *replies):
        assert (error.reason, error.retryable) == ("protocol", False), str(error)
        assert told_where(error, wire, "Welcome", "check base_url")


SENT_ERRORS: dict[str, tuple[Any, str]] = {
    "openai": ({"error": {"message": "No.", "type": "x", "code": "invalid_api_key"}}, "auth"),
    "anthropic": ({"type": "error", "error": {"type": "overloaded_error", "message": "No."}}, "overloaded"),
    "google": ({"error": {"code": 429, "message": "No.", "status": "RESOURCE_EXHAUSTED"}}, "rate_limit"),
    "vllm": ({"object": "error", "message": "No.", "type": "BadRequestError", "code": 400}, "bad_request"),
    "flat": ({"type": "error", "code": 429, "message": "No."}, "rate_limit"),
    "bare": ({"message": "No.", "code": "rate_limit_exceeded"}, "rate_limit"),
    "status as a text": ({"error": {"message": "No.", "code": "503"}}, "overloaded"),
    "unknown code, known type": ({"error": {"message": "No.", "code": "x", "type": "billing_error"}}, "rate_limit"),
    "too long": ({"error": {"message": "No. The prompt is too long"}}, "context_too_long"),
    "unknown": ({"error": {"message": "No.", "type": "brand_new_error"}}, "server"),
    "text": ({"error": "No."}, "server"),
    "text with a status": ({"error": "No.", "status": 401}, "auth"),
    "flag": ({"error": True, "message": "No.", "code": 504}, "timeout"),
    "without a message": ({"error": {"why": "No."}}, "server"),
}  # fmt: skip


@each_way
@each_read_by_us
async def test_an_error_under_http_200_is_one_by_its_code(
    wire: Wire, kind: str, streamed: bool
) -> None:
    for sent, (body, reason) in SENT_ERRORS.items():
        replies = [Reply(body=body)]
        if streamed:
            unnamed = f"data: {json.dumps(body)}\n\n".encode()
            replies += [sse(first_event(kind), body), page(unnamed, "text/event-stream")]

        for error in await failures(wire, kind, streamed, *replies):
            assert (sent, error.reason) == (sent, reason), str(error)
            assert told_where(error, wire, "No.")


@each_read_by_us
async def test_an_event_with_the_name_of_an_error_is_one(wire: Wire, kind: str) -> None:
    events = [b'event: error\ndata: {"text": "No."}\n\n', b'event: error\ndata: "No."\n\n']

    for error in await failures(wire, kind, True, *(page(e, "text/event-stream") for e in events)):
        assert (error.reason, told_where(error, wire, "No.")) == ("server", True)


@each_of_ours
async def test_what_an_error_was_raised_from_is_no_circle(wire: Wire, kind: str) -> None:
    for reply in (page(PAGE), page(b""), Reply(status=302, headers={"location": "https://x.y/"})):
        waiting: list[BaseException | None] = [await failure(wire, kind, False, reply)]
        seen: list[BaseException] = []
        while waiting:
            error = waiting.pop()
            if error is not None:
                assert error not in seen
                seen.append(error)
                waiting += {id(e): e for e in (error.__cause__, error.__context__)}.values()


@each_of_ours
async def test_half_an_event_may_be_asked_for_again(wire: Wire, kind: str) -> None:
    half = json.dumps(EVENTS[kind])[:-3]
    name = f"event: {EVENTS[kind]['type']}\n" if "type" in EVENTS[kind] else ""
    event = f"{name}data: {half}\n\n".encode()

    error = await failure(wire, kind, True, page(event, "text/event-stream"))

    assert (error.reason, error.retryable) == ("connection", True)


@each_way
@each_of_ours
async def test_a_redirect_elsewhere_is_not_followed(wire: Wire, kind: str, streamed: bool) -> None:
    places = ((302, "https://login.example/"), (307, "https://login.example/"), (303, "/login"))
    redirects = [Reply(status=status, headers={"location": place}) for status, place in places]

    raised = await failures(wire, kind, streamed, *redirects)

    assert [error.status for error in raised] == [302, 307, 303]
    assert {(error.reason, error.retryable) for error in raised} == {("protocol", False)}
    assert all("a redirect to" in str(error) for error in raised)
    assert len(wire.requests) == len(places)


@each_of_ours
async def test_a_redirect_on_the_same_server_is_followed(wire: Wire, kind: str) -> None:
    moved = Reply(status=308, headers={"location": "/elsewhere"})
    wire.will(moved, page(PAGE))

    with pytest.raises(ModelError, match="Sign in"):
        await OURS[kind](wire.url).respond(ask())

    assert wire.requests[1].path == "/elsewhere"
    assert wire.bodies[0] == wire.bodies[1]


@each_of_ours
async def test_a_redirect_that_leads_to_itself_is_a_protocol_error(wire: Wire, kind: str) -> None:
    error = await failure(
        wire, kind, False, Reply(status=307, headers={"location": "/"}, stays=True)
    )

    assert (error.reason, error.retryable) == ("protocol", False)
    assert "a redirect that leads to another one" in str(error)


@pytest.mark.parametrize(
    ("here", "there", "followed"),
    [
        ("http://h/a", "/b", True),
        ("http://h:8000/a", "http://h:8000/b", True),
        ("http://h/a", "https://h/a", True),
        ("http://h:8000/a", "https://h:8443/a", False),
        ("http://h:8000/a", "https://h/a", False),
        ("https://h/a", "https://h:8443/a", False),
        ("https://h/a", "http://h/a", False),
        ("https://h/a", "https://h.example/a", False),
    ],
)
async def test_a_redirect_is_followed_to_the_same_port_or_from_http_to_https(
    here: str, there: str, followed: bool
) -> None:
    request = httpx2.Request("POST", here)
    moved = httpx2.Response(307, headers={"location": there}, content=b"", request=request)
    [hook] = _http.watching("test", Secrets("test"))["response"]

    if followed:
        await hook(moved)
    else:
        with pytest.raises(ModelError, match="which is not followed"):
            await hook(moved)


@each_way
@each_of_ours
async def test_what_does_not_end_is_given_up(
    wire: Wire, kind: str, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "MOST_BYTES", 2**16)
    endless = b'{"id": "' if not streamed else b"data: {"

    error = await failure(wire, kind, streamed, page(endless + b"x" * 2**17, "application/json"))

    assert (error.reason, error.retryable) == ("protocol", False)
    assert "more than 64 KB" in str(error)


@each_of_ours
async def test_a_small_body_that_unpacks_into_a_large_one_is_given_up(
    wire: Wire, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "MOST_BYTES", 2**16)
    bomb = gzip.compress(b"{" + b" " * 2**20)

    error = await failure(
        wire, kind, False, page(bomb, "application/json", **{"content-encoding": "gzip"})
    )

    assert "more than 64 KB" in str(error)


@each_of_ours
async def test_a_packing_that_was_not_asked_for_is_not_unpacked(wire: Wire, kind: str) -> None:
    odd = page(b"{}", "application/json", **{"content-encoding": "zstd"})

    error = await failure(wire, kind, False, odd)

    assert wire.requests[0].headers["accept-encoding"] == "gzip, deflate"
    assert (error.reason, "packed as 'zstd'" in str(error)) == ("protocol", True)


@each_of_ours
async def test_an_error_page_that_does_not_end_is_given_up(
    wire: Wire, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http, "MOST_BYTES", 2**16)
    endless = [Reply(raw=b"x" * 2**17, status=status) for status in (500, 404)]

    raised = await failures(wire, kind, False, *endless)

    assert [error.status for error in raised] == [500, 404]
    assert all("more than 64 KB" in str(error) for error in raised)


@each_of_ours
async def test_a_path_that_is_not_there_asks_about_the_base_url(wire: Wire, kind: str) -> None:
    error = await failure(wire, kind, False, Reply(raw=b"404 page not found", status=404))

    assert (error.reason, error.status) == ("bad_request", 404)
    assert "check the model's name and base_url" in str(error)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Finalizers of other tests would run while the stack is full of nested JSON, and complain."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


ODD = (
    PAGE, b"", b"null", b"5", b'"text"', b"[]", b"[1]", b"{}", b'{"choices": 5}', b"\xff\xfe{",
    b'{"message": "Welcome"}', b'{"choices": [5]}', b'{"choices": [{"message": {"content": 5}}]}',
    b'{"output": 5}', b'{"content": [5]}', b'{"candidates": [5]}', b'{"candidates": 5}', DEEP,
)  # fmt: skip


@each_way
@pytest.mark.parametrize("kind", [*OURS, "pydantic-ai"])
async def test_anything_else_is_a_model_error_too(
    wire: Wire, kind: str, streamed: bool, no_collection: None
) -> None:
    events = [b"event: message_start\ndata: " + body + b"\n\ndata: [DONE]\n\n" for body in ODD]
    kinds = [page(event, "text/event-stream") for event in events] if streamed else map(page, ODD)

    assert len(await failures(wire, kind, streamed, *kinds)) == len(ODD)


async def test_json_with_another_content_type_is_read(wire: Wire) -> None:
    completion = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    wire.will(page(json.dumps(completion).encode(), "text/plain"))

    assert (await OURS["chat"](wire.url).respond(ask())).text == "Hi"


async def test_what_a_listener_raises_is_no_fault_of_the_model(wire: Wire) -> None:
    wire.will(sse(EVENTS["chat"]))

    def broken(delta: object) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await OURS["chat"](wire.url).respond(ask(), broken)


LONG_NUMBER = b'{"choices": [], "usage": {"prompt_tokens": ' + b"1" * 5_000 + b"}}"


@pytest.mark.parametrize("kind", ["chat", "responses", "anthropic"])
async def test_a_number_that_is_too_long_to_be_read_is_a_protocol_error(
    wire: Wire, kind: str
) -> None:
    error = await failure(wire, kind, False, page(LONG_NUMBER, "application/json"))

    assert (error.reason, error.status) == ("protocol", 200)
    assert f"[{wire.url}]" in str(error)


@each_of_ours
async def test_a_redirect_to_what_is_no_address_is_a_protocol_error(wire: Wire, kind: str) -> None:
    error = await failure(wire, kind, False, Reply(status=307, headers={"location": "http://[::b"}))

    assert (error.reason, error.status) == ("protocol", 307)


@each_of_ours
async def test_an_error_of_any_shape_is_a_model_error_by_its_status(wire: Wire, kind: str) -> None:
    odd: list[Any] = [
        {"message": "Slow", "details": [None], "status": 5, "type": 5, "code": 429},
        {"message": ["Slow"], "details": 5, "status": {}, "type": [], "code": None},
    ]
    replies = [Reply(body={"type": "error", "error": one}, status=429) for one in odd]

    raised = await failures(wire, kind, False, *replies)

    assert [(error.reason, error.status) for error in raised] == [("rate_limit", 429)] * 2


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("char", ["\u201d", "\u200b", "\n", " "], ids=ascii)
def test_a_key_with_a_character_that_cannot_be_sent_is_refused_at_once(
    kind: str, char: str
) -> None:
    makers: dict[str, Callable[..., Model]] = {
        "chat": OpenAIChatModel,
        "responses": OpenAIModel,
        "anthropic": AnthropicModel,
        "gemini": GeminiModel,
    }
    with pytest.raises(UsageError, match=f"U\\+{ord(char):04X}. as character 4 of 4") as caught:
        makers[kind]("m", api_key=f"abc{char}")
    assert "abc" not in str(caught.value)


async def test_whatever_a_client_raises_is_a_model_error() -> None:
    class Broken(openai.AsyncOpenAI):
        async def post(self, *args: object, **options: object) -> Any:
            raise ZeroDivisionError("of theirs")

    client = Broken(api_key="k", base_url="http://127.0.0.1:1")
    with pytest.raises(ModelError, match=r"^openai-chat:m: ZeroDivisionError: of theirs"):
        await OpenAIChatModel("m", client=client, retries=ONCE).respond(ask())


def deep_call(kind: str, levels: int) -> Reply:
    """A reply, streamed by Anthropic and whole by the others, with a call that is nested so deep."""
    nested = "[" * levels + "]" * levels
    arguments = f'{{"a": {nested}}}'
    call = {"name": "f", "arguments": arguments}
    if kind == "gemini":
        parts = f'[{{"functionCall": {{"name": "f", "args": {arguments}}}}}]'
        body = f'{{"candidates": [{{"content": {{"parts": {parts}}}, "finishReason": "STOP"}}]}}'
        return page(body.encode(), "application/json")
    if kind == "anthropic":
        block = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": arguments}
        return sse(
            {"type": "message_start", "message": {"type": "message", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        )
    if kind == "chat":
        message = {"tool_calls": [{"id": "c", "function": call}]}
        return Reply(body={"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    item = {"type": "function_call", "call_id": "c", **call}
    return Reply(body={"status": "completed", "output": [item]})


@each_of_ours
async def test_arguments_that_could_not_be_sent_back_are_refused_where_they_enter(
    wire: Wire, kind: str
) -> None:
    for levels in (150, 300, 3_000):
        if (kind, levels) != ("gemini", 3_000):  # its SDK cannot read so much
            error = await failure(wire, kind, kind == "anthropic", deep_call(kind, levels))
            assert (error.reason, error.retryable) == ("server", True)
            assert "nested deeper than 100 levels" in str(error)
    wire.will(deep_call(kind, 90))
    listen = (lambda delta: None) if kind == "anthropic" else None
    assert (await OURS[kind](wire.url).respond(ask(), listen)).calls


def test_brackets_in_texts_are_no_levels() -> None:
    assert not text_is_too_deep('{"a": "' + '[{\\"' * 1_000 + '"}')
    assert not text_is_too_deep("[" + "[]," * 1_000 + "[]]")
    assert text_is_too_deep('{"a": "\\\\", "b": ' + "[" * 1_000)
    assert text_is_too_deep("[" * 101 + '"' + '\\"' * 100_000)


STREAMS: dict[str, list[Any]] = {
    "chat": [
        {"choices": [{"delta": {"content": "H"}}]},
        {"choices": [{"delta": {"content": "i"}, "finish_reason": "stop"}]},
    ],
    "responses": [
        {"type": "response.output_text.delta", "delta": "Hi"},
        {
            "type": "response.completed",
            "response": {
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
            },
        },
    ],
    "anthropic": [
        {"type": "message_start", "message": {"type": "message", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Hi"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ],
    "gemini": [
        {"candidates": [{"content": {"parts": [{"text": "H"}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "i"}]}, "finishReason": "STOP"}]},
    ],
}
ASIDES = (
    "retry: 3000\n\n", "id: 7\n\n", ": a comment\n\n", "event: ping\n\n", "data\n\n", "data:\n\n",
    "event: ping\ndata:\n\n", "event: ping\ndata: no JSON\n\n", "unheard: of\n\n",
)  # fmt: skip
MARK = "\ufeff"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=ascii)
@each_read_by_us
async def test_every_legal_form_of_a_stream_is_read(wire: Wire, kind: str, end: str) -> None:
    events = [json.dumps(event, indent=1) for event in STREAMS[kind.partition(" ")[0]]]
    written = ["".join(f"data:{line}\n" for line in event.split("\n")) + "\n" for event in events]
    forms = [
        "".join(written),
        MARK + "".join(written),
        ": begin\n\n" + "".join(one + "".join(ASIDES) for one in written),
        "".join(f"id: 1\nretry: 5\nevent: \n{one}" for one in written),
    ]
    wire.will(*(page(form.replace("\n", end).encode(), "text/event-stream") for form in forms))
    model = made_once(kind, wire)

    for form in forms:
        assert (await model.respond(ask(), lambda delta: None)).text == "Hi", form


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stream_means_the_same_in_any_pieces(size: int) -> None:
    stream = b"\xef\xbb\xbfdata: a\r\ndata:b\r\n\r\nevent: x\rdata:  c\r\r:\n\ndata: d\n\ndata: e"
    decoder = EventDecoder()
    pieces = (stream[at : at + size] for at in range(0, len(stream), size))

    events = [event for piece in pieces for event in decoder.feed(piece)]

    assert events == [("", b"a\nb"), ("x", b" c"), ("", b"d")]
    assert list(decoder.end()) == [("", b"e")]


async def test_a_byte_order_mark_may_come_in_pieces() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"\xef", b"\xbb", b"\xbf", b"da", b"ta: {}"):
            yield piece

    response = httpx2.Response(200, content=pieces(), request=httpx2.Request("POST", "http://h/"))
    for hook in _http.watching("test", Secrets("test"))["response"]:
        await hook(response)

    assert await response.aread() == b"data: {}"


@pytest.mark.parametrize("count", ["1e999", "-1", "NaN", "1" + "0" * 400])
async def test_a_usage_that_cannot_be_counted_is_not_believed(wire: Wire, count: str) -> None:
    choice = '{"message": {"content": "Hi"}, "finish_reason": "stop"}'
    body = f'{{"choices": [{choice}], "usage": {{"prompt_tokens": {count}}}}}'

    error = await failure(wire, "chat", False, page(body.encode(), "application/json"))

    assert error.reason == "protocol"
    assert told_where(error, wire, "a usage of input_tokens")


@each_of_ours
def test_an_empty_base_url_is_refused_rather_than_taken_for_the_providers_own(kind: str) -> None:
    for empty in ("", " "):
        with pytest.raises(UsageError, match="is no address"):
            OURS[kind](empty)
