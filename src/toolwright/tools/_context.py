"""What a running tool can see and do, besides its arguments."""

import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeVar

from toolwright._settings import check_setting, explained
from toolwright.concurrency import await_from_thread
from toolwright.errors import UsageError
from toolwright.messages import (
    Actions,
    ArtifactVersion,
    AuthConfig,
    AuthCredential,
    BlobPart,
    Content,
    Event,
    MemoryEntry,
    ModelMessage,
    Pending,
    PendingRequest,
    Prompt,
    Redactor,
    Scope,
    SearchMemoryResponse,
    StoredAnswer,
    ToolCall,
    ToolResult,
    UserMessage,
    as_auth_config,
    secrets_of,
)
from toolwright.tools._services import Services
from toolwright.tools._state import LABEL, SharedWrites, State, StateDelta, StateTable

__all__ = [
    "Context",
    "ExecutionContext",
    "NodeInfo",
    "Origin",
    "ReadonlyContext",
    "RunInside",
    "SessionInfo",
    "ToolConfirmation",
    "ToolContext",
]

_log = logging.getLogger("toolwright.workflow")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """The session a run belongs to."""

    id: str
    app_name: str
    user_id: str

    @classmethod
    def of(cls, scope: Scope) -> "SessionInfo":
        """The session that a scope names."""
        return cls(id=scope.session_id, app_name=scope.app_name, user_id=scope.user_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfirmation:
    """The approval a call was given; a call that was rejected never runs."""

    hint: str = ""
    payload: Any = None
    confirmed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A value among the arguments of a call that comes from an untrusted result."""

    value: str
    """As it stands in the arguments."""
    key: str
    """The same for all ways to write it."""
    kind: str = ""
    """Whether it is an address, a host, an account or phone number, an amount, a date or a name."""
    tool: str = ""
    """Whose result it stands in; empty where nobody has named it."""
    line: int = 0
    """In which line of that, from 1."""
    text: str = ""
    """What this line says."""


class RunInside(Protocol):
    """The run as a context sees it; the agent unit fulfils it."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def agent_name(self) -> str:
        """The agent whose turn it is."""
        ...

    @property
    def scope(self) -> Scope:
        """Whose session this is."""
        ...

    @property
    def deps(self) -> Any:
        """The application's own object."""
        ...

    @property
    def user_content(self) -> UserMessage | None:
        """The message that started the run."""
        ...

    @property
    def table(self) -> StateTable:
        """The state."""
        ...

    @property
    def services(self) -> Services:
        """Artifacts, memory and credentials."""
        ...

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets of the run."""
        ...

    @property
    def task_id(self) -> str | None:
        """The durable task, when there is one."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The agents on the path to this one, the root first; tasks that started this one, too."""
        ...

    @property
    def asked(self) -> str:
        """What the person has asked for; never what an agent or a tool has made of it."""
        ...

    @property
    def unruled(self) -> tuple[str, ...]:
        """Those of `names` that have brought no rules."""
        ...

    @property
    def rule_records(self) -> list[dict[str, Any]]:
        """The rules that hold here, as a task that is started here carries them along."""
        ...

    @property
    def cost(self) -> float:
        """What the session has cost so far, in US dollars."""
        ...

    def progress(self, path: str, call_id: str, text: str, data: Any) -> None:
        """Show something to whoever watches."""
        ...

    async def open_pending(
        self, ctx: "ToolContext", request: PendingRequest, *, ran: bool = False
    ) -> None:
        """Make the call answerable from now on, before its handler returns."""
        ...

    def turn_event(self, path: str) -> str:
        """The id of the event with the model turn that is answered at `path`; empty without one."""
        ...

    def idempotency_key(self, call_id: str) -> str:
        """`call_key`, or the key under which the call began before its session was branched off."""
        ...

    def call_key(self, call_id: str) -> str:
        """What names a call of the session among all calls of all sessions there ever were."""
        ...

    def pending_id(self, ctx: "ToolContext") -> str:
        """The id of what a call has asked in this pass; of its result, while it has asked nothing."""
        ...

    async def answer_inside(
        self,
        ctx: "ToolContext",
        calls: Sequence[ToolCall],
        tools: Mapping[str, Any],
        *,
        free: Collection[str] = (),
    ) -> list[ToolResult]:
        """Answer calls that a tool makes itself, on the ordinary path; `tools` are `Tool`s by name.

        Their ids must be the same when the outer call runs again: a call that has its result
        gets that one and does not run twice. Those named in `free` are the framework's own, which
        no rule is asked about.
        """
        ...

    async def sample(self, prompt: Prompt, *, instructions: str, max_tokens: int) -> ModelMessage:
        """Ask the agent's model something outside the conversation."""
        ...

    async def stored_events(self) -> Sequence[Event]:
        """The session's events so far."""
        ...

    async def flush(self) -> None:
        """Return when all that has happened so far is stored."""
        ...

    @property
    def is_tainted(self) -> bool:
        """Whether the session has read anything that is not the program's own."""
        ...

    async def untrusted_in(self, tool: Any, ctx: "ToolContext") -> Sequence["Origin"]:
        """The values among a call's arguments that come from untrusted results and from nobody else."""
        ...

    def hear(self, text: str, whose: str) -> None:
        """The model is told this outside of the conversation, and anybody may have written it."""
        ...

    async def check_session(self) -> None:
        """Raise `StoreConflict` when the session was deleted: nothing is kept for it any more."""
        ...


def _label_of(filename: str) -> str:
    """The key under which it is kept that a file may hold what anybody has written."""
    whose = "user:" if filename.startswith("user:") else ""
    return f"{whose}{LABEL}{filename}"


_UNSET = {f.name: getattr(Actions(), f.name) for f in fields(Actions)}


class _CallActions(Actions):
    """Actions whose `state_delta` stays the one that writes to the state."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "state_delta" and not isinstance(value, StateDelta):
            self.state_delta.update(value)
            return
        if value != _UNSET.get(name):
            check_setting("tool_context.actions", name, value, Actions.__init__)
        super().__setattr__(name, value)


class ReadonlyContext:
    """What predicates, toolsets and instructions may look at."""

    __slots__ = ("run",)

    def __init__(self, run: RunInside) -> None:
        self.run = run

    @property
    def state(self) -> Mapping[str, Any]:
        """The state, not to be changed."""
        return MappingProxyType(self.run.table.values)

    @property
    def invocation_id(self) -> str:
        """The id of the run."""
        return self.run.run_id

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.run.run_id

    @property
    def agent_name(self) -> str:
        """The agent whose turn it is."""
        return self.run.agent_name

    @property
    def user_id(self) -> str:
        """Whose session this is."""
        return self.run.scope.user_id

    @property
    def owner_id(self) -> str:
        """Whose task this is; the same as `user_id`."""
        return self.run.scope.user_id

    @property
    def session(self) -> SessionInfo:
        """The session."""
        return SessionInfo.of(self.run.scope)

    @property
    def deps(self) -> Any:
        """The application's own object, as given to `run(deps=…)`."""
        return self.run.deps

    @property
    def user_content(self) -> UserMessage | None:
        """The message that started the run."""
        return self.run.user_content

    @property
    def task_id(self) -> str | None:
        """The durable task, when there is one."""
        return self.run.task_id

    async def get_credential(self, key: str) -> AuthCredential | None:
        """The user's saved credential under `key`; its secrets are hidden from now on."""
        store = self.run.services.credentials
        found = None if store is None else await store.load(self.run.scope, key)
        return _hidden(self.run, found) if isinstance(found, AuthCredential) else None


@dataclass(slots=True, kw_only=True)
class NodeInfo:
    """Where in a workflow a call stands."""

    node_path: str = ""
    attempt_count: int = 1
    resume_inputs: dict[str, Any] = field(default_factory=dict)


class ToolContext(ReadonlyContext):
    """One call's context. Made fresh for each call; do not keep it after the call has ended."""

    __slots__ = (
        "_actions", "_credentials", "_ended", "_state", "abandoned", "answers", "approval",
        "arguments", "asker", "auth_response", "call", "node", "parameters", "path",
        "promises_result", "repeats_untrusted", "requested", "tool_confirmation", "was_tried",
    )  # fmt: skip

    def __init__(
        self,
        run: RunInside,
        call: ToolCall,
        path: str = "",
        *,
        tool_confirmation: ToolConfirmation | None = None,
        auth_response: AuthCredential | None = None,
        node: NodeInfo | None = None,
    ) -> None:
        self.run = run
        self.call = call
        self.path = path
        self.tool_confirmation = tool_confirmation
        """The approval of what the tool itself has asked with `request_confirmation`; in a hook, of
        what that hook has asked."""
        self.approval: ToolConfirmation | None = None
        """The approval of what a rule has asked about this call, `require_confirmation` included."""
        self.auth_response = auth_response
        """The credential, when this call asked for one and got it."""
        self.node = node
        self.arguments: dict[str, Any] = {}
        """The validated arguments."""
        self.parameters: Mapping[str, Any] = {}
        """JSON Schema of the tool's parameters."""
        self.answers: Sequence[tuple[Pending, StoredAnswer]] = ()
        """What this call has asked the outside so far, in order, each with its own answer: for the
        function what it has asked, for a hook what that hook has."""
        self.asker = ""
        """Whose question it is when one is asked now: a hook's, by its place, or, when empty, the
        function's."""
        self.abandoned: Literal["", "running", "never started"] = ""
        """What became of the thread of a plain function that nobody waits for any more."""
        self.was_tried = False
        """Whether its function has failed in this pass already, and is tried again."""
        self.requested: PendingRequest | None = None
        """What the tool asked of the outside during this call."""
        self.promises_result = False
        """Whether its function may have handed out its next id, for a result that is not open yet."""
        self.repeats_untrusted = False
        """Whether it has been given something that was kept earlier, and may be what anybody wrote."""
        self._actions: Actions | None = None
        self._credentials: dict[str, AuthCredential] | None = None
        self._state: State | None = None
        self._ended = False

    # -- the call ---------------------------------------------------------------------------

    @property
    def function_call_id(self) -> str:
        """The id of this call; in a nested agent, the ids of the calls around it come first."""
        return f"{self.path}/{self.call.call_id}" if self.path else self.call.call_id

    @property
    def pending_id(self) -> str:
        """The id by which the outside answers what this call asks, or its deferred result.

        It is `function_call_id` for a call's first question, and another one for each that follows. In
        a tool whose result comes later it is that of the result, or, once the function has asked
        something (`request_…`), that of the question: neither ever answers the other.
        """
        return self.run.pending_id(self)

    @property
    def current_tool_call_id(self) -> str:
        """The same as `function_call_id`."""
        return self.function_call_id

    @property
    def function_call_event_id(self) -> str:
        """The `id` of the event with the model turn that made this call; empty where none did."""
        return self.run.turn_event(self.path)

    @property
    def idempotency_key(self) -> str:
        """The same each time this call is run, and for no other call: not in another app, nor in a
        session that is made under the same id when this one has been deleted. A call that was
        interrupted and is repeated in a branch of its session is the same call there."""
        return self.run.idempotency_key(self.function_call_id)

    @property
    def actions(self) -> Actions:
        """What should happen after this call."""
        if self._actions is None:
            self._state = State(self.run.table)
            self._state.ended = self._ended
            self._state.delta = StateDelta(self._state)
            self._actions = _CallActions(state_delta=self._state.delta)
        return self._actions

    @property
    def state(self) -> State:  # type: ignore[override]
        """The state: reads give copies, writes are recorded with the call's result."""
        _ = self.actions
        assert self._state is not None
        return self._state

    def end(self) -> None:
        """The call has its result or waits: what a thread it left behind writes is refused."""
        self._ended = True
        if self._state is not None:
            self._state.ended = True

    def abandon(self, started: bool) -> None:
        """Nobody waits any more for the thread that runs this call; Python cannot stop it."""
        self.abandoned = "running" if started else "never started"

    @property
    def shared_writes(self) -> SharedWrites | None:
        """What the actions taken last have of the state that other sessions share."""
        return None if self._state is None else self._state.shared

    @property
    def transfer(self) -> str | None:
        """The agent that it hands over to, if any."""
        return None if self._actions is None else self._actions.transfer_to_agent

    def taken_actions(self) -> Actions | None:
        """The actions for the next event: none if nothing was done; of the state what no earlier
        event of the call has, and nothing of `temp:`."""
        if not self._actions or self._state is None:
            return None
        kept = self._state.take()
        taken: dict[str, Any] = {f.name: getattr(self._actions, f.name) for f in fields(Actions)}
        taken["state_delta"] = kept
        versions = self._actions.artifact_delta.items()
        taken["artifact_delta"] = {name: at for name, at in versions if isinstance(at, int)}
        return Actions(**taken)

    def progress(self, text: str = "", data: Any = None) -> None:
        """Show `text` (and `data`, for programs) to whoever watches the run."""
        self.run.progress(self.path, self.call.call_id, str(text), data)

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something from a plain `def` tool or hook, which runs in a thread."""
        return await_from_thread(awaitable)

    # -- asking the outside -----------------------------------------------------------------

    @explained
    def request_confirmation(self, *, hint: str | None = None, payload: Any = None) -> None:
        """Pause until a person agrees; then the tool runs again with `tool_confirmation` set.

        Whatever the tool returns now is not used, and a rejected call never runs again.
        """
        self.requested = PendingRequest(kind="confirmation", hint=hint or "", payload=payload)

    @explained
    def request_input(
        self, *, hint: str | None = None, schema: dict[str, Any] | None = None, payload: Any = None
    ) -> None:
        """Pause until a person fills something in; their answer becomes the call's result."""
        self.requested = PendingRequest(
            kind="input", hint=hint or "", payload=payload, schema=schema
        )

    def request_credential(self, auth_config: AuthConfig | dict[str, Any]) -> None:
        """Pause until the user has signed in; then the tool runs again and finds the credential."""
        config = as_auth_config(auth_config)
        self.actions.requested_auth_configs[self.function_call_id] = config.credential_key
        hint = f"Please sign in for {config.credential_key!r}."
        self.requested = PendingRequest(kind="credential", hint=hint, payload=config)

    def get_auth_response(
        self, auth_config: AuthConfig | dict[str, Any] | None = None
    ) -> AuthCredential | None:
        """The credential this call asked for, once it is there; without a configuration, the latest."""
        if auth_config is None:
            return self.auth_response
        return (self._credentials or {}).get(as_auth_config(auth_config).credential_key)

    def accept_credential(self, auth_config: AuthConfig, credential: AuthCredential) -> None:
        """Let this call use a credential, and hide its secrets in all that leaves the run."""
        self.auth_response = _hidden(self.run, credential)
        # By key: a tool that asks for two credentials must not send one service the other's.
        self._credentials = {**(self._credentials or {}), auth_config.credential_key: credential}

    async def save_credential(self, auth_config: AuthConfig, credential: AuthCredential) -> None:
        """Keep a credential for this user."""
        store = _need(self.run.services.credentials, "credential store", "credentials")
        await store.save(self.run.scope, auth_config.credential_key, _hidden(self.run, credential))

    async def load_credential(self, auth_config: AuthConfig) -> AuthCredential | None:
        """This user's credential, refreshed if need be; None when they must sign in first."""
        flows = _need(self.run.services.auth, "credential store", "credentials")
        found = await flows.ready(self.run.scope, auth_config)
        return None if found is None else _hidden(self.run, found)

    # -- artifacts --------------------------------------------------------------------------

    async def save_artifact(
        self, filename: str, artifact: Content, custom_metadata: dict[str, Any] | None = None
    ) -> int:
        """Store a new version of a file and return its number, from 0."""
        service = _need(self.run.services.artifacts, "artifact service", "artifacts")
        await self.run.check_session()
        version = await service.save(self.run.scope, filename, artifact, custom_metadata)
        self.actions.artifact_delta[filename] = version
        if self.run.is_tainted:
            self.state.note(_label_of(filename), True)
        return version

    async def load_artifact(self, filename: str, version: int | None = None) -> BlobPart | None:
        """A stored file, its newest version unless one is named; None where there is none."""
        service = _need(self.run.services.artifacts, "artifact service", "artifacts")
        if self.run.table.values.get(_label_of(filename)):
            self.repeats_untrusted = True
        return await service.load(self.run.scope, filename, version)

    async def list_artifacts(self) -> list[str]:
        """The names of all stored files of this session and this user."""
        service = _need(self.run.services.artifacts, "artifact service", "artifacts")
        return await service.names(self.run.scope)

    async def get_artifact_version(
        self, filename: str, version: int | None = None
    ) -> ArtifactVersion | None:
        """What is known about a stored version, without its bytes."""
        service = _need(self.run.services.artifacts, "artifact service", "artifacts")
        versions = await service.versions(self.run.scope, filename)
        wanted = [v for v in versions if version is None or v.version == version]
        return wanted[-1] if wanted else None

    # -- memory -----------------------------------------------------------------------------

    async def search_memory(self, query: str) -> SearchMemoryResponse:
        """What is remembered about this user that fits `query`."""
        service = _need(self.run.services.memory, "memory service", "memory")
        found = await service.search(self.run.scope, query)
        if any(memory.is_untrusted for memory in found.memories):
            self.repeats_untrusted = True
        return found

    async def add_memory(self, memories: Sequence[MemoryEntry]) -> None:
        """Remember these about this user."""
        service = _need(self.run.services.memory, "memory service", "memory")
        if self.run.is_tainted:
            memories = [memory.as_untrusted() for memory in memories]
        await service.add(self.run.scope, memories)

    async def add_session_to_memory(self) -> None:
        """Remember the whole conversation so far."""
        await self.add_events_to_memory(await self.run.stored_events())

    async def add_events_to_memory(self, events: Sequence[Event]) -> None:
        """Remember what was said in these events."""
        service = _need(self.run.services.memory, "memory service", "memory")
        await service.add_events(self.run.scope, events)

    # -- workflows --------------------------------------------------------------------------

    @property
    def route(self) -> Any:
        """Which edge of a workflow to follow from here.

        Tool nodes and the own tools of an agent node choose; what a tool deeper inside sets is
        logged and not followed.
        """
        return self.actions.route

    @route.setter
    def route(self, value: Any) -> None:
        self._warn_if_deeper("Route %r is not followed", value)
        self.actions.route = value

    @property
    def output(self) -> Any:
        """The output of the workflow node this call runs in.

        Of an agent node it is the last that one of its own tools has set, as JSON, in place of its
        final text; what a tool deeper inside sets is logged and not used.
        """
        return self.actions.output

    @output.setter
    def output(self, value: Any) -> None:
        self._warn_if_deeper("Output %r is not used", value)
        self.actions.output = value

    def _warn_if_deeper(self, said: str, value: Any) -> None:
        node, call = self.node_path, self.function_call_id
        if node and node not in (call, call.rpartition("/")[0]):
            _log.warning(
                f"{said}: the call %s that set it is not one of node %s itself, but "
                "of an agent inside it. Return it to that one, and let one of its own tools set it.",
                value, call, node,
            )  # fmt: skip

    @property
    def attempt_count(self) -> int:
        """Which attempt at the workflow node this is, from 1."""
        return self.node.attempt_count if self.node else 1

    @property
    def resume_inputs(self) -> dict[str, Any]:
        """Answers that came while the workflow node was paused, by call id."""
        return self.node.resume_inputs if self.node else {}

    @property
    def node_path(self) -> str:
        """Where in the workflow this call runs."""
        return self.node.node_path if self.node else ""


Context = ToolContext
"""The name that users of ADK know it by."""

ExecutionContext = ToolContext
"""The name that users of nFactorial know it by."""


def _hidden(run: RunInside, credential: AuthCredential) -> AuthCredential:
    """The credential, after its secrets were made known to the redactor of the run."""
    for secret in secrets_of(credential):
        run.redactor.add(secret)
    return credential


def _need(service: T | None, what: str, setting: str) -> T:
    if service is None:
        raise UsageError(
            f"This run has no {what}; give the runner one: Runner(agent, …, {setting}=…)."
        )
    return service
