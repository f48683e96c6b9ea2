"""Tools run by hand: a run whose model is the person, so that every rule of a run holds."""

import json
import uuid
from typing import Any

from toolwright.agent import Agent, Hooks, Runner
from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage, UserMessage
from toolwright.models import ModelRequest, OnDelta

__all__ = ["hand_runner", "hand_session", "is_by_hand", "written"]

_PREFIX = "hand-"


def hand_session() -> str:
    """An id for a session in which one tool is run by hand."""
    return f"{_PREFIX}{uuid.uuid4().hex}"


def is_by_hand(session_id: str) -> bool:
    """Whether a session was made to run one tool by hand."""
    return session_id.startswith(_PREFIX)


def written(tool: str, arguments: dict[str, Any]) -> str:
    """A call as the message that asks for it."""
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}"


def hand_runner(runner: Runner) -> Runner | None:
    """A runner with the same tools, hooks, limits and store; None where the agent has no tools."""
    agent = runner.agent
    if not isinstance(agent, Agent):
        return None
    by_hand = Agent(
        name=agent.name,
        model=_Hand(),
        tools=agent.tools,
        hooks=Hooks(before_tool=agent.hooks.before_tool, after_tool=agent.hooks.after_tool),
        limits=agent.limits,
    )
    services = runner.services
    return Runner(
        by_hand,
        app_name=runner.app_name,
        store=runner.store,
        artifacts=services.artifacts,
        memory=services.memory,
        credentials=services.credentials,
        auth=services.auth,
        deps=runner.deps,
    )


class _Hand:
    """Asks for the call that the last message spells out, then is content with its result.

    It keeps nothing, so a call that waits can be answered by another process, later.
    """

    name = "by-hand"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The call, or the end."""
        last = request.history[-1]
        if isinstance(last, ToolMessage):
            return ModelMessage(parts=(TextPart(""),), model=self.name)
        if not isinstance(last, UserMessage):
            raise ModelError("A call made by hand has nothing to add.", reason="bad_request")
        tool, _, arguments = last.text.partition(" ")
        call = ToolCall(call_id=f"hand-{len(request.history)}", name=tool, arguments=arguments)
        return ModelMessage(parts=(call,), model=self.name, finish_reason="calls")
