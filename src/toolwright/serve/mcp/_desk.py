"""Tool calls made by a program instead of a model, on the path that every agent's calls take."""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

import anyio

from toolwright.agent import Agent, AgentTool, BaseAgent, Runner
from toolwright.backends import Store
from toolwright.backends._own_paths import unless_refused
from toolwright.errors import UsageError
from toolwright.kits import hand_runner
from toolwright.messages import Pending, SignedIn, ToolEnded, ToolProgress, ToolResult
from toolwright.tools import (
    MaxOutput,
    ReadonlyContext,
    SessionInfo,
    Tool,
    Toolset,
    as_tool,
    without_clashes,
)

__all__ = ["Asked", "Desk", "OnProgress"]

OnProgress = Callable[[ToolProgress], Any]
"""Told what a running tool shows; awaited."""
_USER = "mcp"
_MOST_WAITING = 100
_PATIENCE = 3600.0
"""Seconds after which a call whose client was asked something, and did not answer, is dropped."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call waits for."""

    pending: Pending
    problem: str = ""
    """Why the answer that was given to it, or to another question, was not taken."""


class Desk:
    """Takes calls for `target`: a runner, for the tools of its agent; an agent, a tool, a function, a
    toolset, or a list of these.

    Each call is a run of its own whose "model" makes exactly that call, so validation, approvals,
    rules, limits, hooks and pauses are those of any agent.
    """

    @unless_refused()
    def __init__(self, target: Any, *, store: str | Store = "memory://", **settings: Any) -> None:
        agent = _agent_of(target)
        self._things = [*agent.shelf.tools, *agent.shelf.toolsets]
        whole = [_Whole(t) if isinstance(t, Toolset) else _whole(t) for t in self._things]
        added = {name: settings.pop(name, None) for name in ("hooks", "policy")}
        given = {**_settings_of(target), **settings}
        runner = Runner(agent.replace(tools=whole), app_name="mcp", store=store, **given)
        by_hand = hand_runner(runner, by_program=True)
        assert by_hand is not None
        by_hand.add_rules_of("the MCP server", **added)
        self._runner = by_hand
        self._waiting: OrderedDict[str, float] = OrderedDict()
        """The calls that wait for their client to come back, and since when; the oldest first."""
        self._are_rules_checked = False

    async def tools(self) -> list[Tool]:
        """What can be called now; `UsageError` for a rule with a name that nothing has."""
        if not self._are_rules_checked:
            self._are_rules_checked = not await self._runner.check_rules(user_id=_USER)
        tools: list[Tool] = []
        for thing in self._things:
            tools += await thing.list_tools(None) if isinstance(thing, Toolset) else [thing]
        return without_clashes(tools)

    async def call(
        self, session_id: str, name: str, arguments: dict[str, Any], on_progress: OnProgress
    ) -> "ToolResult | Asked":
        """Make a call; it ends with a result, or waits for the outside."""
        return await self._run(session_id, f"{name} {json.dumps(arguments)}", on_progress)

    async def answer(
        self, session_id: str, pending: Pending, value: Any, on_progress: OnProgress
    ) -> "ToolResult | Asked | None":
        """Answer what a call waits for, and go on with it; None when it did not wait for that.

        An answer that does not fit gives the same question again, with the reason before it.
        """
        runner = self._runner
        try:
            if isinstance(value, SignedIn):  # The tool finds the credential, or asks again.
                address = (runner.app_name, session_id, pending.call_id)
                outcome = await runner.store.answer(*address, value)
            else:
                outcome = await runner.answer(session_id, pending.call_id, value, key=pending.key)
        except UsageError as error:
            return Asked(pending, str(error))
        # A question that nobody answered in time ends its call when the run goes on.
        if outcome not in ("accepted", "expired"):
            return None
        self._waiting.pop(session_id, None)
        return await self._run(session_id, None, on_progress)

    async def waiting(self, session_id: str) -> list[Pending]:
        """What the call of this session waits for."""
        return await self._runner.pending(session_id)

    async def forget(self, session_id: str) -> None:
        """Drop a call that nobody will come back to."""
        self._waiting.pop(session_id, None)
        with anyio.CancelScope(shield=True), suppress(UsageError):
            await self._runner.delete(session_id)

    async def close(self) -> None:
        """Let go of toolsets and store."""
        await self._runner.close()

    async def _run(
        self, session_id: str, prompt: str | None, on_progress: OnProgress
    ) -> "ToolResult | Asked":
        result: ToolResult | None = None
        running = self._runner.stream(prompt, user_id=_USER, session_id=session_id)
        # Closed by hand: a session is forgotten only when no run is going in it.
        async with aclosing(running) as events:
            async for event in events:
                if isinstance(event, ToolProgress):
                    await on_progress(event)
                elif isinstance(event, ToolEnded) and not event.path:
                    result = event.result
        if result is not None:
            await self.forget(session_id)
            return result
        waiting = await self.waiting(session_id)
        if not waiting:
            raise UsageError(f"The call in session {session_id!r} ended without a result.")
        self._waiting.pop(session_id, None)
        self._waiting[session_id] = time.monotonic()
        await self._forget_abandoned()
        return Asked(waiting[0])

    async def _forget_abandoned(self) -> None:
        """A client that was asked something need not come back, and most that do come back soon."""
        old = time.monotonic() - _PATIENCE
        while self._waiting:
            session_id, since = next(iter(self._waiting.items()))
            if since > old and len(self._waiting) <= _MOST_WAITING:
                return
            await self.forget(session_id)


def _whole(tool: Tool) -> Tool:
    """The same tool with no limit for its output: how much a model reads is the client's business."""
    return tool.replace(max_output=MaxOutput(bytes=1 << 62, lines=1 << 62))


class _Whole(Toolset):
    """A toolset whose tools have no limit for their output."""

    cache_listing = False

    def __init__(self, inner: Toolset) -> None:
        super().__init__()
        self._inner = inner

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        return [_whole(tool) for tool in await self._inner.list_tools(readonly_context)]

    async def all_tools(self, context: ReadonlyContext | None = None) -> list[Tool] | None:
        return await self._inner.all_tools(context)

    async def hidden_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        return await self._inner.hidden_tools(context)

    async def file_digests(self) -> dict[str, dict[str, str]]:
        return await self._inner.file_digests()

    async def close(self) -> None:
        await self._inner.close()

    async def end_session(self, session: SessionInfo) -> None:
        await self._inner.end_session(session)


def _agent_of(target: Any) -> Agent:
    """The agent whose tools are served."""
    if isinstance(target, Runner):
        return target.agent if isinstance(target.agent, Agent) else _agent_of(target.agent)
    return Agent(name="desk", tools=_things(target))


def _settings_of(target: Any) -> dict[str, Any]:
    """What calls run with, if that was said: rules, hooks and services."""
    if not isinstance(target, Runner):
        return {}
    services = target.services
    return {
        "artifacts": services.artifacts,
        "memory": services.memory,
        "credentials": services.credentials,
        "auth": services.auth,
        "deps": target.deps,
        "hooks": target.hooks,
        "policy": target.policy,
    }


def _things(target: Any) -> list[Tool | Toolset]:
    """What is served, as tools and toolsets; an agent becomes one tool."""
    if isinstance(target, Sequence) and not isinstance(target, str):
        return [thing for item in target for thing in _things(item)]
    if isinstance(target, Toolset):
        return [target]
    if isinstance(target, BaseAgent):
        return [AgentTool(target)]
    return [as_tool(target)]
