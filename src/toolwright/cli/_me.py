"""A person plays the model: reads what a model would be sent, and answers or calls tools by hand."""

import json
import shlex
import signal
import sys
import uuid

import anyio
import anyio.to_thread

from toolwright.cli._out import note
from toolwright.cli._parts import all_parts
from toolwright.cli._show import outcome
from toolwright.cli._tools import parse_pairs
from toolwright.errors import ModelError, UsageError
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage, ToolSpec
from toolwright.models import ModelRequest, OnDelta

__all__ = ["PersonModel", "parse_call"]

_HELP = (
    "Write a reply, or call a tool:  /name key=value …   (/tools lists them; quote as in a shell: "
    'key="two words")'
)
_ENDED = "The input ended before the model had said all."


class PersonModel:
    """Asks on the terminal for each turn."""

    name = "me"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The person's turn."""
        last = request.history[-1]
        tools = (*request.tools, *request.found)
        if isinstance(last, ToolMessage):
            for result in last.results:
                note(f"  {result.name} → {outcome(result)}: {all_parts(result.content)}")
        else:
            note(_HELP)
        while True:
            line = await _read()
            if line.strip() == "/tools":
                note("\n".join(f"  /{spec.name}: {spec.description}" for spec in tools))
            elif line.startswith("/"):
                try:
                    call = parse_call(line, tools)
                except UsageError as error:
                    note(str(error))
                else:
                    return ModelMessage(parts=(call,), model=self.name, finish_reason="calls")
            else:
                return ModelMessage(parts=(TextPart(line),), model=self.name)


def parse_call(line: str, tools: tuple[ToolSpec, ...]) -> ToolCall:
    """`/name key=value …` as a call; `UsageError` for what is none."""
    try:
        name, *pairs = shlex.split(line[1:]) or [""]
    except ValueError as error:
        raise UsageError(f"{line!r} cannot be read: {error}. Quote as in a shell.") from None
    if name not in {spec.name for spec in tools}:
        raise UsageError(f"There is no tool {name!r}; /tools lists them.")
    arguments = json.dumps(parse_pairs(pairs))
    return ToolCall(call_id=f"me-{uuid.uuid4().hex[:8]}", name=name, arguments=arguments)


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
