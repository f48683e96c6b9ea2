"""Run an agent in sessions that are kept: stored, listed, paused, answered, resumed, branched."""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import anyio

from toolwright import backends
from toolwright.agent._answers import decode_answer
from toolwright.agent._credentials import answer_key
from toolwright.agent._hooks import Hooks
from toolwright.agent._log import Log, Waiting
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome, Result
from toolwright.agent._spill import Spill
from toolwright.agent._start import (
    Job,
    Start,
    abandon,
    begin,
    carry_on,
    make_result,
    run_to_end,
    stream_events,
)
from toolwright.agent._sync import run_blocking
from toolwright.agent._updates import late_updates
from toolwright.backends import OpenCall, SessionRow, Store, open_store
from toolwright.errors import UsageError
from toolwright.messages import (
    Answered,
    AnyEvent,
    Event,
    Pending,
    Prompt,
    Reject,
    Scope,
    jsonable,
    user_message,
)
from toolwright.tools import (
    Artifacts,
    AuthFlows,
    Credentials,
    Memory,
    Services,
    check_answer,
)

__all__ = ["Runner"]


class Runner:
    """Keeps an agent's sessions in a store and runs it in them."""

    def __init__(
        self,
        agent: AgentNode,
        *,
        app_name: str = "app",
        store: str | Store = "memory://",
        artifacts: str | Artifacts | None = None,
        memory: str | Memory | None = None,
        credentials: str | Credentials | None = None,
        auth: AuthFlows | None = None,
        deps: Any = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.agent = agent
        self.hooks = hooks
        """See what every agent does, inner ones too."""
        self.app_name = app_name
        self.store = open_store(store)
        kept = _credential_store(credentials)
        flows = backends.AuthlibFlows(kept) if kept is not None and auth is None else auth
        self._own_memory = backends.open_memory(memory) if isinstance(memory, str) else None
        self.services = Services(
            artifacts=_artifact_service(artifacts),
            memory=self._own_memory or _memory_service(memory),
            credentials=kept,
            auth=flows,
        )
        self.deps = deps
        self._going: dict[str, anyio.CancelScope] = {}
        self._logs: dict[str, Log] = {}

    # -- running ----------------------------------------------------------------------------

    async def run(
        self,
        prompt: Prompt,
        *,
        user_id: str = "user",
        session_id: str | None = None,
        deps: Any = None,
        state: Mapping[str, Any] | None = None,
        task_id: str | None = None,
    ) -> Result:
        """Answer `prompt` in a session, a new one unless it is named."""
        scope = self._scope(user_id, session_id)
        job = begin(self.agent, prompt, await self._start(scope, deps, state, task_id))
        return await self._guarded(scope.session_id, job)

    def run_sync(self, prompt: Prompt, **settings: Any) -> Result:
        """`run`, for programs that are not async."""
        return run_blocking(lambda: self.run(prompt, **settings))

    async def stream(
        self,
        prompt: Prompt | None,
        *,
        user_id: str = "user",
        session_id: str | None = None,
        deps: Any = None,
        state: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[AnyEvent]:
        """The events of `run` (or, without a prompt, of `resume`) as they happen."""
        scope = self._scope(user_id, session_id)
        start = await self._start(scope, deps, state)
        job = carry_on(self.agent, start) if prompt is None else begin(self.agent, prompt, start)
        # Closed by hand: whoever closes this iterator finds the run ended, not about to end.
        async with aclosing(stream_events(job, guard=self._guarded)) as events:
            async for event in events:
                yield event

    async def resume(
        self, session_id: str, *, deps: Any = None, task_id: str | None = None
    ) -> Result:
        """Go on with a session that was paused, stopped or interrupted.

        While a call still waits it only says so, at no cost; a session that is done stays done.
        """
        row = await self._session(session_id)
        start = await self._start(row.scope, deps, None, task_id)
        return await self._go_on(start)

    async def begin_or_resume(
        self,
        prompt: Prompt,
        *,
        user_id: str,
        session_id: str,
        state: Mapping[str, Any] | None = None,
        task_id: str | None = None,
        steered: Sequence[Prompt] = (),
    ) -> Result:
        """`run` in a session where nothing has happened yet, else `resume` it.

        `steered` are messages to put in before the next turn.
        """
        scope = self._scope(user_id, session_id)
        start = await self._start(scope, None, state, task_id)
        assert start.log is not None
        new = start.log.seq == 0
        start.log.inbox.extend(Waiting(user_message(message)) for message in steered)
        if new:
            return await self._guarded(session_id, begin(self.agent, prompt, start))
        return await self._go_on(start)

    async def _go_on(self, start: Start) -> Result:
        job = carry_on(self.agent, start)
        run = job.run
        known = run.known_end()
        if known is not None and not run.log.inbox:
            return make_result(run, known)
        return await self._guarded(run.scope.session_id, job)

    async def abandon(self, session_id: str, reason: str = "cancelled") -> None:
        """End a session that waits; its open calls cannot be answered any more."""
        row = await self._session(session_id)
        await abandon(carry_on(self.agent, await self._start(row.scope, None, None)), reason)

    def is_going(self, session_id: str) -> bool:
        """Whether this runner has a run going in a session."""
        return session_id in self._going

    def cancel(self, session_id: str) -> bool:
        """Stop the run that this runner has going in a session; whether there was one."""
        scope = self._going.get(session_id)
        if scope is not None:
            scope.cancel()
        return scope is not None

    def steer(self, session_id: str, prompt: Prompt) -> bool:
        """Put a message into the run that this runner has going; whether there was one."""
        log = self._logs.get(session_id)
        if log is not None:
            log.inbox.append(Waiting(user_message(prompt)))
        return log is not None

    # -- answering --------------------------------------------------------------------------

    async def pending(self, session_id: str | None = None) -> list[Pending]:
        """The calls that wait for an answer, in one session or in all."""
        rows = await self.store.open_calls(self.app_name, session_id)
        return [row.pending for row in rows if not row.answered]

    async def answer(self, session_id: str, call_id: str, value: Any) -> Answered:
        """Answer a pending call: `Approve()`, `Reject(reason)`, a choice, a result, a credential.

        The first answer wins. Then `resume` the session.
        """
        row = await self._open_call(session_id, call_id)
        if row is not None:
            check_answer(row.pending, value)
            if row.pending.kind == "credential":
                value = await self._without_secret(row, value)
        return await self.store.answer(self.app_name, session_id, call_id, jsonable(value))

    async def _open_call(self, session_id: str, call_id: str) -> OpenCall | None:
        rows = await self.store.open_calls(self.app_name, session_id)
        return next((row for row in rows if row.pending.call_id == call_id), None)

    async def _without_secret(self, row: OpenCall, value: Any) -> Any:
        """Put what the person brought where secrets are kept; the log only learns that it came."""
        if isinstance(decode_answer(value), Reject):
            return value
        if self.services.credentials is None:
            raise UsageError(
                "This runner has no credential store: Runner(agent, …, credentials='memory://')."
            )
        if not row.answered:
            key = answer_key(row.scope, row.pending.call_id)
            await self.services.credentials.save(row.scope, key, value)
        return None

    # -- sessions ---------------------------------------------------------------------------

    async def sessions(self, user_id: str | None = None) -> list[SessionRow]:
        """The sessions, latest first; of one user, or of all."""
        return await self.store.sessions(self.app_name, user_id)

    async def events(self, session_id: str, since: int = 0) -> list[Event]:
        """A session's events after sequence number `since`."""
        row = await self._session(session_id)
        return await self.store.events(row.scope, since)

    async def state(self, session_id: str) -> dict[str, Any]:
        """A session's state."""
        row = await self._session(session_id)
        return await self.store.state(row.scope)

    async def history(self, session_id: str) -> list[Any]:
        """A session's messages."""
        row = await self._session(session_id)
        log = Log(row.scope, self.store)
        log.replay(await self.store.events(row.scope))
        return list(log.thread("").history)

    async def delete(self, session_id: str) -> None:
        """Forget a session, and the long outputs that were kept for it."""
        row = await self._session(session_id)
        await self.store.delete(row.scope)
        Spill(row.scope, stored=True).remove()

    async def branch(
        self, session_id: str, *, new_id: str | None = None, upto: int | None = None
    ) -> SessionRow:
        """A new session that begins as this one did, up to sequence number `upto`."""
        row = await self._session(session_id)
        return await self.store.branch(row.scope, new_id or uuid.uuid4().hex, upto)

    async def close(self) -> None:
        """Close the agent's toolsets, the store, and the memory if it was given by address."""
        await self.agent.close()
        await self.store.close()
        if self._own_memory is not None:
            await self._own_memory.close()

    async def __aenter__(self) -> "Runner":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # -- inside -----------------------------------------------------------------------------

    def _scope(self, user_id: str, session_id: str | None) -> Scope:
        return Scope(
            app_name=self.app_name, user_id=user_id, session_id=session_id or uuid.uuid4().hex
        )

    async def _session(self, session_id: str) -> SessionRow:
        row = await self.store.find(self.app_name, session_id)
        if row is None:
            raise UsageError(f"App {self.app_name!r} has no session {session_id!r}.")
        return row

    async def _start(
        self,
        scope: Scope,
        deps: Any,
        state: Mapping[str, Any] | None,
        task_id: str | None = None,
    ) -> Start:
        self._refuse_second(scope.session_id)
        found = await self.store.load(scope)
        log = Log(found.row.scope, self.store)
        if found.row.last_seq:
            log.replay(found.events)
            log.take_answers(found.calls)
            log.inbox.extend(late_updates(log))
        return Start(
            log=log,
            deps=self.deps if deps is None else deps,
            state=found.state,
            given=state,
            services=self.services,
            task_id=task_id,
            hooks=self.hooks,
        )

    def _refuse_second(self, session_id: str) -> None:
        if session_id in self._going:
            raise UsageError(
                f"Session {session_id!r} has a run going; wait for it, steer it or cancel it."
            )

    async def _guarded(self, session_id: str, job: Job) -> Result:
        """Run `job` so that `cancel` and `steer` reach it; cancelled, it ends as stopped."""
        # Asked again: another run may have begun while this one was being read from the store.
        self._refuse_second(session_id)
        with anyio.CancelScope() as scope:
            self._going[session_id], self._logs[session_id] = scope, job.run.log
            try:
                return await run_to_end(job)
            finally:
                del self._going[session_id], self._logs[session_id]
        return make_result(job.run, Outcome(status="stopped", reason="cancelled"), job.first_event)


def _artifact_service(given: str | Artifacts | None) -> Artifacts | None:
    if isinstance(given, str):
        return backends.open_artifacts(given)
    if given is not None and not hasattr(given, "versions"):
        raise UsageError(f"artifacts= takes an address or an artifact service; got {given!r}.")
    return given


def _memory_service(given: Any) -> Memory | None:
    if given is not None and not hasattr(given, "search"):
        raise UsageError(f"memory= takes an address or a memory service; got {given!r}.")
    return given


def _credential_store(given: str | Credentials | None) -> Credentials | None:
    if isinstance(given, str):
        return backends.open_credentials(given)
    if given is not None and not hasattr(given, "load"):
        raise UsageError(f"credentials= takes an address or a credential store; got {given!r}.")
    return given
