"""What makes an agent that talks to a model: model, instructions, tools and settings."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Literal, Self, TypeVar

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter

from toolwright import models
from toolwright.agent._hooks import Hooks
from toolwright.agent._instructions import Instructions, check_instructions, may_change
from toolwright.agent._limits import Compaction, Limits
from toolwright.agent._node import AgentNode
from toolwright.agent._rule_names import refuse_unknown_names
from toolwright.agent._rules import compiled
from toolwright.agent._toolbox import ToolboxMaker, sort_tools
from toolwright.agent._tracing import traced_model, with_tracing
from toolwright.agent._transfer import TransferToAgentTool
from toolwright.concurrency import close_all
from toolwright.errors import UsageError
from toolwright.messages import ServerTool
from toolwright.models import Model, ModelSettings
from toolwright.tools import Policy, Require, SessionInfo, Tool, Toolset, plain_schema

__all__ = ["ChatNode"]

C = TypeVar("C", bound="ChatNode")


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
        start_early: bool | None = None,
    ) -> None:
        tools = tuple(tools)
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
        self.start_early = start_early
        """Whether calls that only read, and that every rule allows, start while the model still
        writes its reply; if unset, in runs that are streamed anyway."""
        if output_retries < 0:
            raise UsageError(
                f"output_retries of agent {name!r} cannot be negative; got {output_retries!r}."
            )
        check_instructions(name, instructions)
        _adapter(name, "input_schema", input_schema)
        self.output_adapter = _adapter(name, "output_schema", output_schema)
        self.output_json_schema = self.output_adapter and plain_schema(self.output_adapter)
        self.policy = policy
        """Sees every call of this agent, and of those inside it, before it runs: allow, ask a
        person, or deny."""
        self.interrupt_on = dict(interrupt_on or {})
        """Which tools a person must confirm, by name; a predicate decides by the arguments."""
        self.guards = compiled(f"agent {name!r}", policy, self.interrupt_on, owner=self)
        self.tools = tools
        self.shelf = sort_tools(tools)
        self.changes_instructions = may_change(instructions) or bool(self.shelf.shapers)
        """Whether these, or what is added to them, may differ from turn to turn."""
        # Worked out here: agents may have a thousand tools, and every run ends.
        self._session_ends = (
            *(tool.end_session for tool in self.shelf.tools if tool.end_session is not None),
            *(toolset.end_session for toolset in self.shelf.toolsets),
        )
        refuse_unknown_names(self)
        self._maker: ToolboxMaker | None = None
        ToolboxMaker(self, self.shelf, with_tracing)  # two tools with one name are found here

    @property
    def model(self) -> Model:
        """The model; a name is looked up when it is first needed, a missing one is the parent's."""
        model = self.nearest_model()
        if model is None:
            raise UsageError(
                f"Agent {self.name!r} has no model; give it one: "
                "Agent(…, model='openai:gpt-5-mini')."
            )
        return traced_model(model)

    def own_model(self) -> Model | None:
        """The model that it was given; a name is looked up here."""
        if isinstance(self._model, str):
            self._model = models.resolve_model(self._model)
        return self._model

    @property
    def has_model(self) -> bool:
        """Whether it was given a model of its own, by name or as an object."""
        return self._model is not None

    def with_model(self, model: Model) -> Self:
        """The same agent with this model; it has no parent yet."""
        return self.replace(model=model)

    def replace(self, **changes: Any) -> Self:
        """Another agent with the same settings but for `changes`; it has no parent yet.

        Its sub-agents are copies, since an agent has one parent at most.
        """
        return self.made_as(type(self), **changes)

    def made_as(self, kind: type[C], **changes: Any) -> C:
        """`replace`, as an agent of another class."""
        given = {**self._given, **changes}
        if "sub_agents" not in changes:
            given["sub_agents"] = [child.copy() for child in self.sub_agents]
        return kind(**given)

    def _how_to_change(self, name: str) -> str:
        return f"agent.replace({name}=…)"

    def copy(self) -> Self:
        """The same agent without a parent; those below it are copied with it."""
        twin = super().copy()
        twin._given = {**self._given, "sub_agents": twin.sub_agents}
        twin._maker = None  # it knows the agents around, which are others now
        return twin

    @property
    def maker(self) -> ToolboxMaker:
        """Makes the list of tools for each turn; made late, when the agents around are known."""
        if self._maker is None:
            own = any(tool.name == "transfer_to_agent" for tool in self.shelf.tools)
            transfer = [TransferToAgentTool(self)] if self.reachable() and not own else []
            shelf = sort_tools([*self.shelf.tools, *self.shelf.toolsets, *transfer])
            self._maker = ToolboxMaker(self, shelf, with_tracing)
        return self._maker

    def own_tools(self) -> tuple[Sequence[Tool], Sequence[Toolset]]:
        """Its tools and its toolsets."""
        return self.shelf.tools, self.shelf.toolsets

    def server_tools(self) -> Sequence[ServerTool]:
        """Those that its model's provider calls."""
        return self.shelf.server_tools

    async def close(self) -> None:
        """Close the toolsets of this agent and of those below it, and a model made from its name."""
        close_model = getattr(self._model, "close", None) if self._owns_model else None
        await close_all(
            [
                super().close,
                *([] if close_model is None else [close_model]),
                *(tool.close for tool in self.shelf.tools if tool.close is not None),
                *(toolset.close for toolset in self.shelf.toolsets),
            ]
        )

    async def end_session(self, session: SessionInfo) -> None:
        """Let go of what the toolsets of this agent and those below it keep for one session."""
        if self._session_ends or self.sub_agents:
            ends = (super().end_session, *self._session_ends)
            await close_all([partial(end, session) for end in ends])


def _adapter(agent: str, setting: str, schema: Any) -> TypeAdapter[Any] | None:
    """What validates values of the type `schema`; `UsageError` when it is no type."""
    if schema is None:
        return None
    try:
        if isinstance(
            schema, str | Mapping | FunctionType
        ):  # which pydantic takes for something else
            raise TypeError(f"{schema!r} is no type")
        return TypeAdapter(schema)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError) as error:
        problem = str(error).split("\n")[0]
        raise UsageError(
            f"{setting} of agent {agent!r} takes a type, such as a pydantic model, a dataclass or "
            f"list[str]; got {schema!r}: {problem}"
        ) from error
