"""The Gemini adapter: the official SDK against a server that speaks its wire format."""

import base64
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.models.requests import WEATHER, answered, ask, called, history, results, texts
from tests.models.wire import Reply, Wire, sse

from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    BlobPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolResult,
    ToolSpec,
    UserMessage,
    user_message,
)
from toolwright.models import (
    Delta,
    GeminiModel,
    ModelSettings,
    Retries,
    VertexAiSearchTool,
    code_execution,
    enterprise_web_search,
    google_maps_grounding,
    google_search,
    url_context,
)

pytestmark = pytest.mark.anyio


def model(wire: Wire, name: str = "gemini-2.5-flash", **options: Any) -> GeminiModel:
    retries = Retries(first_wait=0.0)
    return GeminiModel(name, api_key="k", base_url=wire.url, retries=retries, **options)


def response(*parts: Any, finish: str | None = "STOP", **candidate: Any) -> dict[str, Any]:
    """A reply, or a chunk of one, as the API writes it."""
    reply: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, **candidate}
    if finish:
        reply["finishReason"] = finish
    return {
        "responseId": "r1",
        "candidates": [reply],
        "usageMetadata": {
            "promptTokenCount": 90,
            "toolUsePromptTokenCount": 10,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 12,
            "thoughtsTokenCount": 8,
        },
    }


def function_call(city: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "get_weather", "args": {"city": city}, **more}}


async def test_a_plain_question_is_sent_and_its_answer_read(wire: Wire) -> None:
    wire.will(response({"text": "Hi there."}))

    reply = await model(wire).respond(ask("Hello", instructions="Be brief.", tools=(WEATHER,)))

    assert (reply.text, reply.finish_reason) == ("Hi there.", "stop")
    assert reply.model == "google:gemini-2.5-flash"
    assert wire.requests[0].path == "/v1/models/gemini-2.5-flash:generateContent"
    assert wire.requests[0].headers["x-goog-api-key"] == "k"
    assert wire.bodies == snapshot(
        [
            {
                "contents": [{"parts": [{"text": "Hello"}], "role": "user"}],
                "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
                "tools": [
                    {
                        "functionDeclarations": [
                            {
                                "description": "The weather in a city.",
                                "name": "get_weather",
                                "parametersJsonSchema": {
                                    "type": "object",
                                    "properties": {
                                        "city": {"type": "string", "description": "Which city."}
                                    },
                                    "required": ["city"],
                                },
                            }
                        ]
                    }
                ],
                "generationConfig": {},
            }
        ]
    )


async def test_usage_counts_thoughts_cache_and_server_tools_and_has_a_cost(wire: Wire) -> None:
    wire.will(response({"text": "Hi."}))

    usage = (await model(wire).respond(ask())).usage

    assert (usage.input_tokens, usage.cached_tokens) == (100, 40)
    assert (usage.output_tokens, usage.reasoning_tokens) == (20, 8)
    assert usage.cost == pytest.approx((60 * 0.3 + 40 * 0.03 + 20 * 2.5) / 1e6)


async def test_thought_signatures_are_kept_and_sent_back_where_they_were(wire: Wire) -> None:
    wire.will(
        response(
            {"text": "Rain is likely.", "thought": True},
            {"text": "Let me look."},
            {**function_call("Oslo", id="fc_1"), "thoughtSignature": "c2lnMQ=="},
            function_call("Rome", id="fc_2"),
        ),
        response({"text": "Wet.", "thoughtSignature": "c2lnMg=="}),
        response({"text": "Bye."}),
    )
    gemini = model(wire, "gemini-3-pro-preview")

    first = await gemini.respond(ask("Weather?", tools=(WEATHER,)))
    both = results(
        ToolResult(call_id="fc_1", name="get_weather", status="ok", content=(TextPart("Rain"),)),
        ToolResult(call_id="fc_2", name="get_weather", status="error", content=(TextPart("No"),)),
    )
    second = await gemini.respond(history(user_message("Weather?"), first, both))
    await gemini.respond(
        history(user_message("Weather?"), first, both, second, user_message("Thanks"))
    )

    assert first.finish_reason == "calls"
    assert isinstance(first.parts[0], ReasoningPart)
    assert wire.bodies[2]["contents"] == snapshot(
        [
            {"parts": [{"text": "Weather?"}], "role": "user"},
            {
                "parts": [
                    {"text": "Rain is likely.", "thought": True},
                    {"text": "Let me look."},
                    {
                        "functionCall": {
                            "id": "fc_1",
                            "args": {"city": "Oslo"},
                            "name": "get_weather",
                        },
                        "thoughtSignature": "c2lnMQ==",
                    },
                    {
                        "functionCall": {
                            "id": "fc_2",
                            "args": {"city": "Rome"},
                            "name": "get_weather",
                        }
                    },
                ],
                "role": "model",
            },
            {
                "parts": [
                    {
                        "functionResponse": {
                            "id": "fc_1",
                            "name": "get_weather",
                            "response": {"output": "Rain"},
                        }
                    },
                    {
                        "functionResponse": {
                            "id": "fc_2",
                            "name": "get_weather",
                            "response": {"error": "No"},
                        }
                    },
                ],
                "role": "user",
            },
            {"parts": [{"text": "Wet.", "thoughtSignature": "c2lnMg=="}], "role": "model"},
            {"parts": [{"text": "Thanks"}], "role": "user"},
        ]
    )


