"""Refuse methods that users of ADK override and that nothing here would call."""

from toolwright.errors import UsageError

__all__ = ["refuse_uncalled"]

_INSTEAD = {
    "process_llm_request": "put something with `async def shape_request(self, ctx, request)` into the "
    "agent's tools instead",
    "get_tools_with_prefix": "override get_tools, and set tool_name_prefix; callers use list_tools",
}


def refuse_uncalled(cls: type) -> None:
    """Raise `UsageError` when a class, or what it is derived from, defines one of them."""
    for name, instead in _INSTEAD.items():
        if hasattr(cls, name):
            raise UsageError(f"{cls.__name__} defines {name}, which nothing calls here: {instead}.")
