"""What became of a call: its result, and what it waits for while it is pending."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from toolwright._settings import check_fields
from toolwright.messages._parts import Content, TextPart

__all__ = [
    "ADDRESS_MARKS",
    "STORED_AS",
    "Actions",
    "Answer",
    "Answered",
    "Approve",
    "EventActions",
    "Given",
    "Pending",
    "PendingKind",
    "PendingRequest",
    "Reject",
    "Remember",
    "SignedIn",
    "Status",
    "StoredAnswer",
    "ToolResult",
    "call_of",
    "question_id",
    "question_number",
]

STORED_AS = "stored_as"
"""The key in `ToolResult.data` that names where data is kept which was too large for an event."""
Status = Literal["ok", "error", "denied", "pending"]
PendingKind = Literal["result", "confirmation", "credential", "choice", "input"]
Answered = Literal["accepted", "duplicate", "unknown", "expired", "finished"]
"""What became of an answer to a pending call. The first one wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What goes into the history for one call. Every call gets exactly one."""

    call_id: str
    name: str
    status: Status
    content: tuple[Content, ...] = ()
    """What the model reads."""
    data: Any = None
    """What people and programs see (the second half of a `(display, data)` output). Too large for
    an event, it is `{"stored_as": name, "bytes": …}`, and `Runner.output` reads it."""
    failed: Literal[True] | None = None
    """An error of what the call ran, not of the call: a command that exited with 1. Results that
    were stored before say `ok` beside it."""
    outcome_unknown: Literal[True] | None = None
    """It was given up in the middle: it may have taken effect, or still do."""
    found: tuple[str, ...] | None = None
    """The tools that a search has found, which can be called from here on."""
    called_as: str | None = None
    """As that of its call."""
    noted: Literal[True] | None = None
    """A person changed the arguments: the first part of `content` says so, and is not the tool's."""

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return _joined(self.content)

    @property
    def note(self) -> str:
        """What is said before the tool's own words; empty where nothing is."""
        return _joined(self.content[:1]) if self.noted else ""

    @property
    def own_text(self) -> str:
        """The text parts that are the tool's own, for programs that read its result."""
        return _joined(self.content[1:]) if self.noted else self.text


