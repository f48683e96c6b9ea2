"""The events of one session while it runs: numbered, handed to listeners, stored, and read back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import anyio

from toolwright.backends import OpenCall, Store
from toolwright.messages import (
    Actions,
    AnyEvent,
    Event,
    History,
    HistoryCompacted,
    ModelMessage,
    ModelReplied,
    Pending,
    PendingAnswered,
    PendingOpened,
    RunEnded,
    RunStarted,
    Scope,
    StateChanged,
    Steered,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolMessage,
    ToolResult,
    ToolStarted,
    Transferred,
    UserMessage,
    is_stored,
)

__all__ = [
    "CallRecord",
    "Listener",
    "Log",
    "Thread",
    "Waiting",
    "begin_turn",
    "full_id",
    "settle_turn",
]

Listener = Callable[[Event], None]
NEVER_RAN = (TextPart("This call was cancelled before it had a result."),)


@dataclass(slots=True)
class CallRecord:
    """What is known of one call: it was started, it waits, it was answered, it has its result."""

    started: bool = False
    """Started and neither ended nor parked since: interrupted, when read back after a crash."""
    pending: Pending | None = None
    answered: bool = False
    answer: Any = None
    result: ToolResult | None = None
    actions: Actions | None = None
    """What the tool wanted to happen beside its result."""
    asked: int = 0
    """How often it has asked the outside."""
    approval: Any = None
    """The approval it was given, which holds when it asks for something else afterwards."""
    approved: Pending | None = None
    """What that approval was given to."""

    def take(self, answer: Any) -> None:
        """Note the answer to what is pending."""
        self.answered, self.answer = True, answer
        if self.pending is not None and self.pending.kind == "confirmation":
            self.approval, self.approved = answer, self.pending


@dataclass(slots=True)
class Thread:
    """One conversation of the session: the outer run's, or that of an agent inside a call."""

    history: History = field(default_factory=History)
    agent: str = ""
    calls: tuple[ToolCall, ...] = ()
    """The calls of the latest model turn; their results are not in the history until all are there."""
    ended: RunEnded | None = None


class Waiting(NamedTuple):
    """A message to put in before the next turn, and the call whose outcome it tells, if any."""

    message: UserMessage
    call_id: str = ""


class Log:
    """Append-only. What it keeps in memory can be rebuilt from the stored events alone."""

    def __init__(self, scope: Scope, store: Store | None = None) -> None:
        self.scope = scope
        self.store = store
        self.seq = 0
        self.events: list[Event] = []
        """Stored events that this process has added."""
        self.listeners: list[Listener] = []
        self.calls: dict[str, CallRecord] = {}
        self.threads: dict[str, Thread] = {}
        self.inbox: list[Waiting] = []
        """Messages to put in before the next turn."""
        self._unsaved: list[Event] = []
        self._flushing = anyio.Lock(fast_acquire=True)

    # -- writing ----------------------------------------------------------------------------

    def add(self, event: AnyEvent) -> None:
        """Number the event if it is one to keep, and hand it to the listeners."""
        if is_stored(event):
            self.seq += 1
            # Set in place: the event was made a moment ago and nobody else has seen it.
            object.__setattr__(event, "seq", self.seq)
            self.events.append(event)
            if self.store is not None:
                self._unsaved.append(event)
        for listener in self.listeners:
            listener(event)

    async def flush(self) -> None:
        """Return when all that has been added is stored; not cancelled halfway, nor forgotten.

        One transaction at a time: parallel calls must not overtake each other.
        """
        if self.store is None:
            return
        with anyio.CancelScope(shield=True):
            async with self._flushing:
                if self._unsaved:
                    batch, self._unsaved = self._unsaved, []
                    await self.store.append(self.scope, batch)

    def thread(self, path: str) -> Thread:
        """The conversation at `path`, begun if it is new."""
        found = self.threads.get(path)
        if found is None:
            found = self.threads[path] = Thread()
        return found

    def record(self, call_id: str) -> CallRecord:
        """What is known of a call, by its full id."""
        found = self.calls.get(call_id)
        if found is None:
            found = self.calls[call_id] = CallRecord()
        return found

    # -- reading back -----------------------------------------------------------------------

    def replay(self, events: Sequence[Event]) -> None:
        """Rebuild conversations and calls from stored events."""
        for event in events:
            self.seq = max(self.seq, event.seq)
            _apply(self, event)

    async def fetch_answers(self) -> bool:
        """Take in answers that have come from outside; whether there were new ones."""
        if self.store is None:
            return False
        return self.take_answers(
            await self.store.open_calls(self.scope.app_name, self.scope.session_id)
        )

    def take_answers(self, calls: Sequence[OpenCall]) -> bool:
        """Note the answers among `calls`; whether there were new ones."""
        taken = [self.take_answer(row.pending.call_id, row.answer) for row in calls if row.answered]
        return any(taken)

    def take_answer(self, address: str, answer: Any) -> bool:
        """Note an answer to the pending call at `address`; False when it is not waiting for one."""
        record = self.calls.get(address.partition("~")[0])
        if record is None or record.pending is None or record.pending.call_id != address:
            return False
        if record.answered or (record.result is not None and record.pending.blocking):
            return False
        record.take(answer)
        shown = (
            None if record.pending.kind == "credential" and not _is_rejection(answer) else answer
        )
        self.add(PendingAnswered(call_id=address, answer=shown, at=time.time()))
        return True

    def told(self, address: str) -> None:
        """The conversation knows the outcome of a call that it did not wait for."""
        self.record(address.partition("~")[0]).pending = None

    def has_answer(self, call_id: str) -> bool:
        """Whether the outside has answered this unfinished call, or one inside it."""
        return any(
            record.answered and record.result is None
            for address, record in self.calls.items()
            if address == call_id or address.startswith(f"{call_id}/")
        )

    def waiting(self) -> list[Pending]:
        """The calls that are open, in the order they were opened."""
        return [
            record.pending
            for record in self.calls.values()
            if record.pending is not None and not record.answered
            and (record.result is None or not record.pending.blocking)
        ]  # fmt: skip


