"""One run of an agent: what it works on, what it shares with runs inside it, what it records."""

import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import anyio.from_thread
import anyio.lowlevel

from toolwright.agent._bounds import read_output_tool
from toolwright.agent._chat import ChatNode
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Meter
from toolwright.agent._log import CallRecord, Log, full_id
from toolwright.agent._result import Outcome
from toolwright.agent._spill import Spill
from toolwright.agent._toolbox import ListingMemo, Toolbox
from toolwright.errors import UsageError
from toolwright.messages import (
    CallDelta,
    Event,
    History,
    ModelMessage,
    Pending,
    PendingOpened,
    PendingRequest,
    Prompt,
    ReasoningDelta,
    Redactor,
    RunEnded,
    Scope,
    StateChanged,
    TextDelta,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolProgress,
    ToolResult,
    Usage,
    UserMessage,
    jsonable,
    user_message,
)
from toolwright.models import Delta, ModelRequest, ModelSettings
from toolwright.tools import NodeInfo, ReadonlyContext, Services, StateTable, Tool, ToolContext

__all__ = ["Run", "Shared"]


class AnswerCalls(Protocol):
    """The dispatcher, as runs hand it on to tools that make calls themselves."""

    async def __call__(
        self, run: "Run", calls: Sequence[ToolCall], box: Toolbox, path: str, /
    ) -> list[ToolResult]:
        """Results in the order of the calls."""
        ...