async def test_calls_of_other_models_are_marked_as_unsigned_for_models_that_insist(
    wire: Wire,
) -> None:
    wire.will(*[response({"text": "Hi."})] * 2)
    talk = history(user_message("a"), called("get_weather", "{}"), answered("Rain"))

    await model(wire, "gemini-3-pro-preview").respond(talk)
    await model(wire, "gemini-2.5-flash").respond(talk)

    newer, older = (body["contents"][1]["parts"][0] for body in wire.bodies)
    assert base64.b64decode(newer["thoughtSignature"]) == b"skip_thought_signature_validator"
    assert "thoughtSignature" not in older


async def test_a_call_without_an_id_gets_one_that_the_api_never_sees(wire: Wire) -> None:
    wire.will(response(function_call("Oslo"), function_call("Rome")), response({"text": "Wet."}))

    first = await model(wire).respond(ask("Weather?", tools=(WEATHER,)))
    one, two = (call.call_id for call in first.calls)
    both = results(
        ToolResult(call_id=one, name="get_weather", status="ok", content=(TextPart("Rain"),)),
        ToolResult(call_id=two, name="get_weather", status="ok", content=(TextPart("Sun"),)),
    )
    await model(wire).respond(history(user_message("Weather?"), first, both))

    assert one != two
    assert "tw_" not in str(wire.bodies[1])


async def test_images_go_in_and_come_back_inside_a_result_where_the_model_allows_it(
    wire: Wire,
) -> None:
    wire.will(*[response({"text": "A cat."})] * 2)
    picture = BlobPart(media_type="image/png", data=b"png")
    linked = BlobPart(media_type="video/mp4", url="gs://bucket/v.mp4")
    talk = history(
        UserMessage((TextPart("What?"), picture, linked)),
        called("get_weather", '{"city": "Oslo"}'),
        answered("Here:", picture),
    )

    await model(wire, "gemini-3-flash-preview").respond(talk)
    await model(wire, "gemini-2.5-flash").respond(talk)

    assert wire.bodies[0]["contents"][0] == snapshot(
        {
            "parts": [
                {"text": "What?"},
                {"inlineData": {"data": "cG5n", "mimeType": "image/png"}},
                {"fileData": {"fileUri": "gs://bucket/v.mp4", "mimeType": "video/mp4"}},
            ],
            "role": "user",
        }
    )
    assert [body["contents"][2] for body in wire.bodies] == snapshot(
        [
            {
                "parts": [
                    {
                        "functionResponse": {
                            "parts": [{"inlineData": {"mimeType": "image/png", "data": "cG5n"}}],
                            "id": "call_1",
                            "name": "get_weather",
                            "response": {"output": "Here:"},
                        }
                    }
                ],
                "role": "user",
            },
            {
                "parts": [
                    {
                        "functionResponse": {
                            "id": "call_1",
                            "name": "get_weather",
                            "response": {"output": "Here:"},
                        }
                    },
                    {"inlineData": {"data": "cG5n", "mimeType": "image/png"}},
                ],
                "role": "user",
            },
        ]
    )


async def test_a_made_image_becomes_a_blob(wire: Wire) -> None:
    wire.will(response({"inlineData": {"mimeType": "image/png", "data": "cG5n"}}))

    reply = await model(wire).respond(ask("Draw"))

    assert reply.parts == (BlobPart(media_type="image/png", data=b"png"),)


