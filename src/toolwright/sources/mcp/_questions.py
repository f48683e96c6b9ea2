"""What a server may ask of us while one of its tools runs: a model's answer, a person's, our roots."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.session import ClientRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolwright.messages import Content, TextPart
from toolwright.sources.mcp._content import part_of
from toolwright.tools import Output, ToolContext

__all__ = ["AllowSampling", "Asking", "Questions", "current_asking", "pending_for"]

AllowSampling = (
    bool | Callable[[types.CreateMessageRequestParams, ToolContext], bool | Awaitable[bool]]
)
"""Whether a server may use the agent's model: never, always, or as a function decides."""
_MARK = "mcp_elicitation"
_log = logging.getLogger("toolwright.mcp")


@dataclass(slots=True, eq=False)
class Asking:
    """One call in flight: who is asked on its behalf, and what they have answered so far."""

    ctx: ToolContext
    answers: Sequence[Any] = ()
    used: int = 0
    question: types.ElicitRequestParams | None = None
    """What must be asked before the call can go on."""


current_asking: ContextVar[Asking | None] = ContextVar("current_asking", default=None)
"""The call on whose behalf this task speaks to the server."""


@dataclass(slots=True)
class Questions:
    """Answers a server's questions, as far as it was allowed to ask them."""

    server: str
    allow_sampling: AllowSampling = False
    roots: Sequence[str | Path] = ()
    in_flight: list[Asking] = field(default_factory=list)

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
            return types.ErrorData(
                code=types.INVALID_REQUEST, message="Sampling was not allowed for this request."
            )
        reply = await asking.ctx.run.sample(
            _as_prompt(params.messages),
            instructions=params.system_prompt or "",
            max_tokens=params.max_tokens,
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
        """Answer with what a person has said already; otherwise note the question and step back."""
        asking = self.asking()
        if asking is None:
            return types.ElicitResult(action="decline")
        if asking.used < len(asking.answers):
            asking.used += 1
            return _accepted(params, asking.answers[asking.used - 1])
        asking.question = asking.question or params
        if context.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # An error ends the exchange here: the server is not told of a refusal nobody made.
            return types.ErrorData(code=types.INVALID_REQUEST, message="The answer comes later.")
        return types.ElicitResult(action="cancel")

    async def list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """The folders a server may work in."""
        return types.ListRootsResult(roots=[_root(root) for root in self.roots])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Put a server's log message in the log."""
        level = getattr(logging, params.level.upper(), logging.INFO)
        if params.level in ("notice", "alert", "emergency"):
            level = logging.INFO if params.level == "notice" else logging.CRITICAL
        _log.log(level, "%s: %.2000s", self.server, params.data)


def pending_for(question: types.ElicitRequestParams) -> Output:
    """Ask a person; `Approve(payload={…})` brings the form's values, and the call runs again."""
    if isinstance(question, types.ElicitRequestURLParams):
        payload = {_MARK: "url", "url": question.url}
        return Output.pending(kind="confirmation", hint=question.message, payload=payload)
    return Output.pending(
        kind="confirmation",
        hint=question.message,
        payload={_MARK: "form"},
        schema=question.requested_schema,
    )


def _accepted(params: types.ElicitRequestParams, answer: Any) -> types.ElicitResult:
    if isinstance(params, types.ElicitRequestURLParams):
        return types.ElicitResult(action="accept")
    fields = params.requested_schema.get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    given = answer if isinstance(answer, dict) and _MARK not in answer else {}
    return types.ElicitResult(action="accept", content={**defaults, **given})


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
