"""Keep a run's index of where values come from up to date, and ask it about one call."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import anyio

from toolwright.agent._log import Log
from toolwright.agent._provenance import LabelOf, Provenance, Speaker
from toolwright.agent._values import fold, leaves_of
from toolwright.concurrency import in_stoppable_thread
from toolwright.messages import Approve, Event, Label, TextPart, ToolEnded
from toolwright.tools import Exact, Origin, Tool, ToolContext

__all__ = ["Origins"]

_LONG, _MANY = 16_384, 200
"""Letters, and events, from which on they are taken in beside the loop."""
_NAMES_VALUES = ("default", "const", "enum")


class Origins:
    """Where the values of one session come from. No work is done for it before the first question."""

    __slots__ = ("_constants", "_found", "_heard", "_log", "_position", "_reading")

    def __init__(self, log: Log, heard: list[tuple[str, str]]) -> None:
        self._log = log
        self._found: Provenance | None = None
        self._position = 0
        self._heard = heard
        self._constants: set[str] = set()
        self._reading = anyio.Lock()

    @property
    def work(self) -> int:
        """Letters that were taken in so far."""
        return 0 if self._found is None else self._found.work

    async def of_call(
        self,
        tool: Tool,
        ctx: ToolContext,
        *,
        tools: Mapping[str, Tool],
        agents: Sequence[Any],
        speaker: Speaker,
        asked: str,
    ) -> list[Origin]:
        """The values of a call that come from untrusted texts and from nobody else.

        Args:
            tool: What is called.
            ctx: The call, and its arguments as they are now.
            tools: Those that the agent has.
            agents: Those on the path, whose written instructions are the developer's words.
            speaker: Who starts the session's runs.
            asked: What the person has asked for, if the session's messages are not theirs.
        """

        def label(name: str) -> Label:
            known = tools.get(name)
            return "untrusted" if known is None else known.label

        async with self._reading:
            index = await self._up_to_date(ctx, label, speaker)
        if asked:
            self._say_once(index, asked)
        for agent in agents:
            if isinstance(words := getattr(agent, "instructions", None), str):
                self._say_once(index, words)

        def is_near(name: str) -> bool:
            known = tools.get(name)
            return known is not None and known.source == tool.source

        return index.origins(
            Exact(ctx.arguments).shown,
            own="\n".join(self._written_for(ctx)),
            known={fold(str(value)) for value in _named_by(tool.spec.parameters)},
            is_near=is_near,
        )

    async def _up_to_date(self, ctx: ToolContext, label: LabelOf, speaker: Speaker) -> Provenance:
        if self._found is None:
            # The log keeps only what this process has added.
            known: Sequence[Event] = await ctx.run.stored_events()
            self._found = Provenance()
            await _take(self._found, known, speaker, label)
        end = len(self._log.events)
        await _take(self._found, self._log.events[self._position : end], speaker, label)
        self._position = end
        while self._heard:
            self._found.hear(*self._heard.pop())
        return self._found

    def _say_once(self, index: Provenance, words: str) -> None:
        if words not in self._constants:
            self._constants.add(words)
            index.say(words)

    def _written_for(self, ctx: ToolContext) -> Iterator[str]:
        """What a person has made of the arguments of this call."""
        for _, answer in self._log.record(ctx.function_call_id).answers:
            if isinstance(answer, Approve) and answer.arguments is not None:
                yield from map(str, leaves_of(answer.arguments))


async def _take(
    index: Provenance, events: Sequence[Event], speaker: Speaker, label: LabelOf
) -> None:
    """Take them in; beside the loop where they are long."""
    take = partial(index.take, events, speaker, label)
    if len(events) < _MANY and sum(map(_letters, events)) < _LONG:
        take()
    else:
        await in_stoppable_thread(lambda _: take())


def _letters(event: Event) -> int:
    if not isinstance(event, ToolEnded):
        return 0
    return sum(len(part.text) for part in event.result.content if isinstance(part, TextPart))


def _named_by(schema: Any) -> Iterator[Any]:
    """The values that a schema names itself."""
    match schema:
        case dict():
            for key, inner in schema.items():
                yield from leaves_of(inner) if key in _NAMES_VALUES else _named_by(inner)
        case list():
            for inner in schema:
                yield from _named_by(inner)
        case _:
            pass
