"""A durable task as its owner sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright._sealed import sealed
from toolwright.errors import UsageError
from toolwright.messages import ID_BYTES, NAME_BYTES, ONCE_BYTES, Prompt, Scope, refuse_long

__all__ = [
    "APP",
    "ASKED",
    "COST",
    "DEFAULT_QUEUE",
    "ENDED",
    "PAYLOAD_SIZE",
    "RULES",
    "SUSPECT",
    "UNDER",
    "UNRULED",
    "WAITING",
    "NewTask",
    "ParentClose",
    "Task",
    "TaskStatus",
    "refuse_large",
    "task_scope",
]

TaskStatus = Literal[
    "QUEUED",
    "ACTIVE",
    "PENDING_TOOL_RESULTS",
    "PENDING_CHILD_TASKS",
    "COMPLETED",
    "FAILED",
    "CANCELLED",
]
ParentClose = Literal["cancel", "abandon"]
"""What becomes of a child task when its parent is cancelled."""
WAITING = ("PENDING_TOOL_RESULTS", "PENDING_CHILD_TASKS")
ENDED = ("COMPLETED", "FAILED", "CANCELLED")
_TAGS = 20
SUSPECT = 2
"""After so many crashes in a row a task may be what kills its workers."""
PAYLOAD_SIZE = 16_000_000
"""How long a prompt, a state, a message or an answer may be, unless the orchestrator says otherwise."""
DEFAULT_QUEUE = "default"
"""Where tasks wait that name no queue, and what a worker takes from that names none."""
APP = "tasks"
"""The app in whose sessions tasks run."""
UNDER = "_under"
"""The key, beside a child task's own state, of the agents on the path to the call that started it."""
UNRULED = "_unruled"
"""The key of those among them that have no rules, so that nobody needs to know them."""
RULES = "_rules"
"""The key of the rules of the others, so that a worker that has other ones does not run the task."""
ASKED = "_asked"
"""The key of what the person has asked of those agents."""
COST = "_cost"
"""The key of what those agents had cost when the task was started."""
_INHERITED = (UNDER, UNRULED, RULES, ASKED, COST)


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """What to enqueue."""

    agent: str
    prompt: Prompt
    owner_id: str = "owner"
    priority: int = 0
    """Higher runs first."""
    idempotency_key: str | None = None
    """Enqueued again under the same key, it is the same task; other work under it is refused."""
    queue: str | None = None
    """Only workers of this queue take it; None is that of its parent, or the default one."""
    concurrency_key: str | None = None
    """Tasks of the agent with the same key run one at a time, or as many as `register(per_key=…)` says."""
    start_at: float | None = None
    """Seconds since the epoch; not before then."""
    retries: int = 0
    """How often it is tried again by itself after a failure, each time after a longer pause."""
    state: Mapping[str, Any] = field(default_factory=dict)
    parent_id: str | None = None
    parent_call: str | None = None
    tags: Sequence[str] = ()
    """By which it can be found."""
    elsewhere: bool = False
    """Its agent may be one that is neither registered here nor known to any worker yet; its queue, one
    that no worker has taken from yet."""
    parent_close: ParentClose = "cancel"
    """When its parent is cancelled, so is it; or it is left running."""
    inherited: Mapping[str, Any] = field(default_factory=dict)
    """What rules know of those who started a child task, stored beside its state; filled in by the
    tool that starts it."""

    def __post_init__(self) -> None:
        for key in _INHERITED:
            if key in self.state:
                raise UsageError(
                    f"The state key {key!r} is the framework's own in tasks; choose another one."
                )
        if not self.agent or not self.owner_id:
            raise UsageError(f"A task needs an agent and an owner; got {self!r}.")
        if self.concurrency_key == "" or self.queue == "":
            raise UsageError("concurrency_key and queue are texts that are not empty, or None.")
        refuse_long("The agent's name", self.agent, NAME_BYTES)
        refuse_long("The owner_id", self.owner_id, ID_BYTES)
        refuse_long("The queue's name", self.queue or "", NAME_BYTES)
        refuse_long("The concurrency_key", self.concurrency_key or "", ID_BYTES)
        refuse_long("The idempotency_key", self.idempotency_key or "", ONCE_BYTES)
        if len(self.tags) > _TAGS or not all(self.tags):
            raise UsageError(f"tags are up to {_TAGS} texts that are not empty; got {self.tags!r}.")
        for tag in self.tags:
            refuse_long("A tag", tag, NAME_BYTES)
        if self.retries < 0:
            raise UsageError(f"retries cannot be negative; got {self.retries!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is known of a task."""

    id: str
    agent: str
    owner_id: str
    status: TaskStatus
    priority: int
    attempts: int
    """How often a worker has taken it up: once, and once more each time it went on."""
    failures: int
    created_at: float
    updated_at: float
    start_at: float
    text: str = ""
    """The agent's final text."""
    reason: str = ""
    """Why it failed or was cancelled."""
    worker: str | None = None
    parent_id: str | None = None
    queue: str = DEFAULT_QUEUE
    concurrency_key: str | None = None
    version: str = ""
    """The version of the worker that last took it up."""
    crashes: int = 0
    """How often in a row it was taken up and lost with its worker, or could not be stored; of one
    that is running, this time included."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.status in ENDED


def refuse_large(what: str, text: str, most: int) -> None:
    """`UsageError` when a stored text has more characters than `most`."""
    if len(text) > most:
        raise UsageError(
            f"{what} takes {len(text):,} characters and may take {most:,}. Keep it elsewhere (an "
            "artifact, a file) and name it, or raise Orchestrator(max_payload=…)."
        )


def task_scope(task_id: str, owner_id: str) -> Scope:
    """The session in which a task runs."""
    return Scope(app_name=APP, user_id=owner_id, session_id=task_id)
