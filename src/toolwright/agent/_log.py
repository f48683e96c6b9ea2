"""The events of one session while it runs: numbered, handed to listeners, stored, and read back."""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import anyio

from toolwright.agent._instructions import is_change
from toolwright.agent._limits import Spent
from toolwright.backends import Hold, OpenCall, Store
from toolwright.errors import SessionHeld, StaleState, StoreConflict, StoreError
from toolwright.messages import (
    Actions,
    AnyEvent,
    AuthConfig,
    CancelRequested,
    Event,
    Given,
    History,
    HistoryCompacted,
    Message,
    MessageQueued,
    ModelReplied,
    Pending,
    PendingAnswered,
    PendingChanged,
    PendingOpened,
    RunEnded,
    RunStarted,
    Scope,
    SignedIn,
    StateChanged,
    Steered,
    StoredAnswer,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolMessage,
    ToolResult,
    ToolStarted,
    Transferred,
    TurnStarted,
    Usage,
    UserMessage,
    call_of,
    is_stored,
    is_untrusted,
    question_number,
)
from toolwright.tools import SharedWrites

__all__ = [
    "EARLIER_TRY",
    "RETRY_SECONDS",
    "CallRecord",
    "Listener",
    "Log",
    "Thread",
    "Waiting",
    "begin_turn",
    "full_id",
    "settle_turn",
]

logger = logging.getLogger("toolwright")

Listener = Callable[[Event], None]
RETRY_SECONDS = 30.0
"""How long a write that the store refuses is tried again, unless the runner says otherwise."""
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
_OVERWRITTEN = (
    "app: or user: state was changed by another session after it had been read here, and is overwritten "
    "by a call that waits, or by a hook; use state.change(key, update)"
)
EARLIER_TRY = "An earlier try of this call was interrupted and may have taken effect."
NEVER_RAN = (TextPart("This call was cancelled before it had a result."),)


@dataclass(slots=True)
class CallRecord:
    """What is known of one call: it was started, it waits, it was answered, it has its result."""

    counted: bool = False
    """Counted against the limit of calls."""
    started: bool = False
    """Its function was started and has neither ended nor parked since: interrupted, when read back
    after a crash or after its run was cancelled."""
    interrupted: bool = False
    """An earlier try of it was interrupted, and may have taken effect."""
    begun: bool = False
    """Its function has begun in this process."""
    left: bool = False
    """The person has written since it was interrupted: it is neither repeated nor waited for."""
    pending: Pending | None = None
    """Its latest question to the outside."""
    answer: StoredAnswer | None = None
    """The answer to that."""
    behind: Pending | None = None
    """The result that it waits for behind its present question: each is answered by its own id."""
    answers: list[tuple[Pending, StoredAnswer]] = field(default_factory=list)
    """All its questions that were answered, in order, each with its own answer."""
    result: ToolResult | None = None
    actions: Actions | None = None
    """What the tool wanted to happen beside its result."""
    is_past: bool = False
    """It had failed before a run of the session stopped: who goes on with that may try it again."""
    asked: int = 0
    """How often it has asked the outside."""
    key: str = ""
    """The idempotency key it began under, in the session that this one was branched from."""
    sign_in: AuthConfig | None = None
    """What it is about to ask a person for, until its question is stored; never stored itself."""
    as_read: dict[str, Any] | None = None
    """Its arguments before hooks see them, a person's changes included; None before it is read."""
    early: Any = None
    """What was started of it before the model's reply was whole, as a handler with its context."""
    note: str = ""
    """What its result says before the tool's own words."""

    @property
    def is_deferred(self) -> bool:
        """Whether its result is to come from outside, whatever its function does."""
        return self.pending is not None and self.pending.kind == "result" and self.answer is None

    def ask(self, pending: Pending) -> None:
        """Note a question; the function of a deferred tool may still be running behind it."""
        if self.is_deferred:
            self.behind = self.pending
        self.started = self.started and pending.kind == "result" and not pending.ran
        self.pending, self.answer = pending, None
        self.interrupted = self.interrupted or pending.interrupted
        self.asked = max(self.asked + 1, question_number(pending.call_id))

    def change(self, pending: Pending) -> None:
        """Note what has changed about a question, which is the present one from here on."""
        if self.pending is not None and self.pending.call_id != pending.call_id:
            self.answer, self.behind = None, None
        self.started = self.started and pending.kind == "result" and not pending.ran
        self.pending = pending

    def take(self, answer: StoredAnswer) -> None:
        """Note the answer to what is pending."""
        self.answer = answer
        if self.pending is not None:
            self.answers.append((self.pending, answer))

    def end(self, result: ToolResult, actions: Actions | None) -> None:
        """Note the result; one that was made of a late answer has told it."""
        self.started, self.result, self.actions = False, result, actions
        if self.answer is not None and self.pending is not None and not self.pending.blocking:
            self.pending = None


