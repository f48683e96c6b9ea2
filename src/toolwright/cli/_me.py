"""A person plays the model: reads what a model would be sent, and answers or calls tools by hand."""

import json
import sys
import uuid

import anyio.to_thread

from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage, ToolSpec
from toolwright.models import ModelRequest, OnDelta

__all__ = ["PersonModel", "parse_call"]

_HELP = "Write a reply, or call a tool:  /name key=value …   (/tools lists them)"


class PersonModel:
    """Asks on the terminal for each turn."""

    name = "me"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The person's turn."""
        last = request.history[-1]
        if isinstance(last, ToolMessage):
            for result in last.results:
                _say(f"  {result.name} → {result.status}: {result.text}")
        else:
            _say(_HELP)
        while True:
            line = await anyio.to_thread.run_sync(_read, abandon_on_cancel=True)
            if line.strip() == "/tools":
                _say("\n".join(f"  /{spec.name}: {spec.description}" for spec in request.tools))
            elif line.startswith("/"):
                if (call := parse_call(line, request.tools)) is not None:
                    return ModelMessage(parts=(call,), model=self.name, finish_reason="calls")
            else:
                return ModelMessage(parts=(TextPart(line),), model=self.name)


def parse_call(line: str, tools: tuple[ToolSpec, ...]) -> ToolCall | None:
    """`/name key=value …` as a call; None, after saying why, when there is no such tool."""
    name, *pairs = line[1:].split()
    if name not in {spec.name for spec in tools}:
        _say(f"There is no tool {name!r}; /tools lists them.")
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
            values[key] = json.loads(text)
        except ValueError:
            values[key] = text
    return values


def _read() -> str:
    sys.stderr.write("model> ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise ModelError("The input ended before the model had said all.", reason="bad_request")
    return line.rstrip("\n")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
