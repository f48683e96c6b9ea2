"""Several OpenAPI documents under one roof."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolwright.concurrency import close_all
from toolwright.errors import UsageError
from toolwright.sources.openapi._tool import RestApiTool
from toolwright.sources.openapi._toolset import OpenAPIToolset
from toolwright.tools import ReadonlyContext, Toolset

__all__ = ["ApiRegistry"]


class ApiRegistry(Toolset):
    """Lists the tools of all documents added to it, each under its API's name as prefix."""

    def __init__(self) -> None:
        super().__init__()
        self._apis: dict[str, OpenAPIToolset] = {}

    def add(
        self, name: str, source: str | Path | Mapping[str, Any], **settings: Any
    ) -> OpenAPIToolset:
        """Add a document; `settings` are `OpenAPIToolset`'s. Returns its toolset."""
        if name in self._apis:
            raise UsageError(f"There is an API {name!r} already; choose another name.")
        settings.setdefault("tool_name_prefix", name)
        settings.setdefault("name", name)
        settings["spec_dict" if isinstance(source, Mapping) else "source"] = source
        toolset = OpenAPIToolset(**settings)
        self._apis[name] = toolset
        return toolset

    @property
    def names(self) -> list[str]:
        """The APIs, in the order they were added."""
        return list(self._apis)

    def get_toolset(self, name: str) -> OpenAPIToolset:
        """The toolset of one API."""
        if name not in self._apis:
            known = ", ".join(self._apis) or "none yet"
            raise UsageError(f"There is no API {name!r}; there are: {known}.")
        return self._apis[name]

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[RestApiTool]:
        """The tools of all APIs, in the order they were added."""
        listed: list[Any] = []
        for toolset in self._apis.values():
            listed += await toolset.list_tools(readonly_context)
        return listed

    async def close(self) -> None:
        """Close the connections of all APIs."""
        await close_all([toolset.close for toolset in self._apis.values()])
