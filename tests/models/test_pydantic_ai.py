"""The bridge to pydantic-ai: any of its models, with what they reason and call kept."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel as TheirOpenAI
from pydantic_ai.providers.openai import OpenAIProvider
from tests.models.requests import WEATHER, answered, ask, called, history, results, texts
from tests.models.wire import Reply, Wire

from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    BlobPart,
    ModelMessage,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    user_message,
)
from toolwright.models import (
    Delta,
    ModelSettings,
    PydanticAIModel,
    google_maps_grounding,
    google_search,
    resolve_model,
)
from toolwright.models._pydantic_ai.wire import to_message

pytestmark = pytest.mark.anyio


class Scripted:
    """A pydantic-ai model that answers with `parts` and shows what it was sent."""

    def __init__(self, *parts: theirs.ModelResponsePart) -> None:
        self.parts = list(parts)
        self.messages: list[theirs.ModelMessage] = []
        self.info: AgentInfo | None = None
        self.model = PydanticAIModel(FunctionModel(self.respond))

    def respond(self, messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        self.messages, self.info = messages, info
        return theirs.ModelResponse(parts=self.parts)


async def test_a_question_tools_and_settings_arrive_and_the_answer_is_read() -> None:
    script = Scripted(theirs.TextPart("Hi there."))
    settings = ModelSettings(
        temperature=0.2, max_tokens=50, reasoning="low", tool_choice="required"
    )

    reply = await script.model.respond(
        ask("Hello", instructions="Be brief.", tools=(WEATHER,), settings=settings)
    )

    assert reply.text == "Hi there."
    assert reply.model.startswith("pydantic-ai:function:")
    assert reply.usage.requests == 1
    assert script.info is not None
    assert [tool.name for tool in script.info.function_tools] == ["get_weather"]
    assert script.info.instructions == "Be brief."
    sent: Any = script.info.model_settings
    assert (sent["temperature"], sent["max_tokens"], sent["tool_choice"]) == (0.2, 50, "required")


async def test_a_reply_goes_back_just_as_it_came() -> None:
    thought = theirs.ThinkingPart("Hm.", signature="c2ln", provider_name="function", id="t1")
    call = theirs.ToolCallPart("get_weather", {"city": "Oslo"}, tool_call_id="c1")
    script = Scripted(thought, call)

    first = await script.model.respond(ask("Weather?", tools=(WEATHER,)))
    await script.model.respond(
        history(user_message("Weather?"), first, answered("Rain", call_id="c1"))
    )

    assert first.parts == (
        ReasoningPart(text="Hm.", provider="pydantic-ai"),
        ToolCall(call_id="c1", name="get_weather", arguments='{"city": "Oslo"}'),
    )
    assert first.finish_reason == "calls"
    sent_back = script.messages[1]
    assert isinstance(sent_back, theirs.ModelResponse)
    assert list(sent_back.parts) == [thought, call]


async def test_other_models_turns_images_and_failures_are_translated() -> None:
    script = Scripted(theirs.TextPart("Hi."))
    picture = BlobPart(media_type="image/png", data=b"png")
    failed = ToolResult(
        call_id="call_1", name="get_weather", status="error", content=(TextPart("No"), picture)
    )

    await script.model.respond(
        history(
            UserMessage(
                (TextPart("See"), picture, BlobPart(media_type="image/png", url="http://x/y"))
            ),
            called("get_weather", '{"city": "Oslo"}'),
            results(failed),
        )
    )

    asked, turn, returned = (message.parts for message in script.messages)
    assert isinstance(asked[0], theirs.UserPromptPart)
    assert [type(part).__name__ for part in asked[0].content] == [
        "str",
        "BinaryContent",
        "ImageUrl",
    ]
    assert isinstance(turn[0], theirs.ToolCallPart)
    assert isinstance(returned[0], theirs.ToolReturnPart)
    assert (returned[0].outcome, returned[0].tool_call_id) == ("failed", "call_1")


async def test_pieces_are_handed_on_and_the_message_is_whole() -> None:
    async def stream(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        yield {0: DeltaThinkingPart(content="Hm.")}
        yield "Let me "
        yield "look."
        yield {3: DeltaToolCall(name="get_weather", json_args='{"city":', tool_call_id="c1")}
        yield {3: DeltaToolCall(json_args='"Oslo"}')}

    deltas: list[Delta] = []
    reply = await PydanticAIModel(FunctionModel(stream_function=stream)).respond(
        ask(tools=(WEATHER,)), deltas.append
    )

    assert texts(deltas) == reply.text == "Let me look."
    assert texts(deltas, "reasoning") == "Hm."
    assert texts(deltas, "call") == reply.calls[0].arguments == '{"city":"Oslo"}'


async def test_structured_output_is_asked_for(wire: Wire) -> None:
    wire.will(COMPLETION)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    await over_http(wire).respond(ask(output_schema=schema))

    assert wire.bodies[0]["response_format"] == snapshot(
        {
            "type": "json_schema",
            "json_schema": {
                "name": "final_result",
                "schema": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                    "additionalProperties": False,
                },
                "strict": True,
            },
        }
    )


COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4.1",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}


def over_http(wire: Wire) -> PydanticAIModel:
    return PydanticAIModel(
        TheirOpenAI("gpt-4.1", provider=OpenAIProvider(base_url=wire.url, api_key="k"))
    )


async def test_usage_has_tokens_and_pydantic_ais_price(wire: Wire) -> None:
    wire.will(COMPLETION)

    usage = (await over_http(wire).respond(ask())).usage

    assert (usage.input_tokens, usage.output_tokens) == (10, 5)
    assert usage.cost == pytest.approx((10 * 2 + 5 * 8) / 1e6)


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (401, "invalid_api_key", "auth"),
        (400, "context_length_exceeded", "context_too_long"),
        (422, None, "bad_request"),
    ],
)
async def test_failures_have_our_reasons(
    wire: Wire, status: int, code: str | None, reason: str
) -> None:
    wire.will(Reply(status=status, body={"error": {"message": "no", "code": code}}))

    with pytest.raises(ModelError) as raised:
        await over_http(wire).respond(ask())

    assert (raised.value.reason, raised.value.status) == (reason, status)


async def test_a_server_tool_without_an_equivalent_is_a_usage_error() -> None:
    script = Scripted(theirs.TextPart("Hi."))

    with pytest.raises(UsageError, match="nothing like"):
        await script.model.respond(ask(server_tools=(google_maps_grounding,)))


async def test_a_server_tool_that_the_model_lacks_is_a_usage_error(wire: Wire) -> None:
    with pytest.raises(UsageError, match=r"gpt-4\.1"):
        await over_http(wire).respond(ask(server_tools=(google_search,)))


def test_names_are_pydantic_ais_own() -> None:
    assert resolve_model("pydantic-ai:test").name == "pydantic-ai:test:test"
    with pytest.raises(UsageError, match="pydantic-ai has no model 'nobody:x'"):
        resolve_model("pydantic-ai:nobody:x")


async def test_text_that_is_no_valid_unicode_can_be_sent() -> None:
    odd = "decoy-\udcff.txt"
    said = ToolCall(call_id="c", name="n", arguments=f'{{"path": "{odd}"}}')
    result = ToolResult(call_id="c", name="n", status="ok", content=(TextPart(odd),))
    sent = [
        to_message(user_message(odd)),
        to_message(ModelMessage(parts=(TextPart(odd), said))),
        to_message(ToolMessage((result,))),
    ]
    written = theirs.ModelMessagesTypeAdapter.dump_json(sent).decode()
    assert written.count("decoy-?.txt") == 4