async def test_settings_reach_the_request(wire: Wire) -> None:
    wire.will(*[response({"text": "Hi."})] * 2)
    settings = ModelSettings(
        temperature=0.2,
        top_p=0.9,
        max_tokens=50,
        stop=("END",),
        seed=7,
        reasoning="low",
        tool_choice="get_weather",
        extra={"safetySettings": []},
    )

    await model(wire).respond(ask(tools=(WEATHER,), settings=settings))
    await model(wire, "gemini-3-pro-preview").respond(ask(settings=settings))

    for body in wire.bodies:
        body.pop("contents")
        body.pop("tools", None)
    assert wire.bodies == snapshot(
        [
            {
                "toolConfig": {
                    "functionCallingConfig": {
                        "allowedFunctionNames": ["get_weather"],
                        "mode": "ANY",
                    }
                },
                "generationConfig": {
                    "temperature": 0.2,
                    "topP": 0.9,
                    "maxOutputTokens": 50,
                    "stopSequences": ["END"],
                    "seed": 7,
                    "thinkingConfig": {"include_thoughts": True, "thinking_budget": 1024},
                },
                "safetySettings": [],
            },
            {
                "generationConfig": {
                    "temperature": 0.2,
                    "topP": 0.9,
                    "maxOutputTokens": 50,
                    "stopSequences": ["END"],
                    "seed": 7,
                    "thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"},
                },
                "safetySettings": [],
            },
        ]
    )


@pytest.mark.parametrize(
    ("name", "reasoning", "sent"),
    [
        ("gemini-2.5-flash", "none", {"include_thoughts": False, "thinking_budget": 0}),
        ("gemini-2.5-pro", "none", {"include_thoughts": False, "thinking_budget": 128}),
        (
            "gemini-3-flash-preview",
            "none",
            {"include_thoughts": False, "thinking_level": "MINIMAL"},
        ),
        ("gemini-4-argon", "none", {"include_thoughts": False, "thinking_level": "LOW"}),
        ("gemini-flash-latest", "high", {"include_thoughts": True, "thinking_level": "HIGH"}),
        ("gemini-2.0-flash", "high", None),
    ],
)
async def test_models_think_as_they_can(
    wire: Wire, name: str, reasoning: Any, sent: dict[str, Any] | None
) -> None:
    wire.will(response({"text": "Hi."}))

    await model(wire, name).respond(ask(settings=ModelSettings(reasoning=reasoning)))

    assert wire.bodies[0]["generationConfig"].get("thinkingConfig") == sent


async def test_structured_output_is_a_schema_or_said_in_words_beside_tools(wire: Wire) -> None:
    wire.will(*[response({"text": "{}"})] * 3)
    schema = {"type": "object", "properties": {"n": {"const": 1}}, "required": ["n"]}

    await model(wire).respond(ask(output_schema=schema))
    await model(wire).respond(ask(output_schema=schema, tools=(WEATHER,)))
    await model(wire, "gemini-3-pro-preview").respond(ask(output_schema=schema, tools=(WEATHER,)))

    alone, beside, newer = wire.bodies
    assert (
        alone["generationConfig"]
        == newer["generationConfig"]
        == snapshot(
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {
                    "type": "object",
                    "properties": {"n": {"enum": [1]}},
                    "required": ["n"],
                },
            }
        )
    )
    assert beside["generationConfig"] == {}
    assert "fits this JSON Schema" in str(beside["systemInstruction"])


# -- server-side tools ----------------------------------------------------------------------------

GROUNDED = {
    "groundingMetadata": {"groundingChunks": [{"web": {"title": "yr.no", "uri": "https://yr.no"}}]}
}


@pytest.mark.row("001-05", "004-Z1b")
async def test_a_server_tool_alone_is_sent_with_the_request(wire: Wire) -> None:
    code = {"executableCode": {"code": "print(1)", "language": "PYTHON"}}
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    wire.will(response(code, ran, {"text": "One."}, **GROUNDED), response({"text": "Yes."}))
    tools = (google_search, url_context, code_execution)

    first = await model(wire).respond(ask("Look", server_tools=tools))
    await model(wire).respond(history(user_message("Look"), first, user_message("Sure?")))

    assert wire.bodies[0]["tools"] == snapshot(
        [{"googleSearch": {}}, {"urlContext": {}}, {"codeExecution": {}}]
    )
    assert isinstance(first.parts[0], ServerToolPart)
    assert first.meta["grounding"]["grounding_chunks"][0]["web"]["title"] == "yr.no"
    assert wire.bodies[1]["contents"][1]["parts"][:2] == [code, ran]


