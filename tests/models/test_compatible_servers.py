"""What servers that copy OpenAI's protocol send is read, and sent back as they want it."""

import re
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from tests.models.compatible import HABITS, PARIS, USAGE, Habit, chunk, piece, whole
from tests.models.requests import WEATHER, answered, ask, called, history, texts
from tests.models.wire import Reply, Wire, sse

from toolwright.errors import ModelError
from toolwright.messages import ReasoningPart, user_message
from toolwright.models import Delta, ModelSettings, OpenAIChatModel, Retries
from toolwright.models._openai.chat_reply import ChatReply
from toolwright.models._openai.thoughts import Thoughts

pytestmark = pytest.mark.anyio
ONCE = Retries(attempts=1)
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "models.md"


def model(wire: Wire, provider: str = "own", **settings: Any) -> OpenAIChatModel:
    return OpenAIChatModel("m", provider=provider, base_url=wire.url, retries=ONCE, **settings)


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: f"{habit.server}: {habit.what}")
async def test_a_habit_is_understood(wire: Wire, habit: Habit) -> None:
    asked = model(wire, calls_in_text=habit.calls_in_text)
    deltas: list[Delta] = []
    if habit.streamed:
        wire.will(sse(*habit.replies, done="[DONE]" if habit.done else ""))
    else:
        wire.will(*habit.replies)

    reply = await asked.respond(ask(tools=(WEATHER,)), deltas.append if habit.streamed else None)

    reasoning = [part for part in reply.parts if isinstance(part, ReasoningPart)]
    usage = reply.usage
    assert reply.text == habit.text
    assert "".join(part.text for part in reasoning) == habit.reasoning
    assert [(call.name, call.arguments) for call in reply.calls] == list(habit.calls)
    assert len({call.call_id for call in reply.calls}) == len(habit.calls)
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == habit.usage
    assert reply.finish_reason == habit.finish
    if habit.streamed:
        assert texts(deltas) == habit.text
        assert texts(deltas, "reasoning") == habit.reasoning
    wire.will(whole(content="Bye"))
    await asked.respond(history(user_message("Hi"), reply, user_message("And?")))
    turn = wire.bodies[-1]["messages"][1]
    plain = {"role": "assistant", "content": habit.text or None}
    assert {key: turn[key] for key in turn if key != "tool_calls"} == {**plain, **habit.sent_back}


def test_the_guide_has_a_row_for_every_habit() -> None:
    guide = GUIDE.read_text()
    for habit in HABITS:
        row = re.compile(rf"^\| {re.escape(habit.server)} \|.*{re.escape(habit.source)}", re.M)
        assert row.search(guide), f"{habit.server}: {habit.source}"


@pytest.mark.parametrize(
    ("provider", "fields"),
    [
        ("openai-chat", {"max_tokens": 5, "seed": 7, "stream_options": {"include_usage": True}}),
        ("mistral", {"max_tokens": 5, "random_seed": 7}),
        (
            "groq",
            {"max_completion_tokens": 5, "seed": 7, "stream_options": {"include_usage": True}},
        ),
    ],
)
async def test_each_is_asked_in_its_own_words(wire: Wire, provider: str, fields: Any) -> None:
    wire.will(sse(chunk("stop", content="Hi"), done="[DONE]"))

    await model(wire, provider).respond(
        ask(settings=ModelSettings(max_tokens=5, seed=7)), lambda delta: None
    )

    body = wire.bodies[0]
    assert {key: body[key] for key in body.keys() - {"model", "messages", "stream"}} == fields


async def test_deepseek_gets_the_field_that_it_demands_of_another_models_calls(wire: Wire) -> None:
    turns = history(user_message("Hi"), called("get_weather", PARIS), answered("Sunny"))
    wire.will(whole(content="Hi"), whole(content="Hi"))

    await model(wire, "deepseek").respond(turns)
    await model(wire, "together").respond(turns)

    assert wire.bodies[0]["messages"][1]["reasoning_content"] == ""
    assert "reasoning_content" not in wire.bodies[1]["messages"][1]