@dataclass(slots=True)
class Thread:
    """One conversation of the session: the outer run's, or that of an agent inside a call."""

    history: History = field(default_factory=History)
    agent: str = ""
    calls: tuple[ToolCall, ...] = ()
    """The calls of the latest model turn; their results are not in the history until all are there."""
    asked: set[str] = field(default_factory=set)
    """The ids of all calls that a model has made here."""
    ended: RunEnded | None = None
    turn_event: str = ""
    """The id of the event with the latest model turn."""
    begins: tuple[str, ...] | None = None
    """The instructions that requests begin with, where these may change from turn to turn."""
    told: tuple[str, ...] = ()
    """The instructions as the model was last told them; empty when that is not known."""
    key: str = ""
    """What providers know the conversation by."""
    early: Any = None
    """The calls of the present reply that are started before it is whole, if they may be."""
    after_compaction: int | None = None
    """Input tokens of the first request after the latest compaction; 0 until there is one."""

    def compacted(self, messages: Sequence[Message]) -> None:
        """Go on with these messages in place of the history, which requests begin with anew."""
        self.history, self.begins, self.after_compaction = History(messages), None, 0


class Waiting(NamedTuple):
    """A message to put in before the next turn."""

    message: UserMessage
    call_id: str = ""
    """The call whose outcome it tells, if any."""
    queued: int = 0
    """The number of the event that stored it."""


