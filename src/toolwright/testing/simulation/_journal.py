"""Hold the stored events of a session against what really happened."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from toolwright.messages import Event, PendingAnswered, ToolEnded, ToolStarted
from toolwright.testing.simulation._ledger import Ledger

__all__ = ["check_journal", "describe_event"]

_STORE_WORDS = ("The database ", "StoreError", "is held by", "written to it meanwhile")


def check_journal(session_id: str, events: Sequence[Event], ledger: Ledger) -> Iterator[str]:
    """What is wrong, in words."""
    numbers = [event.seq for event in events]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"The events of {session_id!r} are not numbered one after the other: {numbers}"
    ended = Counter(_address(e.path, e.result.call_id) for e in events if isinstance(e, ToolEnded))
    for address, count in ended.items():
        if count > 1:
            yield f"Call {address!r} of {session_id!r} has {count} results"
    for event in events:
        if isinstance(event, ToolEnded) and any(w in event.result.text for w in _STORE_WORDS):
            yield f"The model reads a store's error as that of a tool: {event.result.text!r}"
    yield from _answers(session_id, events, ledger)


def _answers(session_id: str, events: Sequence[Event], ledger: Ledger) -> Iterator[str]:
    counts = Counter(a.call_id for a in ledger.accepted if a.session_id == session_id)
    for call_id, count in counts.items():
        if count > 1:
            yield f"{count} answers to {call_id!r} were accepted"
    got = {e.call_id: _value(e.answer) for e in events if isinstance(e, PendingAnswered)}
    for accepted in ledger.accepted:
        if accepted.session_id != session_id:
            continue
        if accepted.call_id not in got:
            yield f"The accepted answer {accepted.value!r} to {accepted.call_id!r} was lost"
        elif got[accepted.call_id] != accepted.value:
            yield (
                f"Call {accepted.call_id!r} was answered {accepted.value!r}, "
                f"but got {got[accepted.call_id]!r}"
            )


def _value(answer: Any) -> Any:
    """The value that an answer carries, where it is a typed one."""
    return getattr(answer, "value", answer)


def describe_event(event: Event) -> str:
    """An event in a few words, for a trace."""
    match event:
        case ToolStarted():
            about = _address(event.path, event.call.call_id)
        case ToolEnded():
            result = event.result
            about = f"{_address(event.path, result.call_id)} {result.status}: {result.text[:60]!r}"
        case PendingAnswered():
            about = f"{event.call_id}: {event.answer!r}"
        case _:
            about = " ".join(
                str(value)
                for name in ("path", "pending", "status", "reason")
                if (value := getattr(event, name, "")) and isinstance(value, str)
            )
    return f"{event.seq:3} {type(event).__name__} {about}"


def _address(path: str, call_id: str) -> str:
    return f"{path}/{call_id}" if path else call_id