class Shared:
    """What a run and all runs inside its calls have in common."""

    def __init__(
        self,
        log: Log,
        meter: Meter,
        answer_calls: "AnswerCalls",
        *,
        table: StateTable | None = None,
        services: Services | None = None,
        deps: Any = None,
        task_id: str | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.log = log
        self.hooks = hooks
        """The runner's hooks, which see what every agent of the run does."""
        self.meter = meter
        self.table = table or StateTable()
        self.services = services or Services()
        self.deps = deps
        self.task_id = task_id
        self.run_id = uuid.uuid4().hex
        self.redactor = Redactor()
        self.spill = Spill(log.scope, stored=log.store is not None)
        self.thread_id = threading.get_ident()
        self.loop: Any = None
        """Where the run goes on, for threads that have something to show."""
        self.answer_calls: AnswerCalls = answer_calls
        self.failure: Exception | None = None
        """What a tool raised, for agents with `on_tool_error="raise"`."""


class Run:
    """An agent's conversation in progress. It fulfils `RunInside`, which contexts hold on to."""

    def __init__(
        self,
        agent: ChatNode,
        shared: Shared,
        path: str = "",
        depth: int = 0,
        meter: Meter | None = None,
    ) -> None:
        self.agent = agent
        self.shared = shared
        self.meter = meter or shared.meter
        self.path = path
        self.depth = depth
        self.log = shared.log
        self.thread = shared.log.thread(path)
        self.user_content: UserMessage | None = None
        self.memo = ListingMemo()
        self.box: Toolbox | None = None
        self.readonly = ReadonlyContext(self)
        self.turn = 0
        self.output_retries = 0
        self.escalated = False
        self.listens = True
        """Whether it takes messages that are put into the run: not inside another agent's call."""
        self.plain = False
        """Whether the runner's hooks are left out."""
        self.node: NodeInfo | None = None
        """Where in a workflow this run stands."""

    # -- what contexts see ------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.shared.run_id

    @property
    def agent_name(self) -> str:
        """The agent whose turn it is."""
        return self.agent.name

    @property
    def scope(self) -> Scope:
        """Whose session this is."""
        return self.log.scope

    @property
    def deps(self) -> Any:
        """The application's own object."""
        return self.shared.deps

    @property
    def table(self) -> StateTable:
        """The state."""
        return self.shared.table

    @property
    def services(self) -> Services:
        """Artifacts, memory and credentials."""
        return self.shared.services

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets of the run."""
        return self.shared.redactor

    @property
    def task_id(self) -> str | None:
        """The durable task, when there is one."""
        return self.shared.task_id

    @property
    def history(self) -> History:
        """The messages so far, without the results of an unfinished turn."""
        return self.thread.history

    def progress(self, path: str, call_id: str, text: str, data: Any) -> None:
        """Show something to whoever watches; safe to call from a tool's thread."""
        if not self.log.listeners:
            return
        event = ToolProgress(
            run_id=self.run_id, agent=self.agent.name, path=path, at=time.time(),
            call_id=call_id, text=self.redactor.exact(text),
            data=self.redactor.inside(jsonable(data)),
        )  # fmt: skip
        if threading.get_ident() == self.shared.thread_id:
            self.log.add(event)
        else:
            anyio.from_thread.run_sync(self.log.add, event, token=self.shared.loop)

    async def open_pending(self, ctx: ToolContext, request: PendingRequest) -> None:
        """Make the call answerable, unless it already is."""
        record = self.log.record(ctx.function_call_id)
        if record.pending is not None and not record.answered:
            await self._keep_state(ctx)
            return
        record.asked += 1
        record.started, record.answered, record.answer = False, False, None
        record.pending = self._pending(ctx, request, record.asked)
        self.emit(PendingOpened, path=ctx.path, pending=record.pending, actions=ctx.taken_actions())
        await self.log.flush()

    async def _keep_state(self, ctx: ToolContext) -> None:
        """Record what a call has written to the state since it was made answerable."""
        actions = ctx.taken_actions()
        if actions is not None and actions.state_delta:
            self.emit(StateChanged, path=ctx.path, delta=actions.state_delta)
            await self.log.flush()

    def _pending(self, ctx: ToolContext, request: PendingRequest, asked: int) -> Pending:
        address = ctx.function_call_id
        return Pending(
            call_id=address if asked == 1 else f"{address}~{asked}",
            name=ctx.call.name,
            kind=request.kind,
            hint=self.redactor.exact(request.hint),
            payload=self.redactor.inside(jsonable(request.payload)),
            arguments=self.redactor.inside(jsonable(ctx.arguments)),
            schema=request.schema,
            deadline=None if request.timeout is None else time.time() + request.timeout,
            agent=self.agent.name,
            blocking=request.blocking,
        )

    async def answer_inside(
        self, ctx: ToolContext, calls: Sequence[ToolCall], tools: Mapping[str, Tool]
    ) -> list[ToolResult]:
        """Answer calls that a tool makes itself, on the ordinary path."""
        box = Toolbox(dict(tools), tuple(tool.spec for tool in tools.values()))
        return await self.shared.answer_calls(self, calls, box, ctx.function_call_id)

    def governed(self, tool: Tool) -> Tool:
        """The tool with all that the agent puts around its own: policy, confirmations, hooks."""
        return self.agent.maker.wrap(tool)

    async def sample(
        self, prompt: Prompt, *, instructions: str = "", max_tokens: int = 1000
    ) -> ModelMessage:
        """Ask the agent's model something outside the conversation; it counts against the limits."""
        request = ModelRequest(
            history=History([user_message(prompt)]).view(),
            instructions=instructions,
            settings=ModelSettings(max_tokens=max_tokens),
        )
        reply = await self.agent.model.respond(request)
        self.meter.spend(reply.usage)
        return reply

    async def stored_events(self) -> Sequence[Event]:
        """The session's events so far."""
        await self.log.flush()
        if self.log.store is not None:
            return await self.log.store.events(self.scope)
        return list(self.log.events)

    @property
    def outer_hooks(self) -> Hooks | None:
        """The runner's hooks, if they are to see this agent."""
        return None if self.plain else self.shared.hooks

    @property
    def hooks(self) -> Sequence[Hooks]:
        """All hooks, outermost first."""
        outer = self.outer_hooks
        return (self.agent.hooks,) if outer is None else (outer, self.agent.hooks)

    # -- what the loop uses -----------------------------------------------------------------

    def emit(self, kind: Any, *, path: str | None = None, **fields: Any) -> None:
        """Add an event of this run to the log."""
        self.log.add(
            kind(
                run_id=self.shared.run_id,
                agent=self.agent.name,
                path=self.path if path is None else path,
                at=time.time(),
                **fields,
            )
        )

    def give_up(self, address: str, why: str) -> None:
        """End the calls inside the one at `address` that still wait: nobody could use the answer."""
        for inner, record in self.log.calls.items():
            if not inner.startswith(f"{address}/") or record.pending is None or record.result:
                continue
            path, _, call_id = inner.rpartition("/")
            record.result = ToolResult(
                call_id=call_id, name=record.pending.name, status="error", content=(TextPart(why),)
            )
            self.emit(ToolEnded, path=path, result=record.result)

    async def go(self) -> Outcome:
        """Let the agent go on, then whoever it hands the conversation over to."""
        if self.shared.loop is None:
            self.shared.loop = anyio.lowlevel.current_token()
            self.shared.thread_id = threading.get_ident()
        while (outcome := await self.agent.go(self)) is None:
            pass
        return outcome

    def end(self, outcome: Outcome) -> None:
        """Record how the conversation ended; the outer run's end says what all of it used."""
        ended = RunEnded(
            run_id=self.run_id, agent=self.agent.name, path=self.path, at=time.time(),
            status=outcome.status, text=outcome.text, reason=outcome.reason,
            usage=Usage() if self.path else self.shared.meter.usage,
            output=None if isinstance(outcome.output, str) else jsonable(outcome.output),
            escalated=self.escalated,
        )  # fmt: skip
        self.log.add(ended)
        self.thread.ended = ended

    def known_end(self) -> Outcome | None:
        """What the conversation came to, when it was done before."""
        ended = self.thread.ended
        if ended is None or ended.status != "done":
            return None
        self.escalated = ended.escalated
        if ended.output is None:
            return Outcome(status="done", text=ended.text, output=ended.text)
        adapter = getattr(self.agent, "output_adapter", None)
        output = adapter.validate_json(json.dumps(ended.output)) if adapter else ended.output
        return Outcome(status="done", text=ended.text, output=output)

    def step(self, name: str) -> str:
        """The id of a workflow's step: another one for each message that the workflow gets."""
        asked = sum(isinstance(message, UserMessage) for message in self.history)
        return name if asked < 2 else f"{name}@{asked}"

    def show_delta(self, delta: Delta) -> None:
        """Hand a piece of the model's reply to whoever watches."""
        match delta.kind:
            case "text":
                self.emit(TextDelta, text=delta.text)
            case "reasoning":
                self.emit(ReasoningDelta, text=delta.text)
            case "call":
                self.emit(CallDelta, index=delta.index, name=delta.name, arguments=delta.text)

    async def list_tools(self) -> Toolbox:
        """The tools of this turn."""
        spill = self.shared.spill
        extra = (self._read_output(),) if spill.used else ()
        self.box = await self.agent.maker.toolbox(self.readonly, self.memo, extra)
        return self.box

    def _read_output(self) -> Tool:
        # Kept in the memo's listings, so that the list stays the same from turn to turn.
        listings = self.memo.listings
        if 0 not in listings:
            listings[0] = [read_output_tool(self.shared.spill)]
        return listings[0][0]

    def take_over(self, agent: ChatNode) -> None:
        """Let another agent go on with this conversation."""
        if agent is not self.agent:
            self.agent = agent
            self.thread.agent = agent.name
            self.memo = ListingMemo()

    def inside(self, agent: ChatNode, path: str) -> "Run":
        """A run of `agent` at `path` inside this one; it shares all but the conversation.

        What it uses counts for both, so the limits of both hold.
        """
        if self.depth + 1 > self.shared.meter.limits.depth:
            raise UsageError(
                f"Agents are nested more than {self.shared.meter.limits.depth} deep at "
                f"{agent.name!r}; raise it with Limits(depth=…)."
            )
        inner = Run(agent, self.shared, path, self.depth + 1, Meter(agent.limits, self.meter))
        inner.plain = self.plain
        inner.listens = self.listens and not isinstance(self.agent, ChatNode)
        return inner

    def record(self, path: str, call: ToolCall) -> CallRecord:
        """What the log knows of a call."""
        return self.log.record(full_id(path, call.call_id))
