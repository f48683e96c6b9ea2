"""`toolwright models probe`: ask a real model a few small questions, and print what works."""

import json as json_text
import struct
import time
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._options import JsonOption
from toolwright.cli._out import say, say_line
from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    BlobPart,
    History,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
    user_message,
)
from toolwright.models import Delta, Model, ModelRequest, ModelSettings, resolve_model

__all__ = ["Answer", "models_probe", "probe"]

Timeout = Annotated[
    float, Parameter(name="--timeout", help="Seconds for each question.", negative=())
]
Verdict = Literal["works", "unsure", "fails"]
_WEATHER = ToolSpec(
    name="get_weather",
    description="The weather in a city, today.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The name of the city."}},
        "required": ["city"],
    },
)
_ANSWER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "inhabitants": {"type": "integer"}},
    "required": ["city", "inhabitants"],
    "additionalProperties": False,
}
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one question."""

    question: str
    verdict: Verdict
    detail: str
    seconds: float = 0.0


def models_probe(model: str, /, *, timeout: Timeout = 60.0, json: JsonOption = False) -> int:
    """Ask a model a few small questions, and print what works. This costs a few hundred tokens.

    Parameters
    ----------
    model
        `provider:name`, as in an agent file.
    """
    asked = resolve_model(model)
    # A provider that is known has other models, but none of this name.
    missing = resolve_model(f"{model}-that-does-not-exist")

    def tell(answer: Answer) -> None:
        row = {
            "question": answer.question,
            "verdict": answer.verdict,
            "detail": answer.detail,
            "seconds": round(answer.seconds, 2),
        }
        line = f"{answer.verdict:<7} {answer.question:<18} {answer.detail}"
        say_line(json_text.dumps(row) if json else line)

    async def main() -> list[Answer]:
        try:
            return await probe(asked, missing, timeout=timeout, tell=tell)
        finally:
            for one in (asked, missing):
                with suppress(AttributeError):
                    await one.close()  # type: ignore[attr-defined]

    answers = anyio.run(main)
    if not json:
        works = sum(answer.verdict == "works" for answer in answers)
        say(f"{asked.name}: {works} of {len(answers)} work")
    return exits.DONE if answers[0].verdict != "fails" else exits.FAILED


async def probe(
    model: Model, missing: Model, *, timeout: float, tell: Callable[[Answer], None]
) -> list[Answer]:
    """Ask all questions, one after the other; each answer is told as it comes."""
    settings = ModelSettings(timeout=timeout)
    answers: list[Answer] = []
    for question, ask in _QUESTIONS.items():
        began = time.perf_counter()
        try:
            verdict, detail = await ask(missing if question == "error" else model, settings)
        except ModelError as error:
            verdict, detail = _failed(question, error)
        except UsageError as error:
            verdict, detail = "fails", str(error)
        seconds = time.perf_counter() - began
        answer = Answer(question=question, verdict=verdict, detail=detail, seconds=seconds)
        answers.append(answer)
        tell(answer)
    return answers


def _failed(question: str, error: ModelError) -> tuple[Verdict, str]:
    told = f"{error.reason}: {error}"
    return ("works" if question == "error" and not error.retryable else "fails"), told


# -- the questions ----------------------------------------------------------------------------

Asked = Awaitable[tuple[Verdict, str]]


async def _text(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    reply = await model.respond(_request("Answer with the one word: pong", settings))
    usage = reply.usage
    counted = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    detail = f"{_said(reply)}, {counted if usage.total_tokens else 'no usage is told'}"
    return ("works" if "pong" in reply.text.lower() else "unsure"), detail


async def _stream(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    deltas: list[Delta] = []
    request = _request("Count from 1 to 10, with blanks in between.", settings)
    reply = await model.respond(request, deltas.append)
    pieces = [delta.text for delta in deltas if delta.kind == "text"]
    if "".join(pieces) != reply.text:
        return "fails", f"the pieces make {''.join(pieces)[:_SHOWN]!r}, the reply is {_said(reply)}"
    reasoning = "with" if any(delta.kind == "reasoning" for delta in deltas) else "without"
    return (
        "works" if len(pieces) > 1 else "unsure"
    ), f"{len(pieces)} pieces, {reasoning} reasoning"


async def _one_call(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    asked = user_message("What is the weather in Paris? Use the tool.")
    reply = await model.respond(_request(asked, settings, tools=(_WEATHER,)))
    if not reply.calls:
        return "fails", f"no call, but {_said(reply)}"
    results = tuple(
        ToolResult(call_id=c.call_id, name=c.name, status="ok", content=(TextPart("Hail, 3 °C"),))
        for c in reply.calls
    )
    history = (asked, reply, ToolMessage(results))
    answer = await model.respond(_request(history, settings, tools=(_WEATHER,)))
    call = reply.calls[0]
    detail = f"{call.name}({call.arguments[:_SHOWN]}), then {_said(answer)}"
    right = _reads_as(call.arguments, "city") and "hail" in answer.text.lower()
    return ("works" if right else "unsure"), detail


async def _parallel(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    asked = "What is the weather in Paris and in Rome? Call the tool for both at once."
    reply = await model.respond(_request(asked, settings, tools=(_WEATHER,)))
    count = len(reply.calls)
    if not count:
        return "fails", f"no call, but {_said(reply)}"
    right = count == 2 and all(_reads_as(call.arguments, "city") for call in reply.calls)
    return ("works" if right else "unsure"), f"{count} calls in one turn"


async def _structured(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    asked = "Which city is the largest of France, and how many live there?"
    reply = await model.respond(_request(asked, settings, output_schema=_ANSWER))
    right = _reads_as(reply.text, "city") and _reads_as(reply.text, "inhabitants")
    return ("works" if right else "fails"), _said(reply)


async def _image(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    picture = BlobPart(media_type="image/png", data=_red_square(), name="square.png")
    asked = UserMessage((TextPart("Which colour is this? Answer with one word."), picture))
    reply = await model.respond(_request(asked, settings))
    return ("works" if "red" in reply.text.lower() else "unsure"), _said(reply)


async def _error(model: Model, settings: ModelSettings) -> tuple[Verdict, str]:
    reply = await model.respond(_request("Hello", settings))
    return "unsure", f"no error for a model that is not there, but {_said(reply)}"


_QUESTIONS: dict[str, Callable[[Model, ModelSettings], Asked]] = {
    "text": _text,
    "stream": _stream,
    "one call": _one_call,
    "parallel calls": _parallel,
    "structured output": _structured,
    "image": _image,
    "error": _error,
}


def _request(
    asked: str | UserMessage | tuple[Message, ...], settings: ModelSettings, **more: Any
) -> ModelRequest:
    messages = asked if isinstance(asked, tuple) else (user_message(asked),)
    return ModelRequest(history=History(messages).view(), settings=settings, **more)


def _said(reply: ModelMessage) -> str:
    text = " ".join(reply.text.split())
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _reads_as(text: str, key: str) -> bool:
    """Whether `text` is a JSON object that has `key`."""
    try:
        return key in json_text.loads(text)
    except (ValueError, TypeError):
        return False


def _red_square(size: int = 64) -> bytes:
    """A picture that any model can name."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    rows = (b"\x00" + b"\xff\x00\x00" * size) * size
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
