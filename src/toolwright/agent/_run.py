"""One run of an agent: what it works on, what it shares with runs inside it, what it records."""

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import anyio.from_thread
import anyio.lowlevel

from toolwright.agent._bounds import letters_of, read_output_tool
from toolwright.agent._chat import ChatNode
from toolwright.agent._handed import is_plain, pack, unpack
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Meter
from toolwright.agent._log import EARLIER_TRY, CallRecord, Log, Waiting, full_id
from toolwright.agent._node import AgentNode
from toolwright.agent._pins import pin_listed
from toolwright.agent._result import Outcome
from toolwright.agent._rule_names import check_rule_names
from toolwright.agent._rules import ABOVE_ALL, Above, Guard, guards_around, path_to
from toolwright.agent._spill import Spill
from toolwright.agent._toolbox import ListingMemo, Toolbox
from toolwright.agent._tracing import traced_model, with_tracing
from toolwright.errors import StoreConflict, UsageError
from toolwright.messages import (
    CallDelta,
    Event,
    History,
    Message,
    MessageQueued,
    ModelMessage,
    Pending,
    PendingChanged,
    PendingKind,
    PendingOpened,
    PendingRequest,
    Prompt,
    ReasoningDelta,
    Redactor,
    RunEnded,
    Scope,
    StateChanged,
    Steered,
    TextDelta,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolMessage,
    ToolProgress,
    ToolResult,
    Usage,
    UserMessage,
    call_key,
    call_of,
    jsonable,
    question_id,
    user_message,
)
from toolwright.models import Delta, Model, ModelRequest, ModelSettings
from toolwright.tools import (
    Args,
    Exact,
    NodeInfo,
    Origin,
    ReadonlyContext,
    Services,
    State,
    StateTable,
    Tool,
    ToolContext,
)

__all__ = ["Run", "Shared"]

_MOST_SAMPLED = 10_000
"""Tokens of an answer outside the conversation, where the agent's settings have no number."""

_LONGEST_PROGRESS = 32_768
"""Letters of what is shown while a call runs, if there are secrets to be kept out of it."""
_PLACES = 20
"""How many places a question names that are not shown in full."""


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
        hooks: Sequence[Hooks | None] = (),
        root: AgentNode | None = None,
    ) -> None:
        self.log = log
        self.root = root
        """The agent that was asked to run, around all others."""
        self.hooks = hooks
        """The runner's hooks, and of those who serve it, which see what every agent of the run does."""
        self.meter = meter
        self.meters: dict[str, Meter] = {}
        """The latest of each workflow's step: the next message goes on counting."""
        self.table = table or StateTable()
        self.services = services or Services()
        self.deps = deps
        self.task_id = task_id
        self.run_id = uuid.uuid4().hex
        self.redactor = Redactor()
        self.sampling = anyio.Lock()
        """Held while a model is asked outside the conversation: the next is asked once that is paid."""
        self.spill = Spill(log.scope, log.born)
        self.origins: Any = None
        """Where values come from, once a rule has asked for it."""
        self.heard: list[tuple[str, str]] = []
        """What the model was told outside of the conversation that anybody may have written."""
        self.thread_id = threading.get_ident()
        self.loop: Any = None
        """Where the run goes on, for threads that have something to show."""
        self.answer_calls: AnswerCalls = answer_calls
        self.failure: BaseException | None = None
        """What a tool raised, for agents with `on_tool_error="raise"`."""
        self.abandoned = False
        """Whether nobody means to go on with the session once this run is cancelled."""