async def test_newer_models_take_server_tools_beside_functions(wire: Wire) -> None:
    searched = {
        "toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "oslo"}},
        "thoughtSignature": "c2ln",
    }
    wire.will(response(searched, function_call("Oslo", id="fc_1")), response({"text": "Wet."}))
    gemini = model(wire, "gemini-3-pro-preview")
    mixed: dict[str, Any] = {"tools": (WEATHER,), "server_tools": (google_search,)}

    first = await gemini.respond(ask("Look", **mixed))
    await gemini.respond(
        history(user_message("Look"), first, answered("Rain", call_id="fc_1"), **mixed)
    )

    assert wire.bodies[0]["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert {"googleSearch": {}} in wire.bodies[0]["tools"]
    sent_back = wire.bodies[1]["contents"][1]["parts"][0]
    assert sent_back["thoughtSignature"] == "c2ln"
    assert sent_back["toolCall"]["args"] == {"q": "oslo"}


@pytest.mark.row("004-Z1a")
async def test_older_models_are_offered_the_search_as_a_function_and_it_is_asked_apart(
    wire: Wire,
) -> None:
    search = {"functionCall": {"name": "google_search", "args": {"request": "Oslo weather?"}}}
    wire.will(
        response(search),
        response({"text": "It rains."}, **GROUNDED),
        response({"text": "Take an umbrella."}),
        response({"text": "Bye."}),
    )
    mixed: dict[str, Any] = {"tools": (WEATHER,), "server_tools": (google_search,)}

    reply = await model(wire).respond(ask("Umbrella?", **mixed))
    await model(wire).respond(
        history(user_message("Umbrella?"), reply, user_message("Thanks"), **mixed)
    )

    assert (reply.text, reply.finish_reason) == ("Take an umbrella.", "stop")
    assert reply.calls == ()
    assert reply.usage.requests == 3
    offered, apart, after, later = wire.bodies
    assert [f["name"] for tool in offered["tools"] for f in tool["functionDeclarations"]] == [
        "get_weather",
        "google_search",
    ]
    assert (apart["tools"], apart["contents"]) == snapshot(
        ([{"googleSearch": {}}], [{"parts": [{"text": "Oslo weather?"}], "role": "user"}])
    )
    assert after["contents"][1:] == snapshot(
        [
            {
                "parts": [
                    {
                        "functionCall": {
                            "args": {"request": "Oslo weather?"},
                            "name": "google_search",
                        }
                    }
                ],
                "role": "model",
            },
            {
                "parts": [
                    {
                        "functionResponse": {
                            "name": "google_search",
                            "response": {
                                "output": """\
It rains.

Sources:
yr.no: https://yr.no\
"""
                            },
                        }
                    }
                ],
                "role": "user",
            },
        ]
    )
    assert later["contents"][:3] == after["contents"]


async def test_calls_to_both_kinds_in_one_turn_are_each_answered_by_their_own(wire: Wire) -> None:
    search = {"functionCall": {"name": "google_search", "args": {"request": "Oslo?"}}}
    wire.will(
        response(function_call("Rome"), search),
        response({"text": "It rains."}),
        response({"text": "Wet."}),
    )
    mixed: dict[str, Any] = {"tools": (WEATHER,), "server_tools": (google_search,)}

    first = await model(wire).respond(ask("Both?", **mixed))
    result = answered("Sun", call_id=first.calls[0].call_id)
    await model(wire).respond(history(user_message("Both?"), first, result, **mixed))

    assert [call.name for call in first.calls] == ["get_weather"]
    assert first.finish_reason == "calls"
    roles = [
        (content["role"], [next(iter(part)) for part in content["parts"]])
        for content in wire.bodies[2]["contents"]
    ]
    assert roles == snapshot(
        [
            ("user", ["text"]),
            ("model", ["functionCall"]),
            ("user", ["functionResponse"]),
            ("model", ["functionCall"]),
            ("user", ["functionResponse"]),
        ]
    )


async def test_side_calls_are_not_streamed_to_the_listener(wire: Wire) -> None:
    search = {"functionCall": {"name": "google_search", "args": {"request": "Oslo?"}}}
    wire.will(
        sse(response(search)),
        response({"text": "It rains."}, **GROUNDED),
        sse(response({"text": "And Rome?"}, search, function_call("Rome"))),
        response({"text": "It pours."}, **GROUNDED),
    )
    deltas: list[Delta] = []

    reply = await model(wire).respond(
        ask(tools=(WEATHER,), server_tools=(google_search,)), deltas.append
    )

    assert [(delta.kind, delta.name, delta.index) for delta in deltas] == [
        ("text", "", 0),
        ("call", "get_weather", 0),
    ]
    assert len(reply.meta["side_grounding"]) == 2


async def test_a_model_that_only_searches_is_stopped(wire: Wire) -> None:
    search = {"functionCall": {"name": "google_search", "args": {"request": "Oslo?"}}}
    wire.will(*[response(search), response({"text": "It rains."})] * 8)

    with pytest.raises(ModelError, match="still only calls server tools") as caught:
        await model(wire).respond(ask(tools=(WEATHER,), server_tools=(google_search,)))

    assert f"[{wire.url}]" in str(caught.value)
    assert caught.value.status == 200


async def test_a_tool_of_ones_own_cannot_have_a_server_tools_name(wire: Wire) -> None:
    clash = ToolSpec(name="google_search")
    with pytest.raises(UsageError, match="rename yours"):
        await model(wire).respond(ask(tools=(clash,), server_tools=(google_search,)))


async def test_a_side_request_that_fails_is_told_to_the_model(wire: Wire) -> None:
    search = {"functionCall": {"name": "google_search", "args": {"request": "Oslo?"}}}
    wire.will(response(search), failing(400, "INVALID_ARGUMENT"), response({"text": "No idea."}))

    await model(wire).respond(ask(tools=(WEATHER,), server_tools=(google_search,)))

    assert "This failed" in str(wire.bodies[2]["contents"][2])


@pytest.mark.row("004-Z2")
async def test_vertex_search_beside_functions_needs_leave(wire: Wire) -> None:
    wire.will(response({"text": "Hi."}))
    vertex = model(wire, vertex=True)

    with pytest.raises(UsageError, match="bypass_multi_tools_limit=True"):
        await vertex.respond(
            ask(tools=(WEATHER,), server_tools=(VertexAiSearchTool(data_store_id="ds"),))
        )
    allowed = VertexAiSearchTool(data_store_id="ds", bypass_multi_tools_limit=True)
    await vertex.respond(ask(tools=(WEATHER,), server_tools=(allowed,)))

    assert len(wire.requests) == 1
    assert "vertex_ai_search" in str(wire.bodies[0]["tools"])


async def test_newer_models_on_vertex_mix_without_being_told(wire: Wire) -> None:
    wire.will(response({"text": "Hi."}))
    vertex = model(wire, "gemini-3.1-pro-preview", vertex=True)

    await vertex.respond(ask(tools=(WEATHER,), server_tools=(google_search,)))

    assert {"googleSearch": {}} in wire.bodies[0]["tools"]
    assert "toolConfig" not in wire.bodies[0]


@pytest.mark.row("004-Z1c")
async def test_vertex_has_tools_of_its_own(wire: Wire) -> None:
    wire.will(*[response({"text": "Hi."})] * 3)
    vertex = model(wire, vertex=True)
    for tool in (
        VertexAiSearchTool(data_store_id="ds", max_results=3),
        enterprise_web_search,
        google_maps_grounding,
    ):
        await vertex.respond(ask(server_tools=(tool,)))

    assert vertex.name == "vertex:gemini-2.5-flash"
    assert [body["tools"] for body in wire.bodies] == snapshot(
        [
            [{"retrieval": {"vertexAiSearch": {"datastore": "ds", "maxResults": 3}}}],
            [{"enterpriseWebSearch": {}}],
            [{"googleMaps": {}}],
        ]
    )


@pytest.mark.parametrize("tool", [enterprise_web_search, VertexAiSearchTool(data_store_id="d")])
async def test_what_only_vertex_has_is_a_usage_error_elsewhere(wire: Wire, tool: Any) -> None:
    with pytest.raises(UsageError, match="nothing like"):
        await model(wire).respond(ask(server_tools=(tool,)))


def test_a_data_store_or_an_engine_must_be_named() -> None:
    with pytest.raises(UsageError, match="either data_store_id"):
        VertexAiSearchTool()


# -- streaming ------------------------------------------------------------------------------------


async def test_pieces_are_handed_on_and_the_message_is_whole(wire: Wire) -> None:
    wire.will(
        sse(
            response({"text": "Ra", "thought": True}, finish=None),
            response({"text": "in", "thought": True}, finish=None),
            response({"text": "Let me "}, finish=None),
            response({"text": "look."}, function_call("Oslo", id="fc_1"), finish=None),
            response(function_call("Rome", id="fc_2")),
        )
    )
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(tools=(WEATHER,)), deltas.append)

    assert wire.requests[0].path.endswith(":streamGenerateContent?alt=sse")
    assert texts(deltas) == reply.text == "Let me look."
    assert texts(deltas, "reasoning") == "Rain"
    assert [(d.index, d.name, d.text) for d in deltas if d.kind == "call"] == [
        (0, "get_weather", '{"city": "Oslo"}'),
        (1, "get_weather", '{"city": "Rome"}'),
    ]
    assert [part.kind for part in reply.parts] == ["reasoning", "text", "call", "call"]


