"""Tools that a provider runs on its own side; put them into an agent's `tools` beside your own.

Names are shared between providers: `google_search` and `web_search` both mean the search that
the model's provider has. Where it has none, the request ends with a `UsageError`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolwright._sealed import sealed
from toolwright.errors import UsageError
from toolwright.messages import ServerTool

__all__ = [
    "VertexAiSearchTool",
    "code_execution",
    "enterprise_web_search",
    "file_search",
    "google_maps_grounding",
    "google_search",
    "image_generation",
    "no_equivalent",
    "url_context",
    "web_fetch",
    "web_search",
]

google_search = ServerTool(name="google_search")
"""Search the web: with Google on Gemini, with the provider's own search elsewhere."""
web_search = ServerTool(name="web_search")
"""The same as `google_search`, under the name that OpenAI and Anthropic use."""
url_context = ServerTool(name="url_context")
"""Read pages whose addresses are in the conversation."""
web_fetch = ServerTool(name="web_fetch")
"""The same as `url_context`, under the name that Anthropic uses."""
google_maps_grounding = ServerTool(name="google_maps_grounding")
"""Ground answers in Google Maps (Vertex AI)."""
enterprise_web_search = ServerTool(name="enterprise_web_search")
"""A web search that meets enterprise compliance rules (Vertex AI)."""
code_execution = ServerTool(name="code_execution")
"""Run code in the provider's sandbox."""
image_generation = ServerTool(name="image_generation")
"""Make images as part of the reply (OpenAI)."""


def file_search(store_ids: Iterable[str], **settings: Any) -> ServerTool:
    """Search files that were uploaded to the provider (OpenAI vector stores, Gemini file stores)."""
    return ServerTool(name="file_search", settings={"store_ids": list(store_ids), **settings})


@sealed
class VertexAiSearchTool(ServerTool):
    """Ground answers in a Vertex AI Search data store or engine.

    Gemini 2 and older cannot use it beside other tools. With `bypass_multi_tools_limit` it is
    then asked in a request of its own; without, mixing is a `UsageError`.
    """

    def __init__(
        self,
        *,
        data_store_id: str | None = None,
        data_store_specs: Iterable[Mapping[str, Any]] | None = None,
        search_engine_id: str | None = None,
        filter: str | None = None,  # noqa: A002 - the documented name
        max_results: int | None = None,
        bypass_multi_tools_limit: bool = False,
    ) -> None:
        if (data_store_id is None) == (search_engine_id is None):
            raise UsageError(
                "VertexAiSearchTool needs either data_store_id=… or search_engine_id=…, "
                f"found {data_store_id!r} and {search_engine_id!r}."
            )
        if data_store_specs is not None and search_engine_id is None:
            raise UsageError("data_store_specs=… only goes with search_engine_id=….")
        settings = {
            "datastore": data_store_id,
            "engine": search_engine_id,
            "data_store_specs": None if data_store_specs is None else list(data_store_specs),
            "filter": filter,
            "max_results": max_results,
            "bypass_multi_tools_limit": bypass_multi_tools_limit,
        }
        kept = {key: value for key, value in settings.items() if value is not None}
        super().__init__(name="vertex_ai_search", settings=kept)


def no_equivalent(model: str, tool: ServerTool, known: Iterable[str]) -> UsageError:
    """The error for a server tool that the model's provider does not have."""
    return UsageError(
        f"{model!r} has nothing like the server-side tool {tool.name!r}; it has "
        f"{', '.join(sorted(known)) or 'none'}. Take it out of tools=[…], use one of these, "
        "or use a model that has it."
    )
