"""Refuse methods that users of ADK override and that nothing here would call."""

from toolwright.errors import UsageError

__all__ = ["refuse_overridden", "refuse_uncalled"]

_INSTEAD = {
    "process_llm_request": "put something with `async def shape_request(self, ctx, request)` into the "
    "agent's tools instead",
    "get_tools_with_prefix": "override get_tools, and set tool_name_prefix; callers use list_tools",
    "get_auth_config": "give McpToolset or OpenAPIToolset its auth_scheme and auth_credential",
}
_OF_BASE_TOOL = {
    "run_async": "put a check into the function, a before_tool hook or require_confirmation, or "
    "derive from BaseTool and call this tool's run_async there",
    "_get_declaration": "give it name= and description=, or derive from BaseTool",
    "is_long_running": "use LongRunningFunctionTool, or derive from BaseTool",
}
"""What only tools derived from `BaseTool` itself are asked for."""


def refuse_uncalled(cls: type) -> None:
    """Raise `UsageError` when a class, or what it is derived from, defines one of them."""
    for name, instead in _INSTEAD.items():
        if hasattr(cls, name):
            raise UsageError(f"{cls.__name__} defines {name}, which nothing calls here: {instead}.")


def refuse_overridden(cls: type) -> None:
    """Raise `UsageError` when a ready-made kind of tool is derived to change what nothing asks it for."""
    for name, instead in _OF_BASE_TOOL.items():
        owner = next(kind for kind in cls.__mro__ if name in vars(kind))
        if not owner.__module__.startswith("toolwright."):
            raise UsageError(
                f"{cls.__name__} defines {name}, which nothing looks at in a tool that is made of a "
                f"function or an agent: {instead}."
            )