async def test_cancelling_mid_stream_closes_the_connection(wire: Wire) -> None:
    wire.will(sse(response({"text": "Once"}, finish=None), hang=True))
    heard = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(model(wire).respond, ask(), lambda delta: heard.set())
        with anyio.fail_after(30):
            await heard.wait()
            group.cancel_scope.cancel()

    with anyio.fail_after(30):
        await wire.disconnected.wait()


async def test_a_stream_that_breaks_off_is_a_connection_error(wire: Wire) -> None:
    wire.will(sse(response({"text": "Once"}, finish=None)))

    with pytest.raises(ModelError, match="ended before") as raised:
        await model(wire).respond(ask(), lambda delta: None)

    assert raised.value.reason == "connection"


# -- errors ---------------------------------------------------------------------------------------


def failing(code: int, status: str, text: str = "no", delay: str | None = None) -> Reply:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
    error = {"code": code, "message": text, "status": status}
    return Reply(status=code, body={"error": {**error, "details": details if delay else []}})


@pytest.mark.parametrize(
    ("reply", "reason", "attempts"),
    [
        (failing(403, "PERMISSION_DENIED"), "auth", 1),
        (failing(400, "INVALID_ARGUMENT"), "bad_request", 1),
        (
            failing(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum"),
            "context_too_long",
            1,
        ),
        (failing(429, "RESOURCE_EXHAUSTED", delay="0s"), "rate_limit", 3),
        (failing(429, "RESOURCE_EXHAUSTED", delay="3600s"), "rate_limit", 1),
        (failing(503, "UNAVAILABLE"), "overloaded", 3),
        (failing(500, "INTERNAL"), "server", 3),
    ],
)
async def test_every_failure_has_a_reason(
    wire: Wire, reply: Reply, reason: str, attempts: int
) -> None:
    wire.will(reply, reply, reply)

    with pytest.raises(ModelError) as raised:
        await model(wire).respond(ask())

    assert raised.value.reason == reason
    assert f" [{wire.url}]" in str(raised.value)
    assert len(wire.requests) == attempts


async def test_a_garbled_call_is_asked_for_again(wire: Wire) -> None:
    wire.will(response(finish="MALFORMED_FUNCTION_CALL"), response({"text": "Hi."}))

    assert (await model(wire).respond(ask())).text == "Hi."


async def test_a_blocked_prompt_or_reply_is_refused(wire: Wire) -> None:
    wire.will({"promptFeedback": {"blockReason": "OTHER"}}, response(finish="SAFETY"))

    blocked = await model(wire).respond(ask())
    assert (blocked.finish_reason, blocked.meta["blocked"]) == ("refused", "OTHER")
    assert (await model(wire).respond(ask())).finish_reason == "refused"


async def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    away = GeminiModel(
        "gemini-2.5-flash",
        api_key="k",
        base_url="http://127.0.0.1:9",
        retries=Retries(attempts=1),
    )
    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:9: ") as raised:
        await away.respond(ask())
    assert raised.value.reason == "connection"