class Log:
    """Append-only. What it keeps in memory can be rebuilt from the stored events alone."""

    def __init__(
        self,
        scope: Scope,
        store: Store | None = None,
        *,
        born: float | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self.scope = scope
        self.store = store
        self.hold: Hold | None = None
        """The run's hold on the session, until its end is stored."""
        self.born = born
        """When the stored session was made, which tells it from others of its name."""
        self.broken: StoreError | None = None
        """Why nothing more can be stored. The run must end: nobody would know what it did."""
        self._retry_seconds = retry_seconds
        self.seq = 0
        self.events: list[Event] = []
        """Stored events that this process has added."""
        self.listeners: list[Listener] = []
        self.calls: dict[str, CallRecord] = {}
        self.threads: dict[str, Thread] = {}
        self.spent: dict[str, Spent] = {}
        """What was used up before this process read the log, by path."""
        self.asked: UserMessage | None = None
        """What whoever started the session's runs, or steered them, said last, and has answered in
        their own words since; never another answer of the outside, a summary or another message that
        a model or a tool has a part in."""
        self.outside: set[str] = set()
        """The calls whose results, or those of calls inside them, are untrusted; empty for the model
        of the outer run, when its provider has searched for it."""
        self.heard: list[str] = []
        """What people have answered in their own words, whoever began the run."""
        self.is_stopped = False
        """Whether a person has stopped the latest run, as far as the log was read back."""
        self.inbox: list[Waiting] = []
        """Messages to put in before the next turn."""
        self.owed: set[str] = set()
        """Calls and conversations to which something has come since a run last came to its end."""
        self.brought: dict[str, str] = {}
        """Where secrets are kept that were brought for calls, by the address of the question, but for
        those that an earlier run has dealt with."""
        self.failed: list[CallRecord] = []
        """Calls that have failed since a run last stopped, as far as the log was read back."""
        self._unsaved: list[Event] = []
        self._shared: dict[int, SharedWrites] = {}
        """What unsaved events change of the state that other sessions share, by their number."""
        self._flushing = anyio.Lock(fast_acquire=True)

    # -- writing ----------------------------------------------------------------------------

    def add(self, event: AnyEvent) -> None:
        """Number the event if it is one to keep, and hand it to the listeners.

        Raises why, when it could not be stored: whoever records a start must not go on from here.
        """
        if is_stored(event):
            if self.broken is not None:
                raise self.broken
            self.seq += 1
            # Set in place: the event was made a moment ago and nobody else has seen it.
            object.__setattr__(event, "seq", self.seq)
            self.events.append(event)
            self.note_label(event)
            if self.store is not None:
                self._unsaved.append(event)
        for listener in self.listeners:
            listener(event)

    def note_label(self, event: Event) -> None:
        """Note what is untrusted; so is what the calls around it come to, whatever these are."""
        if is_untrusted(event):
            inner = event.result.call_id if isinstance(event, ToolEnded) else ""
            self.outside.update(_with_outer(full_id(event.path, inner).rstrip("/")))

    def note_shared(self, writes: SharedWrites | None) -> None:
        """The event added last has what a call has changed of the state that other sessions share."""
        if writes is None:
            return
        event = self.events[-1]
        if self.store is None:
            writes.settle(_delta(event))
            return
        self._shared[self.seq] = writes
        if why := writes.failure():
            self._conflict(event, writes, why)

    async def flush(self) -> None:
        """Return when all that has been added is stored. Cancelling the scope around it waits for that.

        `task.cancel()` of asyncio goes through the shield: the transaction that is under way is
        finished, and what no transaction has taken up stays for the next flush, if there is one.

        One transaction at a time: parallel calls must not overtake each other. What the store
        refuses is tried again with growing pauses; when that must end, so does the log: this and
        every later `add` and `flush` raise the same `StoreError`.
        """
        if self.store is None:
            return
        with anyio.CancelScope(shield=True):
            async with self._flushing:
                if self.broken is not None:
                    raise self.broken
                if self._unsaved:
                    await self._write(self.store, list(self._unsaved))

    async def _write(self, store: Store, batch: list[Event]) -> None:
        """Store the head of what is unsaved, and only then take it off."""
        ends, pause = time.monotonic() + self._retry_seconds, _FIRST_PAUSE
        hold = self.hold
        if hold is not None and any(map(_is_end, batch)):
            hold = replace(hold, last=True)
        while True:
            try:
                if expected := self._expected(batch):
                    await store.append(self.scope, batch, hold, expected=expected)
                else:
                    await store.append(self.scope, batch, hold)
                break
            except StaleState as stale:
                self._rebase(stale.values)
                continue
            except Exception as error:
                if isinstance(error, SessionHeld):
                    self.hold = None  # Another run's now: there is nothing to release.
                if not _may_pass(error) or time.monotonic() + pause > ends:
                    if isinstance(error, StoreError):
                        self.broken = error
                        raise
                    self.broken = StoreError(f"Events could not be stored: {error}")
                    raise self.broken from error
                logger.warning("session %s: %s; trying again", self.scope.session_id, error)
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        del self._unsaved[: len(batch)]
        for event in batch:
            if writes := self._shared.pop(event.seq, None):
                writes.settle(_delta(event))
        if hold is not None and hold.last:
            self.hold = None
        elif hold is not None and hold.first:
            self.hold = Hold(id=hold.id, since=hold.since)

    def _expected(self, batch: Sequence[Event]) -> dict[str, Any]:
        """What the state that others share must have for the batch to follow on it."""
        expected: dict[str, Any] = {}
        for event in batch:
            if event.seq in self._shared:
                expected |= self._shared[event.seq].expected()
        return expected

    def _rebase(self, now: Mapping[str, Any]) -> None:
        """Have what is unsaved follow on what other sessions have made of the state."""
        held = [(event, self._shared[event.seq]) for event in self._unsaved
                if event.seq in self._shared]  # fmt: skip
        changed = held[0][1].follow(now)
        for event, writes in held:
            if why := writes.failure() or writes.conflict(changed):
                self._conflict(event, writes, why)
                continue
            try:
                _delta(event).update(writes.again(changed))
            except Exception as error:  # noqa: BLE001 - whatever the function that changes it raises
                why = f"State could not be changed once more: {error!r}."
                self._not_kept(event, writes, why)

    def _conflict(self, event: Event, writes: SharedWrites, why: str) -> None:
        """Another session has changed what the call had read before it wrote it."""
        if not isinstance(event, ToolEnded):
            # It waits, or is no call: the model cannot be told, and what it has begun goes on.
            _delta(event).update(writes.insist())
            why = writes.failure()
            if not why:
                logger.warning("session %s: %s", self.scope.session_id, _OVERWRITTEN)
        if why:
            self._not_kept(event, writes, why)

    def _not_kept(self, event: Event, writes: SharedWrites, why: str) -> None:
        """The call has failed after all. Set in place: the event has its number, but is not stored."""
        for key in writes.give_up():
            _delta(event).pop(key, None)
        if isinstance(event, ToolEnded):
            result = replace(event.result, status="error", content=(TextPart(why),), data=None)
            object.__setattr__(event, "result", result)
            self.record(full_id(event.path, result.call_id)).result = result
        else:
            logger.warning("session %s: %s", self.scope.session_id, why)

    async def release(self) -> None:
        """Let others have the session, if the end of the run could not be stored."""
        if self.store is None or self.hold is None:
            return
        hold, self.hold = self.hold, None
        with anyio.CancelScope(shield=True):
            try:
                await self.store.release(self.scope, hold.id)
            except Exception as error:  # noqa: BLE001 - a store of one's own may leave any as it is
                # The caller is told how the run ended; a hold ends with its process at the latest.
                logger.warning("session %s could not be released: %s", self.scope.session_id, error)

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
        run = _EarlierRun()
        for event in events:
            self.seq = max(self.seq, event.seq)
            self.note_label(event)
            _count(self, event, run)
            _apply(self, event)

    def spent_by(self, path: str) -> Spent:
        """What the conversation at `path` has used up itself."""
        found = self.spent.get(path)
        if found is None:
            found = self.spent[path] = Spent()
        return found

    def spent_at(self, path: str) -> Spent:
        """What the conversation at `path` and those inside it have used up in earlier runs.

        That of a workflow's step goes on with each message, as that of a plain agent does.
        """
        if path and path not in self.spent and self.round_of(path) is None:
            return Spent()
        step = self.step_of(path)
        below = f"{step}/" if step else ""
        steps = [(self.step_of(at), spent) for at, spent in self.spent.items()]
        total = sum((s for at, s in steps if at == step or at.startswith(below)), Spent())
        # The time of those inside passes for the outer one as well.
        return replace(total, seconds=sum(s.seconds for at, s in steps if at == step))

    async def fetch_answers(self) -> bool:
        """Take in answers that have come from outside; whether there were new ones."""
        if self.store is None:
            return False
        return self.take_answers(
            await self.store.open_calls(self.scope.app_name, self.scope.session_id)
        )

    def take_answers(self, calls: Sequence[OpenCall]) -> bool:
        """Note the answers among `calls`; whether there were new ones."""
        taken = [self._take(row.pending, row.answer) for row in calls if row.answer is not None]
        return any(taken)

    def _take(self, pending: Pending, answer: StoredAnswer) -> bool:
        record = self.record(call_of(pending.call_id))
        if record.pending is not None and record.pending.blocking and not pending.blocking:
            # It was accepted just as the call got another result: then it is told as an update.
            self._change(record, pending)
        return self.take_answer(pending.call_id, answer)

    def take_answer(self, address: str, answer: StoredAnswer) -> bool:
        """Note an answer to the pending call at `address`; False when it is not waiting for one."""
        record = self.calls.get(call_of(address))
        if record is None or record.pending is None:
            return False
        behind = record.behind
        if behind is not None and behind.call_id == address and record.answer is None:
            # The result has come before the answer to what the function asks first: that is moot.
            self._change(record, behind)
        if record.pending.call_id != address:
            return False
        if record.answer is not None or (record.result is not None and record.pending.blocking):
            return False
        self.note_answer(address, answer)
        self.add(PendingAnswered(call_id=address, answer=answer, at=time.time()))
        return True

    def _change(self, record: CallRecord, pending: Pending) -> None:
        record.change(pending)
        path = pending.call_id.rpartition("/")[0]
        self.add(PendingChanged(path=path, pending=pending, at=time.time()))

    def note_answer(self, address: str, answer: StoredAnswer) -> None:
        """The log has an answer to the question at `address`."""
        record = self.record(call_of(address))
        record.take(answer)
        self.owed.add(address)
        if record.pending is not None and record.pending.own_words and isinstance(answer, Given):
            self._hear(answer.value)
        if isinstance(answer, SignedIn):
            self.brought[address] = answer.key

    def _hear(self, said: Any) -> None:
        """A person has added something to what they asked for."""
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        self.heard.append(text)
        if self.asked is not None:
            self.asked = UserMessage((*self.asked.parts, TextPart(text)))

    def told(self, address: str) -> None:
        """The conversation knows the outcome of a call that it did not wait for."""
        self.record(call_of(address)).pending = None

    def round_of(self, address: str) -> int | None:
        """Which message of the session a workflow's step or call was for; None for those of a model.

        A workflow begins anew with each message, under other names (`Run.step`).
        """
        step = address.partition("/")[0]
        if not step or step in self.thread("").asked:
            return None
        number = call_of(step).rpartition("@")[2]
        return int(number) if "@" in step and number.isdecimal() else 1

    def rounds_under_way(self) -> set[int | None]:
        """The rounds of a workflow that its latest run was at."""
        latest = sum(isinstance(m, UserMessage) for m in self.thread("").history)
        return {latest, *map(self.round_of, [*self.owed, *self.interrupted()])} - {None}

    def leave_rounds(self) -> None:
        """No round of a workflow that was under way is finished for what has come for it."""
        self.owed = {address for address in self.owed if self.round_of(address) is None}

    def step_of(self, address: str) -> str:
        """The address that a workflow's step or call has whichever message it is for."""
        if self.round_of(address) is None:
            return address
        step, slash, inside = address.partition("/")
        return re.sub(r"@\d+(?=~|$)", "", step) + slash + inside

    def has_answer(self, call_id: str) -> bool:
        """Whether the outside has answered this unfinished call, or one inside it."""
        return any(
            record.answer is not None and record.result is None
            for address, record in self.calls.items()
            if address == call_id or address.startswith(f"{call_id}/")
        )

    def interrupted(self) -> list[str]:
        """The calls whose function was running when its process died, or when it was cancelled.

        Not those that called others or agents themselves: they may just be waiting for these. Nor
        those inside a call that has ended: nobody goes on with them.
        """
        started = [at for at, record in self.calls.items() if record.started and not record.result]
        return [
            at for at in started
            if at not in self.threads and not any(key.startswith(f"{at}/") for key in self.calls)
            and not any(self.has_ended(path) for path in _with_outer(at))
        ]  # fmt: skip

    def has_ended(self, address: str) -> bool:
        """Whether a call has its result."""
        known = self.calls.get(address)
        return known is not None and known.result is not None

    def waiting(self) -> list[Pending]:
        """The calls that are open, in the order they were opened."""
        return [
            record.pending
            for record in self.calls.values()
            if record.pending is not None and record.answer is None
            and (record.result is None or not record.pending.blocking)
        ]  # fmt: skip


def _may_pass(error: Exception) -> bool:
    """Whether a store may take the same again in a moment.

    A disk or a connection that fails is the same, whether or not a store of one's own translates it.
    """
    return isinstance(error, StoreError | OSError) and not isinstance(error, StoreConflict)


def _delta(event: Event) -> dict[str, Any]:
    """What an event changes of the state."""
    if isinstance(event, StateChanged):
        return event.delta
    actions = event.actions if isinstance(event, ToolEnded | PendingOpened) else None
    return {} if actions is None else actions.state_delta


def _is_end(event: Event) -> bool:
    """Whether the outer run ends, or pauses, with this."""
    return isinstance(event, RunEnded) and not event.path


def full_id(path: str, call_id: str) -> str:
    """A call's address within its session."""
    return f"{path}/{call_id}" if path else call_id


def _note_stop(log: Log, event: Event) -> None:
    """Note whether a person has stopped the latest run: a server that is shut down marks the log of a
    run that it ends itself with a change of nothing."""
    match event:
        case CancelRequested():
            log.is_stopped = True
        case RunEnded(path="", reason="cancelled"):
            log.is_stopped = True
        case RunStarted(path="") | StateChanged(path="") if not _delta(event):
            log.is_stopped = False
        case _:
            pass


def _apply(log: Log, event: Event) -> None:
    """Take one stored event into account, exactly as when it was first added."""
    if log.is_stopped and isinstance(event, RunStarted) and not event.path and event.message:
        log.leave_rounds()
    _note_stop(log, event)
    match event:
        case RunStarted() | Steered():
            thread = log.thread(event.path)
            thread.agent = thread.agent or event.agent
            thread.ended = None
            if event.message is not None:
                settle_turn(log, event.path)
                thread.history.append(event.message)
                if isinstance(event, RunStarted) and not event.path:
                    log.asked = event.message
            if isinstance(event, Steered):
                _delivered(log, event)
                if is_change(event.message):
                    thread.told = ()
        case TurnStarted(instructions=tuple() as begins):
            thread = log.thread(event.path)
            thread.begins = thread.told = begins
        case MessageQueued():
            log.inbox.append(Waiting(event.message, queued=event.seq))
            log.asked = event.message
        case ModelReplied():
            settle_turn(log, event.path)
            begin_turn(log.thread(event.path), event)
        case ToolStarted():
            record = log.record(full_id(event.path, event.call.call_id))
            record.started, record.key = True, event.key or record.key
        case ToolEnded():
            record = log.record(full_id(event.path, event.result.call_id))
            record.end(event.result, event.actions)
            if event.result.status == "error":
                log.failed.append(record)
        case PendingOpened():
            log.record(call_of(event.pending.call_id)).ask(event.pending)
        case PendingChanged():
            log.record(call_of(event.pending.call_id)).change(event.pending)
        case PendingAnswered(answer=answer) if answer is not None:
            log.note_answer(event.call_id, answer)
        case HistoryCompacted():
            thread = log.thread(event.path)
            # The results of the latest turn are among the messages already.
            thread.calls = ()
            thread.compacted(event.messages)
        case Transferred():
            thread = log.thread(event.path)
            thread.agent, thread.begins = event.to_agent, None
        case RunEnded():
            log.thread(event.path).ended = event
            if not event.path:
                kept = {
                    at: key for at, key in log.brought.items() if not log.has_ended(call_of(at))
                }
                log.brought = kept
            if not event.path and event.status != "stopped":
                log.owed.clear()
            elif not event.path:
                for record in log.failed:
                    record.is_past = True
                log.failed.clear()
        case StateChanged() | _:
            pass


def _delivered(log: Log, event: Steered) -> None:
    """A message that waited is in a conversation now."""
    log.owed.add(event.path)
    if event.call_id:
        log.told(event.call_id)
    if event.queued:
        log.inbox = [waiting for waiting in log.inbox if waiting.queued != event.queued]


def _count(log: Log, event: Event, run: "_EarlierRun") -> None:
    """Add up what earlier runs have used."""
    run.count_time(log, event)
    match event:
        case ModelReplied():
            spent = log.spent_by(event.path)
            spent.turns += 1
            spent.usage += event.message.usage
            run.usage += event.message.usage
        case HistoryCompacted():
            log.spent_by(event.path).usage += event.usage
            run.usage += event.usage
        case ToolStarted():
            _count_call(log, event.path, full_id(event.path, event.call.call_id))
        case PendingOpened():
            _count_call(log, event.path, call_of(event.pending.call_id))
        case ToolEnded():
            # Refused and denied ones have not started, but are calls that the model has made.
            _count_call(log, event.path, full_id(event.path, event.result.call_id))
        case RunEnded(path=""):
            # The end knows all that the run has used, such as for reviews of calls.
            log.spent_by("").usage += event.usage - run.usage
        case _:
            pass


def _count_call(log: Log, path: str, address: str) -> None:
    record = log.record(address)
    if not record.counted:
        record.counted = True
        log.spent_by(path).tool_calls += 1


@dataclass(slots=True)
class _EarlierRun:
    """How far one run of the session has been read."""

    usage: Usage = field(default_factory=Usage)
    latest: dict[str, float] = field(default_factory=dict)
    """When something last happened in each conversation that goes on, by path."""

    def count_time(self, log: Log, event: Event) -> None:
        """Only between the start and the end of a run does time count."""
        if isinstance(event, RunStarted) and not event.path:
            self.usage, self.latest = Usage(), {"": event.at}
        if not self.latest:
            return
        for path in _with_outer(event.path):
            if path in self.latest:
                log.spent_by(path).seconds += max(0.0, event.at - self.latest[path])
            elif path not in log.threads and not isinstance(event, RunStarted):
                continue  # A call that is no agent's conversation.
            self.latest[path] = event.at
        if isinstance(event, RunEnded):
            self.latest.pop(event.path, None)
            self.latest = self.latest if event.path else {}


def _with_outer(path: str) -> list[str]:
    """The path and those around it, the outer run's included."""
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(len(parts) + 1)]


def begin_turn(thread: Thread, event: ModelReplied) -> None:
    """Add the model's turn; its calls are now to be answered."""
    thread.history.append(event.message)
    if thread.after_compaction == 0:
        thread.after_compaction = event.message.usage.input_tokens
    thread.calls = event.message.calls
    thread.turn_event = event.id
    thread.asked.update(call.call_id for call in thread.calls)


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
        result = record.result
        if call.called_as is not None:
            result = replace(result, called_as=call.called_as)
        results.append(result)
    thread.history.append(ToolMessage(tuple(results)))
    thread.calls = ()
