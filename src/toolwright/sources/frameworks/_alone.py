"""Run one of our tools where no agent of ours runs: inside another framework."""

import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.from_thread

from toolwright.errors import ToolError, UsageError
from toolwright.messages import (
    Event,
    ModelMessage,
    PendingRequest,
    Prompt,
    Redactor,
    Scope,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from toolwright.tools import (
    Args,
    Origin,
    Output,
    Services,
    StateTable,
    Tool,
    ToolConfirmation,
    ToolContext,
    decided,
    digest_of,
    digest_of_arguments,
    refuse_questions,
    until_denied,
    wishes_of,
)

__all__ = ["LoneRun", "as_text", "refused_by_itself", "run_alone", "run_blocking"]

RULE, FUNCTION = "rule", "function"
"""Who asks: what judges the call, `require_confirmation` included, or the tool's own function."""
_TWO_QUESTIONS = (
    "This call was not finished: a person has approved what a rule asked about {!r}, its function has "
    "a question of its own, and {} does not say which of the two a yes answers. {}"
)
_CHANGED = (
    "This call was not finished: a person has approved {!r} with other arguments than were shown, {}; "
    "there is one more question about these, and {} forgets the change when a call asks again. Nothing "
    "is run with what was changed away. Call it anew with the arguments that the person has given."
)


@dataclass(kw_only=True)
class LoneRun:
    """As much of a run as there is without an agent: state and application objects."""

    framework: str
    deps: Any = None
    table: StateTable = field(default_factory=StateTable)
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    services: Services = field(default_factory=Services)
    redactor: Redactor = field(default_factory=Redactor)
    user_content: UserMessage | None = None
    task_id: str | None = None
    asked: str = ""
    cost: float = 0.0
    how_to_tell: str = "Export a tool that leaves the asking to one of them."
    """What to do where two questions of one call could not be told apart."""

    @property
    def names(self) -> tuple[str, ...]:
        """The framework stands in for all agents on the path."""
        return (self.framework,)

    @property
    def unruled(self) -> tuple[str, ...]:
        """A framework has no rules of ours."""
        return self.names

    @property
    def rule_records(self) -> list[dict[str, Any]]:
        """None, as nobody has brought any."""
        return []

    @property
    def agent_name(self) -> str:
        """The framework stands in for the agent."""
        return self.framework

    @property
    def scope(self) -> Scope:
        """Nobody's in particular."""
        return Scope(app_name=self.framework, user_id="user", session_id=self.run_id)

    def progress(self, path: str, call_id: str, text: str, data: Any) -> None:
        """Nobody watches."""

    def turn_event(self, path: str) -> str:
        """No model has asked for the call."""
        return ""

    def idempotency_key(self, call_id: str) -> str:
        """Nobody goes on with this run: its id and the call's."""
        return self.call_key(call_id)

    def call_key(self, call_id: str) -> str:
        """As nobody branches it off either."""
        return f"{self.run_id}:{call_id}"

    def pending_id(self, ctx: ToolContext) -> str:
        """Nobody waits for an answer here: the call's own id."""
        return ctx.function_call_id

    async def open_pending(
        self, ctx: ToolContext, request: PendingRequest, *, ran: bool = False
    ) -> None:
        """The framework has no place where the answer could be brought to."""
        raise self._without("an answer from outside")

    async def answer_inside(
        self,
        ctx: ToolContext,
        calls: Sequence[ToolCall],
        tools: Mapping[str, Any],
        *,
        free: Collection[str] = (),
    ) -> list[ToolResult]:
        """There is no agent to answer them."""
        raise self._without("calls of other tools")

    async def sample(self, prompt: Prompt, *, instructions: str, max_tokens: int) -> ModelMessage:
        """There is no model to ask."""
        raise self._without("the agent's model")

    async def flush(self) -> None:
        """Nothing is stored."""

    async def check_session(self) -> None:
        """There is none that could be deleted."""

    @property
    def is_tainted(self) -> bool:
        """Nobody here knows what the framework's model has read."""
        return True

    async def untrusted_in(self, tool: Tool, ctx: ToolContext) -> Sequence[Origin]:
        """For the same reason any of them may be, and who is asked sees that."""
        return [Origin(value="(not known here)", key=digest_of_arguments(ctx.arguments))]

    def hear(self, text: str, whose: str) -> None:
        """It counts as such anyway."""

    async def stored_events(self) -> Sequence[Event]:
        """There are none."""
        return ()

    def _without(self, what: str) -> UsageError:
        return UsageError(f"A tool that needs {what} cannot be used from {self.framework}.")


async def run_alone(
    tool: Tool,
    arguments: str,
    run: LoneRun,
    *,
    call_id: str | None = None,
    confirmation: ToolConfirmation | None = None,
    answers: Sequence[str] = (),
    shown: str | None = None,
) -> Output:
    """Parse, judge and run; what goes wrong is an output with the status `error`, as in any agent.

    Args:
        tool: One of ours.
        arguments: As JSON.
        run: What stands in for a run.
        call_id: The framework's id of the call.
        confirmation: A person's yes.
        answers: What the yes answers: the `question` of the request, in words, each with the digest of
            the arguments that were asked about; empty where the framework does not say.
        shown: The arguments that the person was asked about, as JSON, where the framework lets them
            change and does not say what the yes answers.
    """
    call = ToolCall(call_id=call_id or uuid.uuid4().hex, name=tool.name, arguments=arguments)
    ctx = ToolContext(run, call)
    answers, is_changed = _answered(arguments, answers, shown)
    try:
        args = tool.parse(arguments)
        refused = await refused_by_itself(
            tool, args, ctx, confirmation, answers, is_changed=is_changed
        )
        if refused is not None:
            return refused
        output = await tool.run(args, ctx)
    except ToolError as error:
        return Output(text=str(error), status="error")
    except Exception as error:  # noqa: BLE001 - told to the model, as the dispatcher does
        return Output(text=f"{type(error).__name__}: {error}", status="error")
    if ctx.requested is not None:
        output = Output(status="pending", request=ctx.requested)
    return _as_own_question(output, run, ctx, answers, is_changed=is_changed)


def _answered(
    arguments: str, answers: Sequence[str], shown: str | None
) -> tuple[Sequence[str], bool]:
    """Who was answered about these arguments, and whether others were shown when the last yes came.

    A yes is one to the arguments that it comes with; those before it were to what was shown then.
    """
    about = _digest(arguments)
    if not answers:
        return (), shown is not None and _digest(shown) != about
    *earlier, (last, then) = (each.partition(":")[::2] for each in answers)
    return [*(who for who, digest in earlier if digest == about), last], then != about


def _digest(arguments: str) -> str:
    try:
        return digest_of(json.loads(arguments))
    except ValueError:  # Which parsing explains to the model.
        return digest_of(arguments)


async def refused_by_itself(
    tool: Tool,
    args: Args,
    ctx: ToolContext,
    confirmation: ToolConfirmation | None = None,
    answers: Sequence[str] = (),
    *,
    is_changed: bool = False,
) -> Output | None:
    """What the tool's own wishes to be confirmed come to, where no run judges them; None: run it.

    They are judged as the calls of an agent are. A yes goes to who asked: to the rule, as long as
    it asks and nothing else is known, else to the function. With changed arguments a rule may have
    asked that no longer does, so that the function gets it only where there is none; and no second
    question is asked about them.
    """
    ctx.arguments = args
    heard = await until_denied((said, "") async for said, _ in wishes_of(tool, ctx))
    decision = await decided(heard, is_approved=RULE in answers)
    refuse_questions(tool, ctx, decision.rule)
    if decision.verdict == "deny":
        return Output(text=f"Denied: {decision.reason or 'not allowed here'}", status="denied")
    is_rules = RULE in answers or (not answers and decision.verdict == "ask")
    ctx.approval = confirmation if is_rules else None
    if decision.verdict == "ask" and ctx.approval is None:
        if is_changed:
            return _changed(ctx)
        hint = decision.reason or f"Allow {tool.name!r} with these arguments?"
        payload = decision.payload
        return Output.pending(
            kind="confirmation", hint=hint, payload=payload, question=_bound(ctx, RULE)
        )
    is_functions = FUNCTION in answers or not (answers or is_rules or (is_changed and tool.confirm))
    ctx.tool_confirmation = confirmation if is_functions else None
    return None


def _as_own_question(
    output: Output, run: LoneRun, ctx: ToolContext, answers: Sequence[str], *, is_changed: bool
) -> Output:
    """What the function has asked, with what a yes to it answers; an error where nobody could tell."""
    request = output.request
    if output.status != "pending" or request is None or request.kind != "confirmation":
        return output
    if is_changed:
        return _changed(ctx)
    if ctx.approval is None:
        return replace(output, request=replace(request, question=_bound(ctx, FUNCTION)))
    if answers:
        return replace(output, request=replace(request, question=_bound(ctx, RULE, FUNCTION)))
    text = _TWO_QUESTIONS.format(ctx.call.name, run.framework, run.how_to_tell)
    return Output(text=text, status="error")


def _bound(ctx: ToolContext, *whose: str) -> str:
    """What a yes will answer, and about which arguments."""
    return " ".join(f"{who}:{_digest(ctx.call.arguments)}" for who in whose)


def _changed(ctx: ToolContext) -> Output:
    text = _CHANGED.format(ctx.call.name, ctx.call.arguments, ctx.run.agent_name)
    return Output(text=text, status="error")


def as_text(output: Output) -> str:
    """All of an output that can be said in text."""
    if output.status == "pending":
        hint = output.request.hint if output.request else ""
        return f"This call was not run: it needs an answer from a person. {hint}".strip()
    kinds = ", ".join(blob.media_type for blob in output.blobs)
    text = "\n".join(part.text for part in output.content if isinstance(part, TextPart)).strip()
    return f"{text}\n[{kinds}]".strip() if kinds else text


def run_blocking(function: Callable[[], Any]) -> Any:
    """Await `function()` from code that is not async, whether or not a loop runs around it."""
    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(function)
