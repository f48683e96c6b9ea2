"""Where the values of a session's calls come from: an index over what was said and read in it.

It is built from the events when a rule first asks, and from then on from those that are new. Four
kinds of texts are told apart: what the person and the developer say; what trusted tools that only
read answer; what calls were given, and what tools that do something answer, which may repeat what
anybody has written; and what is untrusted. A value of an untrusted text is taken for the person's own
when they have named it, and for the program's when a trusted result has it that no call was given it
for before.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from toolwright.agent._values import (
    Part,
    Text,
    arguments_text,
    fold,
    leaves_of,
    parts_of,
    read,
    read_result,
)
from toolwright.messages import (
    Event,
    Given,
    Label,
    MessageQueued,
    ModelReplied,
    PendingAnswered,
    PendingOpened,
    RunStarted,
    Steered,
    TextPart,
    ToolEnded,
    ToolStarted,
    UserMessage,
    call_of,
    jsonable,
)
from toolwright.tools import Origin

__all__ = ["LabelOf", "Provenance", "Speaker"]

IsNear = Callable[[str], bool]
LabelOf = Callable[[str], Label]
Kind = Literal["said", "trusted", "given", "neutral", "untrusted"]
Speaker = Literal["person", "agent", "program"]
_NAMED = ("address", "host", "number")
"""What no model makes up: nobody has named one that no text has, so it was put together from pieces."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A text that values may come from."""

    kind: Kind
    text: Text
    tool: str = ""


