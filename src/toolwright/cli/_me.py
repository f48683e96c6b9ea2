"""A person plays the model: reads what a model would be sent, and answers or calls tools by hand."""

import json
import signal
import sys
import uuid

import anyio
import anyio.to_thread

from toolwright.cli._json import read_json
from toolwright.cli._out import note
from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage, ToolSpec
from toolwright.models import ModelRequest, OnDelta

__all__ = ["PersonModel", "parse_call"]

_HELP = "Write a reply, or call a tool:  /name key=value …   (/tools lists them)"
_ENDED = "The input ended before the model had said all."


class PersonModel:
    """Asks on the terminal for each turn."""

    name = "me"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The person's turn."""
        last = request.history[-1]
        if isinstance(last, ToolMessage):
            for result in last.results:
                note(f"  {result.name} → {result.status}: {result.text}")
        else:
            note(_HELP)
        while True:
            line = await _read()
            if line.strip() == "/tools":
                note("\n".join(f"  /{spec.name}: {spec.description}" for spec in request.tools))
            elif line.startswith("/"):
                if (call := parse_call(line, request.tools)) is not None:
                    return ModelMessage(parts=(call,), model=self.name, finish_reason="calls")
            else:
                return ModelMessage(parts=(TextPart(line),), model=self.name)


def parse_call(line: str, tools: tuple[ToolSpec, ...]) -> ToolCall | None:
    """`/name key=value …` as a call; None, after saying why, when there is no such tool."""
    name, *pairs = line[1:].split()
    if name not in {spec.name for spec in tools}:
        note(f"There is no tool {name!r}; /tools lists them.")
        return None
    arguments = {pair.partition("=")[0]: pair.partition("=")[2] for pair in pairs}
    return ToolCall(
        call_id=f"me-{uuid.uuid4().hex[:8]}", name=name, arguments=json.dumps(_values(arguments))
    )


def _values(arguments: dict[str, str]) -> dict[str, object]:
    """Each value as the JSON it is, or as the text it is."""
    values: dict[str, object] = {}
    for key, text in arguments.items():
        try:
            values[key] = read_json(text)
        except ValueError:
            values[key] = text
    return values


async def _read() -> str:
    if sys.stdin.isatty() and sys.stderr.isatty():
        return await _read_typed()
    line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    if not line:
        raise ModelError(_ENDED, reason="bad_request")
    return line.rstrip("\n")


async def _read_typed() -> str:
    from toolwright.cli._lines import read_line  # noqa: PLC0415 - slow to load

    try:
        return await read_line("model> ")
    except EOFError:
        raise ModelError(_ENDED, reason="bad_request") from None
    except KeyboardInterrupt:
        # Raised here it would end the event loop; as a signal it stops the run, as it does elsewhere.
        signal.raise_signal(signal.SIGINT)
        await anyio.sleep_forever()
        raise
