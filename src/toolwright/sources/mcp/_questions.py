"""What a server may ask of us while one of its tools runs: a model's answer, a person's, our roots."""

import hashlib
import inspect
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import mcp_types as types
from mcp.client.session import ClientRequestContext

from toolwright._links import web_host
from toolwright.concurrency import in_stoppable_thread
from toolwright.errors import LimitError, UsageError
from toolwright.messages import Content, Given, Pending, StoredAnswer, TextPart
from toolwright.sources._counted import CountedLog
from toolwright.sources.mcp._content import part_of
from toolwright.tools import Output, SchemaCheck, ToolContext, with_defaults

__all__ = ["LATER", "AllowSampling", "Asking", "Questions", "pending_for"]

AllowSampling = (
    bool | Callable[[types.CreateMessageRequestParams, ToolContext], bool | Awaitable[bool]]
)
"""Whether a server may use the agent's model: never, always, or as a function decides."""
_MARK = "mcp_elicitation"
LATER = "The answer to this question comes later; the call is made again with it."
_MOST_SAMPLES = 100
"""Requests for the agent's model while one tool runs."""
_MOST_QUESTIONS = 100
"""Questions for a person while one tool runs, each time it is called."""
_LONGEST_QUESTION = 20_000
_LONGEST_FORM = 100_000
_LONGEST_URL = 8_192
_LATER = types.ErrorData(code=types.INVALID_REQUEST, message=LATER)
_log = logging.getLogger("toolwright.mcp")


@dataclass(slots=True, eq=False)
class Asking:
    """One call in flight: who is asked on its behalf, and what they have answered so far."""

    ctx: ToolContext
    answers: list[tuple[Pending, StoredAnswer]]
    """Questions that were answered and that the server has not asked again yet, in this attempt."""
    question: types.ElicitRequestParams | None = None
    """What must be asked before the call can go on."""
    samples: int = 0
    """How often the server has asked for the agent's model."""
    asked: int = 0
    """How often it has asked a person, answered questions included."""

    @property
    def was_asked(self) -> bool:
        """Whether the server has asked a person on behalf of this call before."""
        return any(_MARK in p.payload for p, _ in self.answers if isinstance(p.payload, dict))

    def take_answer(self, question: types.ElicitRequestParams) -> StoredAnswer | None:
        """The answer to this very question; asked the same twice, each answer is used once."""
        mark = _mark(question) if self.answers else ""
        for index, (pending, answer) in enumerate(self.answers):
            if isinstance(pending.payload, dict) and pending.payload.get(_MARK) == mark:
                del self.answers[index]
                return answer
        return None


current_asking: ContextVar[Asking | None] = ContextVar("current_asking", default=None)
"""The call on whose behalf this task speaks to the server."""


@dataclass(slots=True)
class Questions:
    """Answers a server's questions, as far as it was allowed to ask them."""

    server: str
    allow_sampling: AllowSampling = False
    roots: Sequence[str | Path] = ()
    in_flight: list[Asking] = field(default_factory=list)
    one_at_a_time: bool = False
    """Whether the server asks, without saying for which of its calls: then it gets one at a time."""
    _log: CountedLog = field(init=False)
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _left: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self._log = CountedLog(_log, self.server)

    @asynccontextmanager
    async def on_behalf_of(self, asking: Asking, *, says_for_whom: bool) -> AsyncIterator[None]:
        """While this is open, `asking` is in flight; alone, if nobody could tell otherwise."""
        # Asked before, it will be asked again: in another process, perhaps, that does not know.
        self.one_at_a_time |= asking.was_asked and not says_for_whom
        token = current_asking.set(asking)
        try:
            async with self._turn if self.one_at_a_time else nullcontext():
                while self.one_at_a_time and self.in_flight:  # Begun before that was known.
                    await self._left.wait()
                self.in_flight.append(asking)
                try:
                    yield
                finally:
                    self.in_flight.remove(asking)
                    self._left.set()
                    self._left = anyio.Event()
        finally:
            current_asking.reset(token)

    def asking(self) -> Asking | None:
        """The call a question belongs to.

        Before 2026-07-28 a server does not say which of its calls a question is for; with several
        in flight it is taken to be for the latest.
        """
        return current_asking.get() or (self.in_flight[-1] if self.in_flight else None)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Let the agent's model answer."""
        asking = self.asking()
        if asking is None or not await self._may_sample(params, asking.ctx):
            return _refused("Sampling was not allowed for this request.")
        asking.samples += 1
        if asking.samples > _MOST_SAMPLES:
            return _refused(f"One call may ask for at most {_MOST_SAMPLES} samples.")
        try:
            reply = await asking.ctx.run.sample(
                _as_prompt(params.messages),
                instructions=params.system_prompt or "",
                max_tokens=params.max_tokens,
            )
        except LimitError as error:  # The run ends with it, too, before its next turn.
            return _refused(
                f"There are no more samples: the run's limit of {error.limit} is reached."
            )
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=reply.text),
            model=reply.model or "unknown",
            stop_reason="maxTokens" if reply.finish_reason == "length" else "endTurn",
        )

    async def _may_sample(self, params: types.CreateMessageRequestParams, ctx: ToolContext) -> bool:
        if isinstance(self.allow_sampling, bool):
            return self.allow_sampling
        allowed = self.allow_sampling(params, ctx)
        return bool(await allowed) if inspect.isawaitable(allowed) else bool(allowed)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Answer with what a person has said already; otherwise note the question and step back.

        With an error, which ends the exchange: the server is not told of a refusal nobody made.
        """
        asking = self.asking()
        if asking is None:
            return types.ElicitResult(action="decline")
        if current_asking.get() is None and len(self.in_flight) > 1:
            # Whose it is shows when each call that this ends is made again, by itself.
            self.one_at_a_time = True
            return _LATER
        asking.asked += 1
        if asking.asked > _MOST_QUESTIONS:
            return _refused(f"One call may ask at most {_MOST_QUESTIONS} questions.")
        answer = asking.take_answer(params)
        if answer is not None:
            return _accepted(params, answer)
        # By a schema from outside: its expressions are made to see whether it can be used.
        if why := await in_stoppable_thread(lambda _: _problem(params)):
            return types.ErrorData(code=types.INVALID_PARAMS, message=why)
        asking.question = asking.question or params
        return _LATER

    async def list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """The folders a server may work in."""
        return types.ListRootsResult(roots=[_root(root) for root in self.roots])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Put a server's log message in the log, unless it has written too many."""
        level = getattr(logging, params.level.upper(), logging.INFO)
        if params.level in ("notice", "alert", "emergency"):
            level = logging.INFO if params.level == "notice" else logging.CRITICAL
        self._log.write(level, params.data)


