"""What makes an agent that talks to a model: model, instructions, tools and settings."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import TypeAdapter

from toolwright import models
from toolwright.agent._hooks import Hooks, with_hooks
from toolwright.agent._instructions import Instructions
from toolwright.agent._limits import Compaction, Limits
from toolwright.agent._node import AgentNode
from toolwright.agent._toolbox import ToolboxMaker, sort_tools
from toolwright.agent._tracing import traced_model, with_tracing
from toolwright.agent._transfer import TransferToAgentTool
from toolwright.errors import UsageError
from toolwright.models import Model, ModelSettings
from toolwright.tools import Policy, Require, Tool, plain_schema, with_approval, with_confirmation

__all__ = ["ChatNode"]


class ChatNode(AgentNode):
    """An agent's settings, checked and prepared; running it is another file's work."""

    def __init__(
        self,
        *,
        name: str,
        model: Model | str | None = None,
        instructions: Instructions = "",
        description: str = "",
        tools: Sequence[Any] = (),
        sub_agents: Sequence[AgentNode] = (),
        input_schema: Any = None,
        output_schema: Any = None,
        deps_type: type | None = None,
        hooks: Hooks | None = None,
        limits: Limits | None = None,
        settings: ModelSettings | None = None,
        compaction: Compaction | None = None,
        policy: Policy | None = None,
        interrupt_on: Mapping[str, Require] | None = None,
        on_tool_error: Literal["tell", "raise"] = "tell",
        output_retries: int = 2,
        disallow_transfer_to_parent: bool = False,
        disallow_transfer_to_peers: bool = False,
    ) -> None:
        self._given = {
            key: value for key, value in locals().items() if key not in ("self", "__class__")
        }
        super().__init__(
            name=name,
            description=description,
            sub_agents=sub_agents,
            limits=limits,
            disallow_transfer_to_parent=disallow_transfer_to_parent,
            disallow_transfer_to_peers=disallow_transfer_to_peers,
        )
        self._model = model
        self._owns_model = isinstance(model, str)
        self.instructions = instructions
        self.input_schema = input_schema
        self.output_schema = output_schema
        self.deps_type = deps_type
        self.hooks = hooks or Hooks()
        self.settings = settings or ModelSettings()
        self.compaction = compaction
        self.on_tool_error = on_tool_error
        self.output_retries = output_retries
        self.output_adapter = None if output_schema is None else TypeAdapter(output_schema)
        self.output_json_schema = self.output_adapter and plain_schema(self.output_adapter)
        self.policy = policy
        """Sees every call of this agent before it runs: allow, ask a person, or deny."""
        self.interrupt_on = dict(interrupt_on or {})
        """Which tools a person must confirm, by name; a predicate decides by the arguments."""
        self.tools = tuple(tools)
        self.shelf = sort_tools(tools)
        self._check_interrupts()
        self._maker: ToolboxMaker | None = None
        ToolboxMaker(name, self.shelf, self._wrap)  # two tools with one name are found here

    @property
    def model(self) -> Model:
        """The model; a name is looked up when it is first needed, a missing one is the parent's."""
        model = self._model
        if isinstance(model, str):
            model = self._model = models.resolve_model(model)
        if model is not None:
            return traced_model(model)
        if isinstance(self.parent, ChatNode):
            return self.parent.model
        raise UsageError(
            f"Agent {self.name!r} has no model; give it one: Agent(…, model='openai:gpt-5-mini')."
        )

    def replace(self, **changes: Any) -> Self:
        """Another agent with the same settings but for `changes`; it has no parent yet."""
        return type(self)(**{**self._given, **changes})

    @property
    def maker(self) -> ToolboxMaker:
        """Makes the list of tools for each turn; made late, when the agents around are known."""
        if self._maker is None:
            own = any(tool.name == "transfer_to_agent" for tool in self.shelf.tools)
            transfer = [TransferToAgentTool(self)] if self.reachable() and not own else []
            shelf = sort_tools([*self.shelf.tools, *self.shelf.toolsets, *transfer])
            self._maker = ToolboxMaker(self.name, shelf, self._wrap)
        return self._maker

    async def close(self) -> None:
        """Close the toolsets of this agent and of those below it, and a model made from its name."""
        for toolset in self.shelf.toolsets:
            await toolset.close()
        for tool in self.shelf.tools:
            if tool.close is not None:
                await tool.close()
        close_model = getattr(self._model, "close", None)
        if self._owns_model and close_model is not None:
            await close_model()
        await super().close()

    def _check_interrupts(self) -> None:
        """A name that is misspelt here would leave its tool unguarded, so it is refused."""
        known = {tool.name for tool in self.shelf.tools}
        unknown = sorted(self.interrupt_on.keys() - known)
        if unknown and not self.shelf.toolsets:
            raise UsageError(
                f"interrupt_on of agent {self.name!r} names {unknown}, which it does not have; "
                f"its tools are {sorted(known)}."
            )

    def _wrap(self, tool: Tool) -> Tool:
        tool = with_confirmation(tool, self.interrupt_on.get(tool.name, False))
        tool = with_approval(tool, self.policy) if self.policy is not None else tool
        return with_tracing(with_hooks(tool, self.hooks))
