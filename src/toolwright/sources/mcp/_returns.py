"""Whether what a tool returned is what its server said it would return."""

import json
from typing import Any

import mcp_types as types

from toolwright.concurrency import in_stoppable_thread
from toolwright.errors import ToolError, UsageError
from toolwright.tools import SchemaCheck, TooMuchWork

__all__ = ["Returns", "check_returns"]


def check_returns(name: str, schema: dict[str, Any] | None) -> None:
    """`UsageError` when results cannot be compared with the schema."""
    if schema is not None:
        try:
            SchemaCheck(schema)
        except UsageError as error:
            raise UsageError(
                f"The schema of what {name!r} returns cannot be used: {error}."
            ) from error


class Returns:
    """Compares results with their schemas in place of the SDK, whose patience has no bound."""

    def __init__(self) -> None:
        self.tools: dict[str, types.Tool] = {}
        """As they were last listed."""
        self._checks: dict[str, tuple[types.Tool, SchemaCheck]] = {}

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        """`ToolError` for a result that its tool should not have."""
        tool = self.tools.get(name)
        if tool is None or tool.output_schema is None:
            return
        if (
            result.structured_content is None
            and "structured_content" not in result.model_fields_set
        ):
            raise ToolError(f"{name!r} has an output schema, but returned no structured content.")
        value = result.structured_content
        problem = await in_stoppable_thread(lambda _: self._problem(tool, value))
        if problem:
            raise ToolError(
                f"{name!r} returned something else than its output schema says: {problem}"
            )

    def _problem(self, tool: types.Tool, value: Any) -> str:
        known, check = self._checks.get(tool.name, (None, None))
        if check is None or known is not tool:
            check = SchemaCheck(tool.output_schema or {})
            self._checks[tool.name] = (tool, check)
        try:
            errors = check.errors(value, len(json.dumps(value)))
        except TooMuchWork as error:
            return f"it cannot be compared, since {error}"
        return str(errors[0].message)[:500] if errors else ""
