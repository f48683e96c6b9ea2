"""Tools run by hand: a run whose model is the person, so that every rule of a run holds."""

from toolwright.agent import Agent, AgentNode, Hooks, Runner
from toolwright.backends import Store
from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage, UserMessage
from toolwright.models import ModelRequest, OnDelta

__all__ = ["hand_runner"]


def hand_runner(
    runner: Runner, *, by_program: bool = False, store: Store | None = None
) -> Runner | None:
    """A runner with the same tools, rules, limits and, unless another is given, store; None where the
    agent has no tools.

    Each message to it is one call, written as `name {"argument": …}`. `by_program`: it is not a
    person who writes them.
    """
    agent = runner.agent
    if not isinstance(agent, Agent):
        return None
    by_hand = agent.made_as(
        _ByProgram if by_program else _ByHand,
        model=_Hand(),
        hooks=Hooks(before_tool=agent.hooks.before_tool, after_tool=agent.hooks.after_tool),
        instructions="",
        output_schema=None,
        compaction=None,
    )
    services = runner.services
    return Runner(
        by_hand,
        app_name=runner.app_name,
        store=runner.store if store is None else store,
        artifacts=services.artifacts,
        memory=services.memory,
        credentials=services.credentials,
        auth=services.auth,
        deps=runner.deps,
        hooks=runner.hooks,
        policy=runner.policy,
        retry_writes=runner.retry_writes,
    )


class _ByHand(Agent):
    """An agent with all that is below it, so that its rules mean what they meant; but whoever calls
    a tool by hand hands no conversation over."""

    def reachable(self) -> list[AgentNode]:
        """Nobody."""
        return []


class _ByProgram(_ByHand):
    """The same, where the calls are a program's."""

    is_asked_by_person = False


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