class Provenance:
    """What was said and read in one session, by the words in it."""

    def __init__(self) -> None:
        self._sources: list[_Source] = []
        self._by_word: dict[Kind, dict[str, list[int]]] = {kind: {} for kind in get_args(Kind)}
        self._handles: dict[str, set[str]] = {}
        """The values that only name things at a source, and the sources that gave them."""
        self._questions: dict[str, str] = {}
        """What kind of question each call has open."""
        self._labels: dict[str, Label] = {}
        self.is_tainted = False
        self.seq = 0
        """The number of the last event that was taken in."""
        self.work = 0
        """Letters that were taken in so far."""

    # -- taking in --------------------------------------------------------------------------

    def take(self, events: Iterable[Event], speaker: Speaker, label_of: LabelOf) -> None:
        """Take in what has happened since.

        Args:
            events: Those that were taken in before are left out.
            speaker: Who starts the session's runs.
            label_of: The label of a result by its tool's name, where the event has none.
        """
        for event in events:
            if event.seq > self.seq:
                self._take(event, speaker, label_of)
                # Only now: what could not be taken in must not be left out by the next call.
                self.seq = event.seq

    def _take(self, event: Event, speaker: Speaker, label_of: LabelOf) -> None:
        match event:
            case RunStarted(path="", message=message) if message is not None:
                self._take_message(message, speaker)
            case MessageQueued(message=message):
                self._take_message(message, "person")
            case Steered(message=message, call_id=call_id) if call_id:
                label = self._labels.get(call_of(call_id), "untrusted")
                self._add(label, read_result(message.text), "a late result")
            case ModelReplied(message=message):
                for part in message.parts:
                    if part.kind == "server_tool":
                        told = "\n".join(str(leaf) for leaf in leaves_of(part.payload))
                        self._add("untrusted", read(told), part.name)
            case ToolStarted(call=call):
                self._add("given", arguments_text(call.arguments))
            case PendingOpened(pending=pending):
                self._questions[pending.call_id] = pending.kind
            case PendingAnswered(call_id=call_id, answer=Given(value=value)):
                if self._questions.get(call_id) in ("choice", "input"):
                    self.say("\n".join(str(leaf) for leaf in leaves_of(jsonable(value))))
            case ToolEnded():
                self._take_result(event, event.trust or label_of(event.result.name))
            case _:
                pass

    def say(self, text: str) -> None:
        """The person, or the developer, says this."""
        self._add("said", read(text))

    def hear(self, text: str, whose: str) -> None:
        """The model is told this, which anybody may have written."""
        self._add("untrusted", read(text), whose)

    def _take_message(self, message: UserMessage, speaker: Speaker) -> None:
        whose = "the message"
        match speaker:
            case "person":
                self.say(message.own_text)
            case "agent":  # Which may have read anything.
                self.hear(message.own_text, whose)
            case "program":
                self._add("given", read(message.own_text))
        for part in message.parts:
            if isinstance(part, TextPart) and part.source is None:
                continue
            if text := part.text:
                self.hear(text, (part.source if isinstance(part, TextPart) else part.name) or whose)

    def _take_result(self, event: ToolEnded, label: Label) -> None:
        result = event.result
        address = f"{event.path}/{result.call_id}" if event.path else result.call_id
        self._labels[address] = label
        for part in result.content:
            if text := part.text:
                self._add(label, read_result(text), result.name)

    def _add(self, kind: Kind, text: Text, tool: str = "") -> None:
        self.work += len(text.folded)
        self.is_tainted = self.is_tainted or kind == "untrusted"
        number = len(self._sources)
        self._sources.append(_Source(kind, text.kept, tool))
        by_word = self._by_word[kind]
        for word in text.words:
            by_word.setdefault(word, []).append(number)
        if kind == "untrusted":
            for handle in text.handles:
                self._handles.setdefault(handle, set()).add(tool)

    # -- judging ----------------------------------------------------------------------------

    def origins(
        self, arguments: Any, *, own: str = "", known: Collection[str] = (), is_near: IsNear
    ) -> list[Origin]:
        """The values among `arguments` that come from untrusted texts and from nobody else.

        Args:
            arguments: Those of the call, as plain JSON.
            own: What a person has written for this call.
            known: Values that the tool itself names, folded.
            is_near: Whether a tool has the same source as the one that is called: an id that it gave
                is only a name there.
        """
        if not self.is_tainted:
            return []
        written = read(own)
        found: dict[str, Origin] = {}
        for leaf in leaves_of(arguments):
            whole = fold(str(leaf))
            if whole in known:
                continue
            givers = self._handles.get(whole, set())
            for part in parts_of(leaf):
                if part.key in found or part.place_in(written.folded) >= 0:
                    continue
                if origin := self._origin(part, givers, is_near):
                    found[part.key] = origin
        return list(found.values())

    def _origin(self, part: Part, givers: set[str], is_near: IsNear) -> Origin | None:
        if self._is_said(part) or self._is_vouched_for(part):
            return None
        bare = Origin(value=part.value, key=part.key, kind=part.kind)
        if (number := next(self._having("untrusted", part), None)) is not None:
            source = self._sources[number]
            line, text = source.text.line_of(part)
            return replace(bare, tool=source.tool, line=line, text=text)
        if givers:
            return None if any(map(is_near, givers)) else replace(bare, tool=min(givers))
        is_named = next(self._having("neutral", part), None) is not None
        return bare if part.kind in _NAMED and not is_named else None

    def _is_said(self, part: Part) -> bool:
        if next(self._having("said", part), None) is not None:
            return True
        return part.kind == "name" and all(word in self._by_word["said"] for word in part.words)

    def _is_vouched_for(self, part: Part) -> bool:
        trusted = next(self._having("trusted", part), None)
        given = None if trusted is None else next(self._having("given", part), None)
        return trusted is not None and (given is None or trusted < given)

    def _having(self, kind: Kind, part: Part) -> Iterator[int]:
        """The texts of a kind that have it, in the order in which they came."""
        lists = [self._by_word[kind].get(word, ()) for word in part.words]
        if not lists or not all(lists):
            return
        rarest = min(lists, key=len)
        for number in rarest:
            has_words = all(_has(numbers, number) for numbers in lists)
            if has_words and part.place_in(self._sources[number].text.folded) >= 0:
                yield number


def _has(ordered: Sequence[int], number: int) -> bool:
    at = bisect_left(ordered, number)
    return at < len(ordered) and ordered[at] == number