async def test_calls_in_the_text_stay_text_unless_the_setting_says_otherwise(wire: Wire) -> None:
    written = f'<tool_call>{{"name": "get_weather", "arguments": {PARIS}}}</tool_call>'
    wire.will(whole(content=written))

    reply = await model(wire).respond(ask(tools=(WEATHER,)))

    assert (reply.text, reply.calls) == (written, ())


@pytest.mark.parametrize(
    "written",
    [
        '<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "get_weather"}</tool_call> is how one calls it.',
        'Write `<tool_call>{"name": "get_weather"}</tool_call>` for it.',
        '<tool_call>{"name": "get_weather", "arguments": {"ci',
        "<function=get_weather>",
        '{"name": "get_weather", "description": "a tool"}',
        '{"name": 5}',
        "[get_weather(**x)]",
        "[get_weather(open('x'))]",
        "[TOOL_CALLS] nothing",
        "```json\n[1]\n```",
        "[1, 2]",
        "  ",
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_what_only_looks_like_a_call_stays_text(wire: Wire, written: str, size: int) -> None:
    pieces = [written[at : at + size] for at in range(0, len(written), size)]
    wire.will(sse(*(chunk(content=one) for one in pieces), chunk("stop"), done="[DONE]"))
    deltas: list[Delta] = []

    reply = await model(wire, calls_in_text=True).respond(ask(tools=(WEATHER,)), deltas.append)

    assert (reply.text, reply.calls, texts(deltas)) == (written, (), written)


@pytest.mark.parametrize(
    "written",
    [
        f'<tool_call>{{"name": "get_weather", "arguments": {PARIS}}}</tool_call>',
        f'[TOOL_CALLS][{{"name": "get_weather", "arguments": {PARIS}}}]',
        f"[TOOL_CALLS]get_weather[ARGS]{PARIS}",
        f"[TOOL_CALLS]get_weather{PARIS}",
        f'<|python_tag|>{{"name": "get_weather", "parameters": {PARIS}}}',
        f'{{"type": "function", "function": {{"name": "get_weather", "parameters": {PARIS}}}}}',
        '[get_weather(city="Paris")]',
        "<function=get_weather><parameter=city>Paris</parameter></function>",
    ],
    ids=["hermes", "mistral", "mistral-args", "mistral-named", "llama", "json", "python", "coder"],
)
@pytest.mark.parametrize("before", ["", "Let me see.\n\n"], ids=["alone", "after"])
async def test_the_common_formats_are_known(wire: Wire, written: str, before: str) -> None:
    if before and written[0] in "{[" and not written.startswith("[TOOL"):
        pytest.skip("without a mark, a call is one only where nothing precedes it")
    text = before + written
    wire.will(sse(*(chunk(content=char) for char in text), chunk("stop", USAGE), done="[DONE]"))
    deltas: list[Delta] = []

    reply = await model(wire, calls_in_text=True).respond(ask(tools=(WEATHER,)), deltas.append)

    [call] = reply.calls
    assert (reply.text, call.name, call.arguments) == (before.rstrip(), "get_weather", PARIS)
    assert (texts(deltas), texts(deltas, "call"), reply.finish_reason) == (
        before.rstrip(),
        PARIS,
        "calls",
    )


ODD_WHOLES: dict[str, tuple[Any, tuple[str, list[str], float]]] = {
    "texts in a list": (whole(content=["H", "i"]), ("Hi", [], 0.0)),
    "output_text in a list": (whole(content=[{"type": "output_text", "text": "Hi"}]), ("Hi", [], 0.0)),
    "a text without a type": (whole(content=[{"text": "Hi"}]), ("Hi", [], 0.0)),
    "a cost as a text": ({**whole(content="Hi"), "usage": {"cost": "0.25"}}, ("Hi", [], 0.25)),
    "a number for an id": (
        whole(tool_calls=[{"id": 5, "function": {"name": "f", "arguments": "{}"}}]),
        ("", ["5"], 0.0),
    ),
    "two replies": (
        {"choices": [
            {"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"},
            {"index": 1, "message": {"content": "Ho"}, "finish_reason": "length"},
        ]},
        ("Hi", [], 0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD_WHOLES)
async def test_small_liberties_are_read(wire: Wire, odd: str) -> None:
    body, (text, ids, cost) = ODD_WHOLES[odd]
    wire.will(body)

    reply = await model(wire).respond(ask())

    assert (reply.text, [call.call_id for call in reply.calls], reply.usage.cost) == (
        text,
        ids,
        cost,
    )
    assert reply.finish_reason in ("stop", "calls")


async def test_of_two_streamed_replies_the_first_is_read(wire: Wire) -> None:
    choices = [
        {"index": index, "delta": {"content": text}, "finish_reason": finish}
        for text, finish in (("H", None), ("i", "stop"))
        for index in (0, 1)
    ]
    wire.will(sse(*({"choices": [choice]} for choice in choices), done="[DONE]"))
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(), deltas.append)

    assert (reply.text, texts(deltas)) == ("Hi", "Hi")


@pytest.mark.parametrize("opening", ["", "<think>a</think>"])
def test_blanks_before_the_first_word_are_kept_apart(opening: str) -> None:
    thoughts = Thoughts()
    said = [*thoughts.hear(opening)]
    said += [piece for _ in range(3) for piece in thoughts.hear("\n")]

    assert thoughts._held == ""  # else each piece would be looked at with all before it
    said += [*thoughts.hear("b "), *thoughts.hear(" "), *thoughts.end()]
    begun = [("reasoning", "a"), ("text", "b ")] if opening else [("text", "\n\n\nb ")]
    assert said == [*begun, ("text", " ")]


def by_variable(url: str, monkeypatch: pytest.MonkeyPatch) -> OpenAIChatModel:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    return OpenAIChatModel("m", retries=ONCE)


def by_client(url: str, monkeypatch: pytest.MonkeyPatch) -> OpenAIChatModel:
    client = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0)
    return OpenAIChatModel("m", client=client, retries=ONCE)


def by_argument(url: str, monkeypatch: pytest.MonkeyPatch) -> OpenAIChatModel:
    return OpenAIChatModel("m", base_url=url, retries=ONCE)


@pytest.mark.parametrize("made", [by_variable, by_client, by_argument])
async def test_a_server_is_known_by_its_address_however_that_is_given(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    wire.will(whole(content="<think>Hm</think>Hi"))

    reply = await made(wire.url, monkeypatch).respond(ask(settings=ModelSettings(max_tokens=9)))

    assert [part.text for part in reply.parts] == ["Hm", "Hi"]
    assert wire.bodies[0]["max_tokens"] == 9


def at(address: str) -> OpenAIChatModel:
    """A model at an address that is not connected to."""
    answer = whole(content="<think> is a tag.")
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=answer))
    client = openai.AsyncOpenAI(
        api_key="k", base_url=address, http_client=httpx2.AsyncClient(transport=transport)
    )
    return OpenAIChatModel("m", client=client, retries=ONCE)


@pytest.mark.parametrize(
    ("address", "openais"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://mine.openai.azure.com/openai/v1", True),
        ("https://notapi.openai.com/v1", False),
        ("https://api.openai.com.example/v1", False),
        ("https://gateway.example/api.openai.com", False),
    ],
)
async def test_openai_itself_may_write_about_the_tag(address: str, openais: bool) -> None:
    reply = await at(address).respond(ask())

    assert reply.parts[0].kind == ("text" if openais else "reasoning")


@pytest.mark.parametrize(
    ("pieces", "reasoning", "text"),
    [
        (["<think>a</think>b <think>c</think>"], "a", "b <think>c</think>"),
        (["<think>a</think>\n<think>b</think>\nc"], "ab", "c"),
        ([" <th", "ink>\n", "a <", "/think", "> b"], "a ", "b"),
        (["<think>", "\n", "\n", "a</think>b"], "a", "b"),
        (["<thing>"], "", "<thing>"),
        (["  <", "b>"], "", "  <b>"),
        (["a<think>b</think>"], "", "a<think>b</think>"),
        (["<think>a</think>"], "a", ""),
        (["<th"], "", "<th"),
    ],
)
async def test_thoughts_are_taken_from_the_beginning_alone(
    wire: Wire, pieces: list[str], reasoning: str, text: str
) -> None:
    wire.will(sse(*(chunk(content=one) for one in pieces), chunk("stop"), done="[DONE]"))
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(), deltas.append)

    assert (texts(deltas, "reasoning"), texts(deltas), reply.text) == (reasoning, text, text)


