"""Choose operations of a big document by what they are, rather than by name."""

from collections.abc import Collection
from fnmatch import fnmatchcase

from toolwright.errors import UsageError
from toolwright.sources.openapi._tool import RestApiTool
from toolwright.tools import ReadonlyContext, Tool, ToolPredicate

__all__ = ["operations"]


def operations(
    *,
    tags: Collection[str] = (),
    paths: Collection[str] = (),
    methods: Collection[str] = (),
) -> ToolPredicate:
    """A `tool_filter` for operations with one of these tags, on one of these paths, by these methods.

    Paths may hold `*`; a condition that is left out does not restrict. For example
    `tool_filter=operations(tags=["issues"], methods=["get"])`.
    """
    for name, value in (("tags", tags), ("paths", paths), ("methods", methods)):
        if isinstance(value, str):
            raise UsageError(f"{name} is a list of texts; got {value!r}. Write [{value!r}].")
    wanted_methods = {method.upper() for method in methods}

    def keep(tool: Tool, context: ReadonlyContext | None) -> bool:
        if not isinstance(tool, RestApiTool):
            return False
        found = tool.operation
        return (
            (not tags or bool(set(tags) & set(found.tags)))
            and (not paths or any(fnmatchcase(found.path, path) for path in paths))
            and (not wanted_methods or found.method in wanted_methods)
        )

    return keep
