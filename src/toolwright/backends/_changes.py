"""What a batch of events changes in a store besides its log: state, title and pending calls."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolwright.errors import StaleState
from toolwright.messages import (
    Approve,
    Event,
    Pending,
    PendingAnswered,
    PendingChanged,
    PendingOpened,
    RunEnded,
    RunStarted,
    Scope,
    StateChanged,
    ToolEnded,
    ToolStarted,
    call_key,
    call_of,
    jsonable,
)

__all__ = [
    "Changes",
    "branched",
    "changes",
    "closed_by",
    "is_session_key",
    "must_last",
    "refuse_stale",
]

_TITLE_LENGTH = 80


@dataclass(slots=True, kw_only=True)
class Changes:
    """What to write beside the events."""

    state: dict[str, Any] = field(default_factory=dict)
    """Plain JSON by key; None takes the key away."""
    opened: list[Pending] = field(default_factory=list)
    """Pending calls that the batch opens; it may close them again."""
    changed: list[Pending] = field(default_factory=list)
    """Open calls of which something is different now."""
    ended: list[str] = field(default_factory=list)
    """Calls with a result: what blocked on them, or inside them, is closed."""
    answered: list[str] = field(default_factory=list)
    """Calls whose answer has been used: where the run did not wait for it, they are closed."""
    title: str = ""
    is_unfinished: bool = False
    """The log does not end with the end of a run."""


def changes(events: Iterable[Event]) -> Changes:
    """Read the events in order; later ones win."""
    found = Changes()
    for event in events:
        match event:
            case PendingOpened(pending=pending):
                found.opened.append(pending)
            case PendingChanged(pending=pending):
                found.changed.append(pending)
            case ToolEnded(result=result, path=path):
                found.ended.append(_address(path, result.call_id))
            case PendingAnswered(call_id=call_id):
                found.answered.append(call_id)
            case RunStarted(message=message) if message and not found.title:
                found.title = _title(message.text)
        found.state.update(_delta(event))
        found.is_unfinished = not (isinstance(event, RunEnded) and not event.path)
    return found


def must_last(events: Iterable[Event]) -> bool:
    """Whether the outside may act on these events as soon as they are stored, so that not even a power
    cut may lose them: a call begins that is not over with them, or something is asked."""
    going: set[str] = set()
    for event in events:
        match event:
            case PendingOpened():
                return True
            case ToolStarted(call=call, path=path):
                going.add(_address(path, call.call_id))
            case ToolEnded(result=result, path=path):
                going.discard(_address(path, result.call_id))
    return bool(going)


def branched(scope: Scope, born: float, events: Sequence[Event]) -> tuple[list[Event], Changes]:
    """The events of a session, made at `born`, as a branch begins with them, and what they change: the
    session's own state only.

    An approval works once, in the session where it was given: a call that it let run, and that has
    no result yet, asks again before it runs in the branch. Other answers count there too. A call that
    has begun, and has no result yet, keeps its key: repeated in both sessions, it takes effect once.
    """
    found = changes(events)
    found.state = {key: value for key, value in found.state.items() if is_session_key(key)}
    withheld = {
        event.call_id
        for event in events
        if isinstance(event, PendingAnswered)
        and isinstance(event.answer, Approve)
        and not _is_ended(event.call_id, found)
    }
    latest = {
        call_of(event.pending.call_id): event.pending.call_id
        for event in events
        if isinstance(event, PendingOpened | PendingChanged)
    }
    # What a call has asked before its present question, or before it began, waits for nobody.
    begun = _begun_on(events)
    found.answered = [
        call_id for call_id in found.answered
        if call_id not in withheld or call_id in begun or latest.get(call_of(call_id)) != call_id
    ]  # fmt: skip
    ended, keys = set(found.ended), _keys(scope, born, events)
    copied = (_without_approval(event, withheld) for event in events)
    return [_with_key(event, keys, ended) for event in copied], found


def _begun_on(events: Iterable[Event]) -> set[str]:
    """The questions after whose answer the function of their call has begun."""
    answered: dict[str, set[str]] = {}
    begun: set[str] = set()
    for event in events:
        if isinstance(event, PendingAnswered):
            answered.setdefault(call_of(event.call_id), set()).add(event.call_id)
        elif isinstance(event, ToolStarted):
            begun |= answered.get(_address(event.path, event.call.call_id), set())
    return begun


def _keys(scope: Scope, born: float, events: Iterable[Event]) -> dict[str, str]:
    """The keys of the calls that have begun, by their addresses."""
    keys: dict[str, str] = {}
    for event in events:
        if isinstance(event, ToolStarted):
            at = _address(event.path, event.call.call_id)
            keys[at] = event.key or keys.get(at) or call_key(scope, born, at)
    return keys


def _with_key(event: Event, keys: Mapping[str, str], ended: Collection[str]) -> Event:
    if not isinstance(event, ToolStarted):
        return event
    at = _address(event.path, event.call.call_id)
    return replace(event, key="" if at in ended else keys[at])


def _without_approval(event: Event, withheld: Collection[str]) -> Event:
    """The event, or one in its place that says nothing: others name events by their numbers."""
    if not isinstance(event, PendingAnswered) or event.call_id not in withheld:
        return event
    return StateChanged(
        seq=event.seq, run_id=event.run_id, agent=event.agent, at=event.at, delta={}
    )


def closed_by(found: Changes, still_open: Iterable[tuple[Pending, bool]]) -> list[str]:
    """The ids of those open calls that the batch closes; each comes with whether the log has its
    answer."""
    return [
        pending.call_id
        for pending, is_told in still_open
        if (
            _is_ended(pending.call_id, found)
            if pending.blocking
            else is_told or pending.call_id in found.answered
        )
    ]


def refuse_stale(expected: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """`StaleState` unless the state has what is expected of it."""
    now = {key: state.get(key) for key in expected}
    if now != dict(expected):
        raise StaleState(now)


def is_session_key(key: str) -> bool:
    """Whether a state key lives in its session rather than with the user or the app."""
    return not key.startswith(("app:", "user:", "temp:"))


def _address(path: str, call_id: str) -> str:
    return f"{path}/{call_id}" if path else call_id


def _is_ended(call_id: str, found: Changes) -> bool:
    # A call that asked again is `call~2`, and one made inside it is `call/inner`.
    return any(
        call_id == ended or call_id.startswith((f"{ended}~", f"{ended}/")) for ended in found.ended
    )


def _delta(event: Event) -> Iterator[tuple[str, Any]]:
    match event:
        case StateChanged(delta=delta):
            pass
        case ToolEnded(actions=actions) | PendingOpened(actions=actions) if actions:
            delta = actions.state_delta
        case _:
            return
    for key, value in delta.items():
        if not key.startswith("temp:"):
            yield key, jsonable(value)


def _title(text: str) -> str:
    words = " ".join(text.replace("\0", "").split())
    return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1] + "…"