async def test_a_stream_without_a_reason_or_a_sign_of_its_end_has_broken_off(wire: Wire) -> None:
    wire.will(sse(chunk(content="Hi")))

    with pytest.raises(ModelError, match="broke off") as caught:
        await model(wire).respond(ask(), lambda delta: None)

    assert caught.value.retryable


async def test_a_server_that_does_not_stream_is_read_all_the_same(wire: Wire) -> None:
    call = piece(None, id="a", name="get_weather", arguments=PARIS)
    wire.will(whole("tool_calls", content="Hi", tool_calls=[call]))
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(), deltas.append)

    assert (reply.text, texts(deltas), texts(deltas, "call")) == ("Hi", "Hi", PARIS)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limit"),
        ({"error": {"code": 502, "message": "upstream"}, "user_id": "u"}, "server"),
        (
            {
                "choices": [
                    {"error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}
                ]
            },
            "server",
        ),
        ({"error": "model not loaded"}, "server"),
        (whole("insufficient_system_resource", content="Half"), "server"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
async def test_an_error_under_a_good_status_is_one(
    wire: Wire, answer: Any, reason: str, streamed: bool
) -> None:
    """OpenRouter's documentation: https://openrouter.ai/docs/api/reference/errors-and-debugging"""
    wire.will(sse(answer, done="[DONE]") if streamed else Reply(body=answer))

    with pytest.raises(ModelError) as caught:
        await model(wire).respond(ask(), (lambda delta: None) if streamed else None)

    assert (caught.value.reason, caught.value.retryable) == (reason, True)


def heard(*choices: dict[str, Any]) -> list[tuple[str, str]]:
    reply = ChatReply("test:m", "test")
    for choice in choices:
        reply.hear({"choices": [choice]})
    calls = reply.end(done=True).calls
    assert len({call.call_id for call in calls}) == len(calls)
    return [(call.name, call.arguments) for call in calls]


def tgi(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"id": "0", "function": {"name": name, "arguments": arguments}, **more}


def test_each_entry_of_a_whole_reply_is_a_call_of_its_own() -> None:
    for first, second in (("f", "g"), ("f", "f")):
        calls = [tgi(first, {"x": 1}), tgi(second, {"x": 2})]
        found = heard({"message": {"tool_calls": calls}})
        assert found == [(first, '{"x": 1}'), (second, '{"x": 2}')]
    same = [tgi("f", '{"x": 1}', index=0)] * 2
    assert heard({"message": {"tool_calls": same}}) == [("f", '{"x": 1}')] * 2
    nameless = [{"function": {"name": "f", "arguments": ""}}, {"function": {"name": "f"}}]
    assert heard({"message": {"tool_calls": nameless}}) == [("f", "{}")] * 2


def test_whole_calls_in_a_stream_are_calls_of_their_own_though_index_and_id_are_the_same() -> None:
    for first, second in (("f", "g"), ("f", "f")):
        pieces = [tgi(first, '{"x": 1}', index=0), tgi(second, '{"x": 2}', index=0)]
        found = heard(*({"delta": {"tool_calls": [piece]}} for piece in pieces))
        assert found == [(first, '{"x": 1}'), (second, '{"x": 2}')]


def test_a_call_that_is_repeated_at_the_end_of_a_stream_is_one() -> None:
    pieces = [tgi("f", '{"x":', index=0), tgi("f", " 1}", index=0), tgi("f", '{"x": 1}', index=0)]
    assert heard(*({"delta": {"tool_calls": [piece]}} for piece in pieces)) == [("f", '{"x": 1}')]
