"""Hand-written tools, for full control over schema and execution."""

from abc import ABC
from collections.abc import Mapping
from typing import Any

from toolwright._sealed import Sealed
from toolwright.messages import Effects, ToolSpec
from toolwright.tools._arguments import Args
from toolwright.tools._context import ReadonlyContext, ToolContext
from toolwright.tools._declaration import read_declaration
from toolwright.tools._json_schema import checked_parser
from toolwright.tools._output import to_output
from toolwright.tools._overrides import refuse_uncalled
from toolwright.tools._tool import Output, Tool

__all__ = ["BaseTool"]


class BaseTool(Sealed, ABC):
    """Subclass this, say what the model is told in `_get_declaration`, and do it in `run_async`.

    Every `Tool` counts as one: `isinstance(FunctionTool(f), BaseTool)`.
    """

    is_long_running: bool = False
    """Whether a pending status that it returns keeps the call open for an update."""
    effects: Effects = "write"
    sequential: bool = False
    idempotent: bool = False
    _live = ("name", "description")

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        refuse_uncalled(cls)

    def __init__(self, *, name: str, description: str = "") -> None:
        self.name = name
        self.description = description

    def _get_declaration(self) -> ToolSpec | Mapping[str, Any] | Any | None:
        """Name, description and JSON Schema of the parameters; None to hide the tool from the model.

        A `ToolSpec`, a dict with the same keys, or a `types.FunctionDeclaration` of google-genai.
        """
        return ToolSpec(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Do it. `args` fit the declared schema; return anything a function tool may return."""
        raise TypeError(f"{type(self).__name__} must define run_async(*, args, tool_context).")

    def as_tool(self) -> Tool:
        """The tool as the agent uses it; asked for once, when the agent is built."""
        whose = type(self).__name__
        declared = self._get_declaration()
        told = ToolSpec(name=self.name) if declared is None else declared
        spec = read_declaration(told, whose, self.name, self.description)

        async def run(args: Args, ctx: ToolContext) -> Output:
            return to_output(await self.run_async(args=args, tool_context=ctx))

        made = Tool(
            spec=spec,
            parse=checked_parser(spec.name, spec.parameters),
            run=run,
            effects=self.effects,
            sequential=self.sequential,
            idempotent=self.idempotent,
            is_enabled=_never if declared is None else None,
        )
        if not self.is_long_running:
            return made
        from toolwright.tools._waiting import with_later_update  # noqa: PLC0415 - few need it

        return with_later_update(made)


def _never(_: ReadonlyContext) -> bool:
    return False


# A tool has all that a hand-written one has: a name, a declaration, and a way to run it.
BaseTool.register(Tool)