def _is_rejection(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("kind") == "reject"


def full_id(path: str, call_id: str) -> str:
    """A call's address within its session."""
    return f"{path}/{call_id}" if path else call_id


def _apply(log: Log, event: Event) -> None:
    """Take one stored event into account, exactly as when it was first added."""
    match event:
        case RunStarted() | Steered():
            thread = log.thread(event.path)
            thread.agent = thread.agent or event.agent
            thread.ended = None
            if event.message is not None:
                settle_turn(log, event.path)
                thread.history.append(event.message)
            if isinstance(event, Steered) and event.call_id:
                log.told(event.call_id)
        case ModelReplied():
            settle_turn(log, event.path)
            begin_turn(log.thread(event.path), event.message)
        case ToolStarted():
            log.record(full_id(event.path, event.call.call_id)).started = True
        case ToolEnded():
            record = log.record(full_id(event.path, event.result.call_id))
            record.started, record.result, record.actions = False, event.result, event.actions
        case PendingOpened():
            record = log.record(event.pending.call_id.partition("~")[0])
            record.started, record.pending, record.answered = False, event.pending, False
            record.asked += 1
        case PendingAnswered():
            log.record(event.call_id.partition("~")[0]).take(event.answer)
        case HistoryCompacted():
            thread = log.thread(event.path)
            # The results of the latest turn are among the messages already.
            thread.history, thread.calls = History(event.messages), ()
        case Transferred():
            log.thread(event.path).agent = event.to_agent
        case RunEnded():
            log.thread(event.path).ended = event
        case StateChanged() | _:
            pass


def begin_turn(thread: Thread, message: ModelMessage) -> None:
    """Add the model's turn; its calls are now to be answered."""
    thread.history.append(message)
    thread.calls = message.calls


def settle_turn(log: Log, path: str) -> None:
    """Put the results of the latest turn into the history, in the order of its calls.

    A call that never got one (the run was abandoned for a new message) is said to be cancelled.
    """
    thread = log.thread(path)
    if not thread.calls:
        return
    results = []
    for call in thread.calls:
        record = log.record(full_id(path, call.call_id))
        if record.result is None:
            record.result = ToolResult(
                call_id=call.call_id, name=call.name, status="error", content=NEVER_RAN
            )
        results.append(record.result)
    thread.history.append(ToolMessage(tuple(results)))
    thread.calls = ()