class Run:
    """An agent's conversation in progress. It fulfils `RunInside`, which contexts hold on to."""

    def __init__(
        self,
        agent: ChatNode,
        shared: Shared,
        path: str = "",
        depth: int = 0,
        meter: Meter | None = None,
        *,
        entry: AgentNode | None = None,
        above: Above = ABOVE_ALL,
        plain: bool = False,
    ) -> None:
        self.agent = agent
        self.entry = entry or agent
        """The agent that the conversation began with."""
        self.above = above
        self.shared = shared
        self.meter = meter or shared.meter
        self.path = path
        self.depth = depth
        self.log = shared.log
        self.thread = shared.log.thread(path)
        self.user_content: UserMessage | None = None
        self.memo = ListingMemo()
        self.box: Toolbox | None = None
        self._pinned: Toolbox | None = None
        """The tools that were last compared with what the session knows of their sources."""
        self.readonly = ReadonlyContext(self)
        self.turn = 0
        self.output_retries = 0
        self.escalated = False
        self.listens = True
        """Whether it takes messages that are put into the run: not inside another agent's call."""
        self.plain = plain
        """Whether the runner's hooks are left out."""
        self.round: int | None = None
        """Which message a workflow answers; None: the latest."""
        self.node: NodeInfo | None = None
        self.outer: Run | None = None
        """Where in a workflow this run stands."""
        self._take_place()

    # -- what contexts see ------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.shared.run_id

    @property
    def conversation(self) -> str:
        """The same for all requests of this conversation, in each process; nobody can tell whose."""
        # Kept with the thread: a run with more than thirty attributes is slower to read them all.
        if not self.thread.key:
            scope = self.log.scope
            said = f"{scope.app_name}/{scope.user_id}/{scope.session_id or self.run_id}/{self.path}"
            digest = hashlib.sha256(said.encode(errors="surrogatepass"))
            self.thread.key = digest.hexdigest()[:32]
        return self.thread.key

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
            call_id=call_id, text=self._shown_text(text),
            data=self._shown_data(data),
        )  # fmt: skip
        if threading.get_ident() == self.shared.thread_id:
            self.log.add(event)
        else:
            anyio.from_thread.run_sync(self.log.add, event, token=self.shared.loop)

    def _shown_text(self, text: str) -> str:
        return self.redactor.beginning(text, _LONGEST_PROGRESS) if self.redactor else text

    def _shown_data(self, data: Any) -> Any:
        if self.redactor and letters_of(data, _LONGEST_PROGRESS) > _LONGEST_PROGRESS:
            return {"lost": "it is too long to be searched for secrets"}
        return self.redactor.inside(jsonable(data))

    async def open_pending(
        self, ctx: ToolContext, request: PendingRequest, *, ran: bool = False
    ) -> None:
        """Make the call answerable, unless it already is; `ran`: its function has run."""
        record = self.log.record(ctx.function_call_id)
        pending, is_result = record.pending, request.kind == "result"
        if is_result and pending is not None and record.is_deferred:
            self.keep_state(ctx.state, ctx.path)
            self.change_pending(
                pending,
                hint=self._hint(ctx, request) if request.hint else pending.hint,
                ran=ran,
                blocking=pending.blocking and request.blocking,
                outcome=request.outcome,
            )
        elif is_result and record.behind is not None:
            # What its function asked first is answered: the result has the id that it had before.
            self.keep_state(ctx.state, ctx.path)
            self.replace_pending(self._pending(ctx, request, ran))
        else:
            pending = self._pending(ctx, request, ran)
            record.ask(pending)
            self.emit(PendingOpened, path=ctx.path, pending=pending, actions=ctx.taken_actions())
            self.log.note_shared(ctx.shared_writes)
        await self.log.flush()

    def idempotency_key(self, call_id: str) -> str:
        """`call_key`, or the key under which the call began before its session was branched off."""
        known = self.log.calls.get(call_id)
        return known.key if known and known.key else self.call_key(call_id)

    def call_key(self, call_id: str) -> str:
        """What names a call of the session among all calls of all sessions there ever were."""
        return call_key(self.log.scope, self.log.born, call_id)

    def pending_id(self, ctx: ToolContext) -> str:
        """The id of what a call has asked in this pass; of its result, while it has asked nothing."""
        return self._question_id(ctx, "result" if ctx.requested is None else ctx.requested.kind)

    def _question_id(self, ctx: ToolContext, kind: PendingKind) -> str:
        """The id of the question of that kind that a call has open, or else of the next one.

        No question has the id that a result has, or could have been promised to the outside for one.
        """
        record = self.log.record(ctx.function_call_id)
        result = record.pending if record.is_deferred else record.behind
        if kind == "result" and result is not None:
            return result.call_id
        promised = kind != "result" and result is None and ctx.promises_result
        return question_id(ctx.function_call_id, record.asked + (2 if promised else 1))

    def turn_event(self, path: str) -> str:
        """The id of the event with the model turn that is answered at `path`; empty without one."""
        thread = self.log.threads.get(path)
        if thread is not None and thread.turn_event:
            return thread.turn_event
        return self.turn_event(path.rpartition("/")[0]) if path else ""

    def keep_state(self, state: State, path: str | None = None) -> None:
        """Record what was written to the state and is in no event yet."""
        if delta := state.take():
            self.emit(StateChanged, path=path, delta=delta)
            self.log.note_shared(state.shared)

    def change_pending(self, pending: Pending, **changes: Any) -> None:
        """Record that something about a waiting call is different now."""
        changed = replace(pending, **changes)
        if changed != pending:
            self.replace_pending(changed)

    def replace_pending(self, pending: Pending) -> None:
        """Record how a waiting call is now."""
        self.log.record(call_of(pending.call_id)).change(pending)
        path = pending.call_id.rpartition("/")[0]
        self.emit(PendingChanged, path=path, pending=pending)

    def _pending(self, ctx: ToolContext, request: PendingRequest, ran: bool) -> Pending:
        address = ctx.function_call_id
        arguments = self.card(ctx.arguments)
        as_read = self.log.record(address).as_read
        read = None if as_read is None or as_read is ctx.arguments else self.card(as_read)
        question = self._question_id(ctx, request.kind)
        return Pending(
            call_id=question,
            key="" if self.log.born is None else self.call_key(question),
            name=ctx.call.name,
            kind=request.kind,
            hint=self._hint(ctx, request),
            payload=self.redactor.inside(jsonable(request.payload)),
            arguments=arguments,
            as_read=None if read == arguments else read,
            schema=request.schema,
            deadline=None if request.timeout is None else time.time() + request.timeout,
            agent=self.agent.name,
            blocking=request.blocking,
            rerun=request.rerun,
            own_words=request.own_words,
            ran=ran,
            interrupted=self.log.record(address).interrupted,
            outcome=request.outcome,
            parameters=dict(ctx.parameters) if request.kind == "confirmation" else None,
            rule=request.rule,
            question=request.question,
        )

    def _hint(self, ctx: ToolContext, request: PendingRequest) -> str:
        """What is asked; whoever is to say yes is told what of the arguments they do not see."""
        hint = self.redactor.exact(request.hint)
        if request.kind != "result" and self.log.record(ctx.function_call_id).interrupted:
            hint = f"{hint} {EARLIER_TRY}".lstrip()
        places = self.unseen(ctx.arguments) if request.kind == "confirmation" else []
        if not places:
            return hint
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        return f"{hint}\nNot shown in full: {', '.join(places[:_PLACES])}{more}.".strip()

    def card(self, args: Args) -> dict[str, Any]:
        """Arguments as people see them: all of them, with marks in place of secrets."""
        return self.redactor.inside(Exact(args).shown)

    def unseen(self, args: Args) -> list[str]:
        """The places in arguments that people do not see in full."""
        return Exact(args).unseen(self.redactor)

    async def answer_inside(
        self,
        ctx: ToolContext,
        calls: Sequence[ToolCall],
        tools: Mapping[str, Tool],
        *,
        free: Collection[str] = (),
    ) -> list[ToolResult]:
        """Answer calls that a tool makes itself, on the ordinary path."""
        traced = {name: with_tracing(tool) for name, tool in tools.items()}
        box = Toolbox(traced, tuple(tool.spec for tool in tools.values()), free)
        return await self.shared.answer_calls(self, calls, box, ctx.function_call_id)

    @property
    def model(self) -> Model:
        """The agent's model; without one, that of whoever runs it inside a run of its own."""
        around: Run | None = self
        while around is not None:
            if (model := around.agent.nearest_model()) is not None:
                return traced_model(model)
            around = around.outer
        return self.agent.model  # which says that there is none

    async def sample(
        self, prompt: Prompt, *, instructions: str = "", max_tokens: int = 1000
    ) -> ModelMessage:
        """Ask the agent's model something outside the conversation; it counts against the limits.

        `LimitError` when one is reached; the answer has no more tokens than the agent's own, and
        than the limit has left.
        """
        own = self.agent.settings.max_tokens or _MOST_SAMPLED
        async with self.shared.sampling:
            most = self.meter.start_sample(max(1, min(max_tokens, own)))
            request = ModelRequest(
                history=History([user_message(prompt)]).view(),
                instructions=instructions,
                settings=ModelSettings(max_tokens=most),
            )
            reply = await self.model.respond(request)
            self.meter.spend(reply.usage)
        return reply

    async def check_session(self) -> None:
        """Raise `StoreConflict` when the session was deleted: nothing is kept for it any more.

        That can be when this process was silent for longer than its lease. Events are refused by
        the store; what is kept elsewhere by the session's name would be found by the next of it.
        """
        log = self.log
        if log.store is None or log.born is None:
            return
        found = await log.store.find(log.scope.app_name, log.scope.session_id)
        if found is None or found.created_at != log.born:
            raise StoreConflict(
                f"Session {log.scope.session_id!r} was deleted while this run was going; nothing "
                "more is kept for it."
            )

    async def flush(self) -> None:
        """Return when all that has happened so far is stored."""
        await self.log.flush()

    async def untrusted_in(self, tool: Tool, ctx: ToolContext) -> list[Origin]:
        """The values among a call's arguments that come from untrusted results and from nobody else."""
        shared = self.shared
        if shared.origins is None:
            from toolwright.agent._origins import Origins  # noqa: PLC0415 - few runs have such rules

            shared.origins = Origins(self.log, shared.heard)
        root, asked = shared.root, self.above.asked
        starts = "program" if root is not None and not root.is_asked_by_person else "person"
        return await shared.origins.of_call(
            tool,
            ctx,
            tools={} if self.box is None else self.box.tools,
            agents=self.below.agents,
            speaker=starts if asked is None else "agent",
            asked=asked or "",
        )

    def hear(self, text: str, whose: str) -> None:
        """The model is told this outside of the conversation, and anybody may have written it."""
        self.shared.heard.append((text, whose))
        self.log.outside.add("")

    @property
    def is_tainted(self) -> bool:
        """Whether the session has read anything that is not the program's own."""
        return bool(self.log.outside)

    async def stored_events(self) -> Sequence[Event]:
        """The session's events so far."""
        await self.log.flush()
        if self.log.store is not None:
            return await self.log.store.events(self.scope)
        return list(self.log.events)

    def _take_place(self) -> None:
        """Work out who is on the path: when the run begins, and when another agent takes over."""
        try:
            here = self.above.with_agents(path_to(self.entry, self.agent))
        except UsageError as error:
            self.shared.failure = self.shared.failure or error
            raise
        around = () if self.plain else self.shared.hooks
        # The place of each is the same in a later run, in which another may have no hooks.
        named = {f"runner+{n}" if n else "runner": hooks for n, hooks in enumerate(around)}
        outer = {place: hooks for place, hooks in named.items() if hooks is not None}
        self.rules = here.guards
        """The rules that every call is judged by, the outermost first."""
        self.names = here.names
        """The agents on the path, the root first."""
        self.hooks = (*outer.values(), *here.hooks)
        """The hooks of everybody on the path, the outermost first."""
        self.own_hooks = (*outer.values(), self.agent.hooks)
        """Those that see the agent begin and end."""
        depths = range(len(here.names) - len(here.hooks), len(here.names))
        places = (*outer, *depths)
        self.tool_hooks = tuple(
            (f"hook:{place}", hooks)
            for place, hooks in zip(places, self.hooks, strict=True)
            if hooks.before_tool is not None or hooks.after_tool is not None
        )
        """Those around tools, each with its place, by which its questions are known: the runner's or
        its server's, or how deep on the path the agent is."""
        self.below = here

    @property
    def asked(self) -> str:
        """What the person has asked for; empty where only an agent or a program has.

        Inside a call, in a step of a workflow and in a child task it is what the person said around
        it, not what an agent has made of that.
        """
        root, said = self.shared.root, self.log.asked
        if self.above.asked is not None:
            return "\n".join((self.above.asked, *self.log.heard))
        by_person = root is None or root.is_asked_by_person
        return said.own_text if said is not None and by_person else ""

    @property
    def unruled(self) -> tuple[str, ...]:
        """Those on the path that have brought no rules; a runner's count for everybody on it."""
        owners = [guard.owner for guard in self.rules]
        ruled = self.names if None in owners else [owner.name for owner in owners]
        return tuple(name for name in self.names if name not in ruled)

    @property
    def rule_records(self) -> list[dict[str, Any]]:
        """The rules that hold here, as a task that is started here carries them along."""
        return [guard.record for guard in self.rules]

    @property
    def has_mail(self) -> bool:
        """Whether messages wait to be put into this conversation before its next turn."""
        return self.listens and bool(self.log.inbox)

    @property
    def cost(self) -> float:
        """What the session has cost so far, in US dollars; of a child task, with what it began at."""
        meter = self.shared.meter
        return self.above.cost + ((meter.before.usage + meter.usage).cost or 0.0)

    # -- what the loop uses -----------------------------------------------------------------

    def emit(self, kind: Any, *, path: str | None = None, **fields: Any) -> Any:
        """Add an event of this run to the log."""
        event = kind(
            run_id=self.shared.run_id,
            agent=self.agent.name,
            path=self.path if path is None else path,
            at=time.time(),
            **fields,
        )
        self.log.add(event)
        return event

    def queue(self, message: UserMessage) -> None:
        """Record a message that is to be put in before the next turn, whoever takes that turn."""
        self.emit(MessageQueued, path="", message=message)
        self.log.asked = message
        self.log.inbox.append(Waiting(message, queued=self.log.seq))

    def put_in(self, waiting: Waiting, path: str | None = None) -> None:
        """Record a message that waited as part of this conversation, or of the one at `path`."""
        message, call_id, queued = waiting
        self.emit(Steered, path=path, message=message, call_id=call_id, queued=queued)
        self.log.thread(self.path if path is None else path).history.append(message)
        if call_id:
            self.log.told(call_id)

    def give_up(self, address: str, why: str) -> None:
        """End the calls inside the one at `address` that still wait, unless the run does not.

        Answers that none of them has used are told as updates. Of one that was interrupted earlier it
        is said that it may have taken effect.
        """
        for inner, record in self.log.calls.items():
            if not inner.startswith(f"{address}/") or record.pending is None or record.result:
                continue
            if not record.pending.blocking:
                continue
            path, _, call_id = inner.rpartition("/")
            is_unknown = record.interrupted or record.pending.outcome
            record.result = ToolResult(
                call_id=call_id,
                name=record.pending.name,
                status="error",
                content=(TextPart(f"{why} {EARLIER_TRY}" if is_unknown else why),),
                outcome_unknown=is_unknown or None,
            )
            self.emit(ToolEnded, path=path, result=record.result, trust="neutral")
            if record.answer is not None:
                # After its end: of a late answer that was there before, the end would have told.
                self.change_pending(record.pending, blocking=False)

    async def go(self) -> Outcome:
        """Let the agent go on, then whoever it hands the conversation over to."""
        if self.shared.loop is None:
            self.shared.loop = anyio.lowlevel.current_token()
            self.shared.thread_id = threading.get_ident()
        if not isinstance(self.agent, ChatNode):  # which checks them with each listing
            tools, _ = self.agent.own_tools()
            await self._check_rules(tools, guards_around(tools))
        while (outcome := await self.agent.go(self)) is None:
            pass
        return outcome

    def end(self, outcome: Outcome) -> None:
        """Record how the conversation ended; the outer run's end says what all of it used."""
        ended = RunEnded(
            run_id=self.run_id, agent=self.agent.name, path=self.path, at=time.time(),
            status=outcome.status, text=outcome.text, reason=outcome.reason,
            usage=Usage() if self.path else self.shared.meter.usage,
            output=self._stored_output(outcome),
            escalated=self.escalated,
        )  # fmt: skip
        self.log.add(ended)
        self.thread.ended = ended

    def _stored_output(self, outcome: Outcome) -> Any:
        output = outcome.output
        if isinstance(output, str):
            return None
        if outcome.status != "done" or (is_plain(output) and output is not None) or self._adapter:
            return jsonable(output)
        try:
            return pack(output)
        except UsageError:
            return jsonable(output)

    @property
    def _adapter(self) -> Any:
        return getattr(self.agent, "output_adapter", None)

    def known_end(self) -> Outcome | None:
        """What the conversation came to, when it was done before."""
        ended = self.thread.ended
        if ended is None or ended.status != "done":
            return None
        self.escalated = ended.escalated
        if ended.output is None:
            return Outcome(status="done", text=ended.text, output=ended.text)
        adapter = self._adapter
        stored = ended.output
        output = adapter.validate_json(json.dumps(stored)) if adapter else unpack(stored)
        return Outcome(status="done", text=ended.text, output=output)

    def step(self, name: str) -> str:
        """The id of a workflow's step: another one for each message that the workflow gets."""
        asked = self.round or sum(isinstance(message, UserMessage) for message in self.history)
        return name if asked < 2 else f"{name}@{asked}"

    def show_delta(self, delta: Delta) -> None:
        """Hand a piece of the model's reply to whoever watches."""
        match delta.kind:
            case "text":
                self.emit(TextDelta, text=delta.text)
            case "reasoning":
                self.emit(ReasoningDelta, text=delta.text)
            case "call" if delta.call is None:
                self.emit(CallDelta, index=delta.index, name=delta.name, arguments=delta.text)

    @property
    def starts_early(self) -> bool:
        """Whether reads are started while the model still writes: where its reply is streamed."""
        wanted = self.agent.start_early
        if wanted is None:
            wanted = bool(self.log.listeners)
        # Hooks may change what a call is, and see all of the reply before any of its calls.
        return wanted and not self.tool_hooks and (self.box is None or self.box.reads)

    async def list_tools(self) -> Toolbox:
        """The tools of this turn.

        `UsageError` for what the developer has to put right; it ends the whole run, also when this
        one is inside a call, where another model would be told.
        """
        try:
            return await self._listed()
        except UsageError as error:
            self.shared.failure = self.shared.failure or error
            raise

    async def _listed(self) -> Toolbox:
        spill = self.shared.spill
        extra = (self._read_output(),) if spill.used else ()
        self.box = await self.agent.maker.toolbox(self.readonly, self.memo, extra, self._told_of)
        if self.box is not self._pinned:
            await pin_listed(self, self.box.outside, self.agent.maker.toolsets)
            self._pinned = self.box
        await self._check_rules(self.box.tools.values(), self.box.guards)
        return self.box

    def _told_of(self) -> set[str]:
        """The tools whose definitions searches have put into the conversation."""
        found = self.history.view().converted(_found_in)
        return {name for names in found if names for name in names}

    async def _check_rules(self, tools: Collection[Tool], around: Sequence[Guard]) -> None:
        """Refuse rules with names that nothing has."""
        for guard in (*self.rules, *around):
            if guard.unchecked:
                await check_rule_names(
                    guard,
                    listed=tools,
                    path=self.names,
                    root=self.shared.root,
                    ctx=self.readonly,
                )

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
            self.thread.agent, self.thread.begins = agent.name, None
            self.memo = ListingMemo()
            self._take_place()

    def inside(
        self, agent: ChatNode, path: str, *, entry: AgentNode | None = None, plain: bool = False
    ) -> "Run":
        """A run of `agent` at `path` inside this one; it shares all but the conversation.

        What it uses counts for both, so the limits of both hold; so do the rules and the hooks of
        both. `entry` is the agent that its conversation began with.
        """
        if self.depth + 1 > self.shared.meter.limits.depth:
            raise UsageError(
                f"Agents are nested more than {self.shared.meter.limits.depth} deep at "
                f"{agent.name!r}; raise it with Limits(depth=…)."
            )
        inner = Run(
            agent,
            self.shared,
            path,
            self.depth + 1,
            self._meter_inside(agent, path),
            entry=entry,
            above=self.below,
            plain=plain or self.plain,
        )
        inner.node = self.node
        inner.outer = self
        inner.listens = self.listens and not isinstance(self.agent, ChatNode)
        return inner

    def _meter_inside(self, agent: AgentNode, path: str) -> Meter:
        step, meters = self.log.step_of(path), self.shared.meters
        before = meters[step].spent if step in meters else self.log.spent_at(path)
        meter = Meter(agent.limits, self.meter, before)
        if self.log.round_of(path) is not None:
            meters[step] = meter
        return meter

    def record(self, path: str, call: ToolCall) -> CallRecord:
        """What the log knows of a call."""
        return self.log.record(full_id(path, call.call_id))


def _found_in(message: Message) -> tuple[str, ...]:
    """The tools that a search has found whose result is in this message."""
    if not isinstance(message, ToolMessage):
        return ()
    return tuple(name for result in message.results for name in result.found or ())