def _joined(content: tuple[Content, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """What a tool asks of the outside."""

    kind: PendingKind
    hint: str = ""
    payload: Any = None
    schema: dict[str, Any] | None = None
    timeout: float | None = None
    """Seconds from now until an answer is too late."""
    blocking: bool = True
    """False: the model reads the output now, and the answer reaches it later as an update."""
    rerun: bool = False
    """True: the tool runs again and finds the answer in `tool_context.answers`; False: a value
    that is answered is the call's result."""
    own_words: bool = False
    """Whether the answer is what a person says to the agent, as a message is: whoever judges calls by
    what was asked for reads it, too."""
    rule: str = ""
    """Which rule asks, in words; empty when the tool itself does."""
    question: str = ""
    """What an approval is bound to; filled in where the question is asked."""
    before: bool = False
    """Asked on behalf of the function before it runs, as a sign-in is that it needs."""
    outcome: bool = False
    """Whether it is asked what an interrupted call came to: nobody knows whether it has taken effect."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call whose answer comes from outside. Stored; answered exactly once."""

    call_id: str
    """Addresses it within its session or task. Calls of nested agents are `outer/inner`; when a
    call asks a second time, that one is `call~2`, so that a late first answer cannot fit it
    (`question_id` makes these, `call_of` reads them)."""
    name: str
    kind: PendingKind
    hint: str = ""
    payload: Any = None
    arguments: dict[str, Any] = field(default_factory=dict)
    """The validated arguments that an approval is bound to, secrets left out."""
    as_read: dict[str, Any] | None = None
    """The arguments as the call was read, where hooks have made others of them."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the answer, where one is expected."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of the tool's parameters, for those who edit `arguments` before they approve."""
    deadline: float | None = None
    """Seconds since the epoch; an answer after it is refused."""
    agent: str = ""
    blocking: bool = True
    """False: the run goes on, and the answer reaches the conversation later as an update."""
    rerun: bool = False
    """True: the tool runs again with the answer, which is not the call's result."""
    own_words: bool = False
    """Whether the answer is what a person says to the agent, as a message is."""
    ran: bool = False
    """Whether the tool's function has run: it came to its end, or to its own question."""
    interrupted: bool = False
    """Whether an earlier try of the call was interrupted, so that it may have taken effect."""
    outcome: bool = False
    """Whether a person is to say what an interrupted call came to: nothing of it runs any more, and
    nobody knows whether it has taken effect."""
    session_id: str = ""
    """Where it waits; filled in by those who list the calls of many sessions."""
    rule: str = ""
    """Which rule asks, in words; empty when the tool itself does."""
    question: str = ""
    """What an approval is bound to: who asks (`rule`, or the tool's `own`), a digest of the path and
    the tool's fingerprint, and a digest of the arguments."""
    key: str = ""
    """Names the question among all there ever were, in a stored session: who shows it to a person sends
    it along with the answer, so that it answers no question of a later session of the same id."""


ADDRESS_MARKS = re.compile("[/~]")
"""What addresses of calls inside others, and of a call's questions, are made with: no call's own id
has these, nor anything else that is not plain."""


def question_id(call_id: str, number: int) -> str:
    """The id of a call's first, second, … question."""
    return call_id if number == 1 else f"{call_id}~{number}"


def question_number(question: str) -> int:
    """Which of its call's questions it is, from 1."""
    return int(question.rpartition("~")[2]) if "~" in question else 1


def call_of(question: str) -> str:
    """The id of the call that asks a question."""
    return question.partition("~")[0]


Remember = bool | Literal["arguments", "session", "user", "source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Yes, run it; with `arguments`, run it with these instead (they are validated again)."""

    arguments: dict[str, Any] | None = None
    payload: Any = None
    """What the tool finds in `tool_context.tool_confirmation.payload`; if unset, what it asked with."""
    remember: Remember = False
    """What is not asked about again by the same agent: the same `arguments` in this session, the
    tool in this `session` (or True), or the tool for this `user` until its definition changes.
    Where a tool from outside has changed, `source` accepts all tools of its server as they are."""
    kind: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """No; the model is told the reason."""

    reason: str = ""
    kind: Literal["reject"] = "reject"


Answer = Approve | Reject | Any
"""Any other value is the result, the choice, the input or the credential that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The result, the choice or the input that was asked for."""

    value: Any = None
    content: tuple[Content, ...] = ()
    """What the model reads, where that is something else than the value."""
    data: Any = None
    status: Literal["ok", "error"] = "ok"
    kind: Literal["given"] = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """The person has brought a credential; until it is used it is kept as a secret under `key`."""

    key: str
    kind: Literal["signed_in"] = "signed_in"


StoredAnswer = Annotated[Approve | Reject | Given | SignedIn, Field(discriminator="kind")]
"""An answer as it was accepted. What it is stands beside what it holds, never inside: a result
that looks like an approval is a result."""


@dataclass(slots=True, kw_only=True)
class Actions:
    """What a tool wants to happen after it, beside its output."""

    skip_summarization: bool = False
    transfer_to_agent: str | None = None
    escalate: bool = False
    state_delta: dict[str, Any] = field(default_factory=dict)
    artifact_delta: dict[str, int] = field(default_factory=dict)
    requested_auth_configs: dict[str, Any] = field(default_factory=dict)
    """Which credentials were asked for, by call id: scheme and key only, never a secret."""
    route: Any = None
    output: Any = None

    def __bool__(self) -> bool:
        return bool(
            self.skip_summarization
            or self.transfer_to_agent
            or self.escalate
            or self.state_delta
            or self.artifact_delta
            or self.requested_auth_configs
            or self.route is not None
            or self.output is not None
        )


EventActions = Actions
"""The name that users of ADK know it by."""