def _refused(why: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=why)


def _problem(question: types.ElicitRequestParams) -> str:
    """Why nobody can be asked this; empty when they can."""
    if len(question.message) > _LONGEST_QUESTION:
        return f"This question has more than {_LONGEST_QUESTION:,} letters."
    if isinstance(question, types.ElicitRequestURLParams):
        return _problem_with(question.url)
    if len(json.dumps(question.requested_schema)) > _LONGEST_FORM:
        return f"The form of this question has more than {_LONGEST_FORM:,} letters."
    try:
        SchemaCheck(question.requested_schema)
    except UsageError as error:
        return f"The schema of this question cannot be used: {error}."
    return ""


def _problem_with(url: str) -> str:
    """Why no person can be sent to this address: with other schemes than the web's a program is run."""
    if len(url) > _LONGEST_URL:
        return f"The URL of this question has more than {_LONGEST_URL:,} letters."
    return (
        ""
        if web_host(url)
        else "The URL of this question is no web address that says where it leads: http or https, the "
        "name of a host, and no user name or password."
    )


def pending_for(question: types.ElicitRequestParams) -> Output:
    """Ask a person; with the answer the call is made again, and the server gets it when it asks."""
    payload = {_MARK: _mark(question)}
    if isinstance(question, types.ElicitRequestURLParams):
        payload["url"] = question.url
        return Output.pending(kind="confirmation", hint=question.message, payload=payload)
    return Output.pending(
        kind="input",
        hint=question.message,
        payload=payload,
        schema=question.requested_schema,
        rerun=True,
    )


def _mark(question: types.ElicitRequestParams) -> str:
    """Tells a question from every other, in any process."""
    # Without ids and tokens of the exchange: they are others when the call is made again.
    asked = question.model_dump(mode="json", include={"message", "requested_schema", "url"})
    if "url" in asked:
        asked["url"] = asked["url"].partition("?")[0]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _accepted(params: types.ElicitRequestParams, answer: StoredAnswer) -> types.ElicitResult:
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept")
    given = answer.value if isinstance(answer, Given) else {}
    content = with_defaults(params.requested_schema, given)
    return types.ElicitResult(action="accept", content=content)


def _root(folder: str | Path) -> types.Root:
    path = Path(folder).absolute()
    return types.Root.model_validate({"uri": path.as_uri(), "name": path.name})


def _as_prompt(messages: Sequence[types.SamplingMessage]) -> list[str | Content]:
    """The server's conversation as one message; who said what is kept when there are several."""
    prompt: list[str | Content] = []
    for message in messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        for block in blocks:
            part = part_of(block)
            if len(messages) > 1 and isinstance(part, TextPart):
                part = TextPart(f"{message.role}: {part.text}")
            prompt.append(part)
    return prompt
