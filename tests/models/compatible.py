"""What servers that copy OpenAI's protocol really send, each with where that is written down."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Wire = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Habit:
    """One thing that a server does in its own way, and what must be read of it."""

    server: str
    what: str
    source: str
    replies: Sequence[Wire]
    """Chunks of a stream, or a single completion."""
    streamed: bool = True
    done: bool = True
    calls_in_text: bool = False
    text: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str, str]] = ()
    usage: tuple[int, int, int] = (0, 0, 0)
    """Input, output and cached tokens."""
    finish: str = "stop"
    sent_back: Wire = field(default_factory=dict)
    """What the next request has of this turn, beside its text and calls."""


def chunk(finish: str | None = None, usage: Wire | None = None, **delta: Any) -> Wire:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice], "usage": usage}


def whole(finish: str | None = "stop", **message: Any) -> Wire:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "choices": [choice]}


def piece(index: int | None = 0, **function: Any) -> Wire:
    call_id = function.pop("id", None)
    made = {"id": call_id, "type": "function", "function": function}
    return made if index is None else {**made, "index": index}


USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
USED = (9, 4, 0)
LAST = {"id": "c1", "choices": [], "usage": USAGE}
PARIS, ROME = '{"city": "Paris"}', '{"city": "Rome"}'
BOTH = (("get_weather", PARIS), ("get_weather", ROME))
ONE = BOTH[:1]
HABITS = (
    Habit(
        server="Ollama",
        what="all parallel calls at index 0, each in one piece",
        source="https://github.com/ollama/ollama/issues/15457",
        replies=[
            chunk(tool_calls=[piece(id="call_a", name="get_weather", arguments=PARIS)]),
            chunk(tool_calls=[piece(id="call_b", name="get_weather", arguments=ROME)]),
            chunk("tool_calls"),
            LAST,
        ],
        calls=BOTH,
        usage=USED,
        finish="calls",
    ),
    Habit(
        server="Ollama",
        what="calls without an index (before 0.4.7)",
        source="https://github.com/ollama/ollama/issues/7881",
        replies=[
            chunk(tool_calls=[piece(None, id="call_a", name="get_weather", arguments=PARIS)]),
            chunk(tool_calls=[piece(None, id="call_b", name="get_weather", arguments=ROME)]),
            chunk("stop"),
        ],
        calls=BOTH,
        finish="calls",
    ),
    Habit(
        server="vLLM",
        what="reasoning in `reasoning_content`",
        source="https://docs.vllm.ai/en/v0.10.0/features/reasoning_outputs.html",
        replies=[chunk(reasoning_content="Hm"), chunk(content="Hi"), chunk("stop"), LAST],
        text="Hi",
        reasoning="Hm",
        usage=USED,
        sent_back={"reasoning_content": "Hm"},
    ),
    Habit(
        server="vLLM",
        what="reasoning in `reasoning`, and in both fields while it was renamed",
        source="https://docs.vllm.ai/en/v0.11.2/features/reasoning_outputs/",
        replies=[
            chunk(reasoning="H", reasoning_content="H"),
            chunk(reasoning="m", reasoning_content="m"),
            chunk(content="Hi"),
            chunk("stop"),
        ],
        text="Hi",
        reasoning="Hm",
        sent_back={"reasoning": "Hm", "reasoning_content": "Hm"},
    ),
    Habit(
        server="vLLM",
        what="`<think>` in the text, when no reasoning parser is set",
        source="https://docs.vllm.ai/en/v0.7.2/_sources/features/reasoning_outputs.md",
        replies=[whole(content="<think>\nHm\n</think>\n\nHi")],
        streamed=False,
        text="Hi",
        reasoning="Hm\n",
    ),
    Habit(
        server="llama.cpp",
        what="arguments as an object",
        source="https://github.com/ggml-org/llama.cpp/issues/20198",
        replies=[
            whole("tool_calls", tool_calls=[
                {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
            ])
        ],
        streamed=False,
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="llama.cpp",
        what="thoughts left in the text with `--reasoning-format none`, cut off by the limit",
        source="https://github.com/ggml-org/llama.cpp/pull/11607",
        replies=[chunk(content="<thi"), chunk(content="nk>H"), chunk(content="m</"), chunk("length")],
        reasoning="Hm</",
        finish="length",
    ),
    Habit(
        server="TGI",
        what="arguments as an object, and ids that are all \"0\"",
        source="https://github.com/huggingface/text-generation-inference/issues/2136",
        replies=[
            whole("tool_calls", tool_calls=[
                {"id": "0", "function": {"name": "get_weather", "arguments": {"city": "Paris"}, "description": None}}
            ])
        ],
        streamed=False,
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="LM Studio",
        what="a Hermes call in the text, after empty thoughts, with finish `stop`",
        source="https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/825",
        replies=[
            whole(content='<think>\n\n</think>\n\n<tool_call>\n{"name": "get_weather", '
                          '"arguments": {"city": "Paris"}}\n</tool_call>')
        ],
        streamed=False,
        calls_in_text=True,
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="LM Studio",
        what="a call of Qwen Coder's in the text",
        source="https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2115",
        replies=[
            chunk(content="I will look.\n<tool"),
            chunk(content="_call>\n<function=get_weather>\n<parameter=city>\nPar"),
            chunk(content="is\n</parameter>\n</function>\n</tool_call>"),
            chunk("stop"),
        ],
        calls_in_text=True,
        text="I will look.",
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="LM Studio",
        what="a call of LFM's in the text, in Python's form",
        source="https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1979",
        replies=[whole(content='<|tool_call_start|>[get_weather(city="Paris")]<|tool_call_end|>')],
        streamed=False,
        calls_in_text=True,
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="LM Studio",
        what="calls that are only thought about are none",
        source="https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1592",
        replies=[
            whole(content="<think>Some write <tool_call>{}</tool_call>.</think>Use <tool_call>, I think.")
        ],
        streamed=False,
        calls_in_text=True,
        reasoning="Some write <tool_call>{}</tool_call>.",
        text="Use <tool_call>, I think.",
    ),
    Habit(
        server="oMLX",
        what="a call of Qwen Coder's as bare JSON",
        source="https://github.com/jundot/omlx/issues/2565",
        replies=[whole(content='```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```')],
        streamed=False,
        calls_in_text=True,
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="OpenRouter",
        what="reasoning beside `reasoning_details`, which are wanted back",
        source="https://openrouter.ai/docs/use-cases/reasoning-tokens",
        replies=[
            chunk(reasoning="Hm", reasoning_details=[{"type": "reasoning.encrypted", "data": "x"}]),
            chunk(content="Hi"),
            chunk("stop", {**USAGE, "cost": 0.5}),
        ],
        text="Hi",
        reasoning="Hm",
        usage=USED,
        sent_back={"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
    ),
    Habit(
        server="Groq",
        what="usage in `x_groq`",
        source="https://github.com/vercel/ai/issues/1651",
        replies=[chunk(content="Hi"), {**chunk("stop"), "x_groq": {"id": "r", "usage": USAGE}}],
        text="Hi",
        usage=USED,
    ),
    Habit(
        server="Groq",
        what="`<think>` in the text (`reasoning_format: raw`)",
        source="https://hexdocs.pm/req_llm/ReqLLM.Providers.Groq.html",
        replies=[chunk(content="<think>"), chunk(content="Hm</think"), chunk(content=">Hi"), chunk("stop")],
        text="Hi",
        reasoning="Hm",
    ),
    Habit(
        server="Mistral",
        what="content as a list of thoughts and texts",
        source="https://github.com/spring-projects/spring-ai/pull/5020",
        replies=[
            whole(content=[
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
                {"type": "text", "text": "Hi"},
            ])
        ],
        streamed=False,
        text="Hi",
        reasoning="Hm",
        sent_back={"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
            {"type": "text", "text": "Hi"},
        ]},
    ),
    Habit(
        server="Mistral",
        what="the same in a stream, in lists and in texts",
        source="https://github.com/braintrustdata/braintrust-sdk-javascript/issues/1857",
        replies=[
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}]),
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]),
            chunk(content=[{"type": "text", "text": "H"}]),
            chunk(content=[{"type": "text", "text": "i"}]),
            chunk("stop", USAGE),
        ],
        text="Hi",
        reasoning="Hm",
        usage=USED,
        sent_back={"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
            {"type": "text", "text": "Hi"},
        ]},
    ),
    Habit(
        server="DeepSeek",
        what="tokens from the cache beside the details",
        source="https://docs.rs/crate/deepseek-sdk/0.3.0/source/src/chat/response.rs",
        replies=[
            chunk(reasoning_content="Hm"),
            chunk(content="Hi"),
            chunk("stop", {**USAGE, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3}),
        ],
        text="Hi",
        reasoning="Hm",
        usage=(9, 4, 6),
        sent_back={"reasoning_content": "Hm"},
    ),
    Habit(
        server="Together",
        what="a reply that ends as `eos`",
        source="https://github.com/openai/openai-dotnet/pull/267",
        replies=[chunk(content="Hi"), chunk("eos", USAGE)],
        text="Hi",
        usage=USED,
    ),
    Habit(
        server="Moonshot",
        what="usage inside the choice",
        source="https://github.com/earendil-works/pi/issues/2017",
        replies=[
            chunk(content="Hi"),
            {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]},
        ],
        text="Hi",
        usage=USED,
    ),
    Habit(
        server="Azure",
        what="a first chunk without choices, a last one with a filter's verdict and no delta",
        source="https://github.com/microsoft/autogen/issues/6465",
        replies=[
            {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            chunk(content="Hi"),
            chunk("stop"),
            {"id": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}}], "usage": None},
            LAST,
        ],
        text="Hi",
        usage=USED,
    ),
    Habit(
        server="Snowflake",
        what="a stream without a reason why it ends",
        source="https://github.com/pydantic/pydantic-ai/tree/main/tests/models/cassettes",
        replies=[chunk("", content="Hi"), LAST],
        text="Hi",
        usage=USED,
    ),
    Habit(
        server="Snowflake",
        what="calls that end with an empty reason",
        source="https://github.com/pydantic/pydantic-ai/tree/main/tests/models/cassettes",
        replies=[
            whole("", tool_calls=[piece(None, id="a", name="get_weather", arguments=PARIS)], content="")
        ],
        streamed=False,
        calls=ONE,
        finish="calls",
    ),
    Habit(
        server="Gemini",
        what="finish `stop` under a call, and no id (its own compatible layer)",
        source="https://github.com/googleapis/python-genai/issues/2868",
        replies=[
            chunk(tool_calls=[piece(id="", name="get_weather", arguments=PARIS)]),
            chunk(tool_calls=[piece(id="", name="get_weather", arguments=ROME)]),
            chunk("stop"),
        ],
        calls=BOTH,
        finish="calls",
    ),
)  # fmt: skip
