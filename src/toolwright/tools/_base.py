"""Hand-written tools, for full control over schema and execution."""

from typing import Any

from toolwright._sealed import Sealed
from toolwright.messages import Effects, ToolSpec
from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._json_schema import schema_parser
from toolwright.tools._output import to_output
from toolwright.tools._tool import Output, Tool

__all__ = ["BaseTool"]


class BaseTool(Sealed):
    """Subclass this, say what the model is told in `_get_declaration`, and do it in `run_async`."""

    effects: Effects = "write"
    sequential: bool = False
    idempotent: bool = False
    _live = ("name", "description")

    def __init__(self, *, name: str, description: str = "") -> None:
        self.name = name
        self.description = description

    def _get_declaration(self) -> ToolSpec:
        """Name, description and JSON Schema of the parameters."""
        return ToolSpec(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Do it. `args` fit the declared schema; return anything a function tool may return."""
        raise TypeError(f"{type(self).__name__} must define run_async(*, args, tool_context).")

    def as_tool(self) -> Tool:
        """The tool as the agent uses it; asked for once, when the agent is built."""
        spec = self._get_declaration()

        async def run(args: Args, ctx: ToolContext) -> Output:
            return to_output(await self.run_async(args=args, tool_context=ctx))

        return Tool(
            spec=spec,
            parse=schema_parser(spec.name, spec.parameters),
            run=run,
            effects=self.effects,
            sequential=self.sequential,
            idempotent=self.idempotent,
        )
