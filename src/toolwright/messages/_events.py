"""What happens during a run, as small typed values with a sequence number.

Stored events are enough to rebuild a session: its history, its state and what it waits for.
The three deltas and `ToolProgress` are for those who watch; they are never stored.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.messages._messages import Message, ModelMessage, Usage, UserMessage
from toolwright.messages._parts import ToolCall
from toolwright.messages._results import Actions, Pending, StoredAnswer, ToolResult
from toolwright.messages._specs import Label

__all__ = [
    "AnyEvent",
    "CallDelta",
    "CancelRequested",
    "Event",
    "HistoryCompacted",
    "MessageQueued",
    "ModelReplied",
    "PendingAnswered",
    "PendingChanged",
    "PendingOpened",
    "ReasoningDelta",
    "RunEnded",
    "RunStarted",
    "RunStatus",
    "StartedEarly",
    "StateChanged",
    "Steered",
    "TextDelta",
    "ToolEnded",
    "ToolProgress",
    "ToolStarted",
    "Transferred",
    "TurnStarted",
    "is_stored",
    "is_untrusted",
]

RunStatus = Literal["done", "paused", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Where and when something happened."""

    seq: int = 0
    """Position in the session's log, from 1; 0 until the log has taken it."""
    run_id: str = ""
    agent: str = ""
    path: str = ""
    """Empty for the outer run; for an agent run inside a call, the ids of the calls around it."""
    at: float = 0.0
    """Seconds since the epoch."""

    @property
    def id(self) -> str:
        """Tells the event from all others that are stored with its session."""
        return f"{self.run_id}:{self.seq}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run began with the person's message, or went on without one."""

    message: UserMessage | None = None
    type: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueued(Event):
    """A message waits to be put into the run before the next turn, in whichever process that is."""

    message: UserMessage
    type: Literal["message_queued"] = "message_queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered(Event):
    """A message was put into a run that was already going."""

    message: UserMessage
    call_id: str = ""
    """When it tells the outcome of a long-running call, that call."""
    queued: int = 0
    """When it was queued before, the `seq` of that `MessageQueued`."""
    type: Literal["steered"] = "steered"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """The model is about to be asked."""

    turn: int
    instructions: tuple[str, ...] | None = None
    """What requests begin with from this turn on, where that may change from turn to turn: the
    instructions, and what each thing among the tools has added to them."""
    type: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """A piece of the model's text."""

    text: str
    type: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta(Event):
    """A piece of the model's reasoning."""

    text: str
    type: Literal["reasoning_delta"] = "reasoning_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta(Event):
    """A piece of a call's arguments, as the model writes them."""

    index: int
    """Which call of the turn, from 0."""
    name: str = ""
    arguments: str = ""
    type: Literal["call_delta"] = "call_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied(Event):
    """The model's whole turn."""

    message: ModelMessage
    type: Literal["model_replied"] = "model_replied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(Event):
    """The function of a call runs from here on; a call that is denied or still waits has none."""

    call: ToolCall
    key: str = ""
    """The idempotency key that it began under, where that was in the session of which this one is a
    branch; empty otherwise."""
    type: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedEarly(Event):
    """The function of a call that only reads runs from here on, while the model still writes. When
    the reply comes, `ToolStarted` follows in its place; when it does not, nothing is made of it."""

    call: ToolCall
    type: Literal["started_early"] = "started_early"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(Event):
    """A running tool has something to show."""

    call_id: str
    text: str = ""
    data: Any = None
    type: Literal["tool_progress"] = "tool_progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(Event):
    """A call has its result. One per call; a pending call gets it when it is answered."""

    result: ToolResult
    actions: Actions | None = None
    elapsed: float = 0.0
    trust: Label | None = None
    """Whether the result may be text that anybody has written; None in logs of older versions."""
    traceback: str | None = None
    """The full traceback of a tool that raised; the model never sees it."""
    type: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOpened(Event):
    """A call waits for the outside."""

    pending: Pending
    actions: Actions | None = None
    type: Literal["pending_opened"] = "pending_opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChanged(Event):
    """What is known of a call that waits has changed: its function has returned, or the run does
    not wait for it any more."""

    pending: Pending
    type: Literal["pending_changed"] = "pending_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAnswered(Event):
    """The outside has answered. A credential is only said to have come, never shown."""

    call_id: str
    answer: StoredAnswer | None = None
    type: Literal["pending_answered"] = "pending_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(Event):
    """State changed outside a tool: by a hook, or by the program."""

    delta: dict[str, Any]
    type: Literal["state_changed"] = "state_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted(Event):
    """From here on the history is `messages`, then what follows."""

    messages: tuple[Message, ...]
    usage: Usage = field(default_factory=Usage)
    """What the summary has cost."""
    type: Literal["history_compacted"] = "history_compacted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred(Event):
    """Another agent has the conversation now."""

    to_agent: str
    type: Literal["transferred"] = "transferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested(Event):
    """Somebody wants the run to end. Nobody goes on with it by themselves, even if its process dies
    before it has ended."""

    type: Literal["cancel_requested"] = "cancel_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """A run is over, or pauses."""

    status: RunStatus
    text: str = ""
    reason: str = ""
    """Why it stopped: a limit, a cancellation, an error. Empty when it is done or paused."""
    usage: Usage = field(default_factory=Usage)
    output: Any = None
    """The output as JSON, where it is something else than the text."""
    escalated: bool = False
    """Whether it wants whatever it runs in to end as well."""
    type: Literal["run_ended"] = "run_ended"


AnyEvent = (
    RunStarted
    | MessageQueued
    | Steered
    | TurnStarted
    | TextDelta
    | ReasoningDelta
    | CallDelta
    | ModelReplied
    | StartedEarly
    | ToolStarted
    | ToolProgress
    | ToolEnded
    | PendingOpened
    | PendingChanged
    | PendingAnswered
    | StateChanged
    | HistoryCompacted
    | Transferred
    | CancelRequested
    | RunEnded
)

_WATCHED_ONLY = (TextDelta, ReasoningDelta, CallDelta, ToolProgress)


def is_untrusted(event: Event) -> bool:
    """Whether something was read with it that anybody may have written; None is of older versions."""
    match event:
        case ToolEnded(trust=trust):
            return trust not in ("trusted", "neutral")
        case ModelReplied(message=message):
            return any(part.kind == "server_tool" for part in message.parts)
        case _:
            return False


def is_stored(event: Event) -> bool:
    """Whether the event belongs in the session's log."""
    return not isinstance(event, _WATCHED_ONLY)
