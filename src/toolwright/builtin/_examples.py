"""Few-shot examples, put before the model with each request."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

from toolwright._sealed import Sealed, sealed
from toolwright.errors import UsageError
from toolwright.models import ModelRequest
from toolwright.tools import ReadonlyContext

__all__ = ["Example", "ExampleProvider", "ExampleTool"]


@sealed
@dataclass(frozen=True, slots=True)
class Example:
    """What a person might say, and what the model should answer."""

    input: str
    output: str | Sequence[str]
    """The answer; several are the messages of one turn, in order."""


Found = Sequence[Example] | Awaitable[Sequence[Example]]


@runtime_checkable
class ExampleProvider(Protocol):
    """Picks the examples that fit a request."""

    def get_examples(self, query: str) -> Found:
        """Examples for what the person said."""
        ...


class ExampleTool(Sealed):
    """Put in an agent's `tools`, it adds examples to the prompt; the model sees no tool.

    `examples` is a list, or a provider (or a function) that picks them for the person's message.
    """

    def __init__(
        self, examples: Sequence[Example] | ExampleProvider | Callable[[str], Found]
    ) -> None:
        self._pick = _picker(examples)

    async def shape_request(self, ctx: ReadonlyContext, request: ModelRequest) -> ModelRequest:
        """The request with the examples after its instructions."""
        found = self._pick(ctx.user_content.text if ctx.user_content else "")
        examples = await found if inspect.isawaitable(found) else cast(Sequence[Example], found)
        if not examples:
            return request
        shown = "\n".join(_shown(number, example) for number, example in enumerate(examples, 1))
        block = f"<examples>\nAnswer in the manner of these examples.\n{shown}\n</examples>"
        return replace(request, instructions=f"{request.instructions}\n\n{block}".strip())


def _picker(examples: Any) -> Callable[[str], Found]:
    if isinstance(examples, ExampleProvider):
        return examples.get_examples
    if callable(examples):
        return examples
    if not isinstance(examples, Sequence):
        raise UsageError(f"Examples are a list, a provider or a function; got {examples!r}.")
    fixed = list(examples)
    for example in fixed:
        if not isinstance(example, Example):
            raise UsageError(
                f"{example!r} is not an Example; write Example(input='…', output='…')."
            )
    return lambda _query: fixed


def _shown(number: int, example: Example) -> str:
    outputs = [example.output] if isinstance(example.output, str) else example.output
    answers = "\n".join(f"model: {output}" for output in outputs)
    return f"Example {number}\nuser: {example.input}\n{answers}"
