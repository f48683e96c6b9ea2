"""Our events as AG-UI events, one run at a time."""

from datetime import UTC, datetime
from typing import Any

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from toolwright.messages import (
    Event,
    ModelReplied,
    Pending,
    PendingOpened,
    ReasoningDelta,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    ToolCall,
    ToolEnded,
    ToolProgress,
    Transferred,
    call_of,
)
from toolwright.serve._public import public_state

__all__ = ["Translator", "interrupt_id"]

_VERSION = "1.0"
_KEY_LENGTH = 16
_LOST = "Not all that was shown of this run could be stored, or its thread was deleted. Read the thread anew."


class Translator:
    """Translates the events of one run, in order; of agents inside calls only what they ask is shown."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._thread = thread_id
        self._run = run_id
        self._message = 0
        self._open: str = ""
        """What is being written: `text`, `reasoning` or nothing."""
        self._streamed = False
        self._pending: dict[str, Pending] = {}
        self._begun = False

    def translate(self, event: Event) -> list[BaseEvent]:
        """What a front end is told of `event`; a run that was joined on its way begins here too."""
        shown = self._translated(event)
        joined = bool(shown) and not self._begun and not isinstance(event, RunStarted)
        self._begun = self._begun or bool(shown)
        return [self._started(), *shown] if joined else shown

    def _translated(self, event: Event) -> list[BaseEvent]:
        if isinstance(event, PendingOpened):  # Also inside a call: a person must be able to answer.
            self._pending[event.pending.call_id] = event.pending
        if event.path:
            return []
        match event:
            case RunStarted():
                return self._run_started()
            case TextDelta(text=text):
                opening = self._switch("text")
                return [*opening, TextMessageContentEvent(message_id=self._id, delta=text)]
            case ReasoningDelta(text=text):
                opening = self._switch("reasoning")
                return [*opening, ReasoningMessageContentEvent(message_id=self._id, delta=text)]
            case ModelReplied():
                return self._replied(event)
            case ToolProgress(call_id=call_id, text=text, data=data):
                value = {"toolCallId": call_id, "text": text, "data": data}
                return [CustomEvent(name="tool_progress", value=value)]
            case ToolEnded():
                return self._ended(event)
            case PendingOpened():
                return _state(event.actions.state_delta if event.actions else {})
            case StateChanged(delta=delta):
                return _state(delta)
            case Transferred(to_agent=name):
                return [CustomEvent(name="transferred", value={"agent": name})]
            case RunEnded():
                return [*self._switch(""), self._finished(event)]
        return []

    def paused(self, waiting: list[Pending]) -> list[BaseEvent]:
        """A run that cannot go on, because calls still wait."""
        self._pending = {pending.call_id: pending for pending in waiting}
        return [self._started(), self._finished(RunEnded(status="paused"))]

    def lost(self) -> list[BaseEvent]:
        """The end of a run of which not all that was shown is in the thread."""
        begun = [] if self._begun else [self._started()]
        return [*begun, *self._switch(""), RunErrorEvent(message=_LOST)]

    @property
    def _id(self) -> str:
        return f"{self._run}-{self._message}"

    def _run_started(self) -> list[BaseEvent]:
        """The run begins, or goes on after a process died in the middle: to a front end it is one."""
        if not self._begun:
            return [self._started()]
        broken_off = self._switch("")
        self._streamed = False
        return broken_off

    def _started(self) -> BaseEvent:
        return RunStartedEvent(thread_id=self._thread, run_id=self._run, protocol_version=_VERSION)

    def _switch(self, kind: str) -> list[BaseEvent]:
        """End what is being written and begin a `kind`, unless it is already being written."""
        if self._open == kind:
            return []
        events = self._close()
        self._open = kind
        if kind:
            self._message += 1
            self._streamed = self._streamed or kind == "text"
        if kind == "text":
            events.append(TextMessageStartEvent(message_id=self._id, role="assistant"))
        elif kind == "reasoning":
            events.append(ReasoningStartEvent(message_id=self._id))
            events.append(ReasoningMessageStartEvent(message_id=self._id, role="reasoning"))
        return events

    def _close(self) -> list[BaseEvent]:
        if self._open == "text":
            return [TextMessageEndEvent(message_id=self._id)]
        if self._open == "reasoning":
            ends = (ReasoningMessageEndEvent, ReasoningEndEvent)
            return [end(message_id=self._id) for end in ends]
        return []

    def _replied(self, event: ModelReplied) -> list[BaseEvent]:
        events: list[BaseEvent] = []
        if event.message.text and not self._streamed:
            events += self._switch("text")
            events.append(TextMessageContentEvent(message_id=self._id, delta=event.message.text))
        events += self._switch("")
        self._streamed = False
        for call in event.message.calls:
            events += self._call(call)
        return events

    def _call(self, call: ToolCall) -> list[BaseEvent]:
        start = ToolCallStartEvent(
            tool_call_id=call.call_id, tool_call_name=call.name, parent_message_id=self._id
        )
        arguments = ToolCallArgsEvent(tool_call_id=call.call_id, delta=call.arguments)
        return [start, arguments, ToolCallEndEvent(tool_call_id=call.call_id)]

    def _ended(self, event: ToolEnded) -> list[BaseEvent]:
        result = event.result
        shown: list[BaseEvent] = []
        if result.status != "pending":
            shown.append(
                ToolCallResultEvent(
                    message_id=f"{self._run}-result-{result.call_id}",
                    tool_call_id=result.call_id,
                    content=result.text,
                    role="tool",
                )
            )
        return shown + _state(event.actions.state_delta if event.actions else {})

    def _finished(self, event: RunEnded) -> BaseEvent:
        if event.status == "stopped" and event.reason != "cancelled":
            return RunErrorEvent(message=event.reason or "The run stopped.")
        outcome: Any = RunFinishedSuccessOutcome()
        if event.status == "stopped":
            outcome = RunFinishedCancelledOutcome()
        elif event.status == "paused":
            waiting = [_interrupt(pending) for pending in self._pending.values()]
            outcome = RunFinishedInterruptOutcome(interrupts=waiting)
        return RunFinishedEvent(thread_id=self._thread, run_id=self._run, outcome=outcome)


def _state(delta: dict[str, Any]) -> list[BaseEvent]:
    patch = [_operation(key, value) for key, value in public_state(delta).items()]
    if not patch:
        return []
    return [StateDeltaEvent.model_validate({"delta": patch})]


def _operation(key: str, value: Any) -> dict[str, Any]:
    pointer = f"/{key.replace('~', '~0').replace('/', '~1')}"
    if value is None:
        return {"op": "remove", "path": pointer}
    return {"op": "add", "path": pointer, "value": value}


def interrupt_id(pending: Pending) -> str:
    """What a front end knows a question by; in a thread that is begun anew, none has it again."""
    # The protocol has no field for the key, and call ids come again.
    return f"{pending.call_id}.{pending.key[:_KEY_LENGTH]}" if pending.key else pending.call_id


def _interrupt(pending: Pending) -> Interrupt:
    expires = None
    if pending.deadline is not None:
        expires = datetime.fromtimestamp(pending.deadline, UTC).isoformat()
    return Interrupt(
        id=interrupt_id(pending),
        reason=pending.kind,
        message=pending.hint or None,
        tool_call_id=call_of(pending.call_id),
        response_schema=pending.schema,
        expires_at=expires,
        metadata={
            "tool": pending.name,
            "arguments": pending.arguments,
            "payload": pending.payload,
            "rule": pending.rule,
        },
    )
