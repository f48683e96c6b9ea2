"""Search a Discovery Engine (Vertex AI Search) data store from this side, beside any other tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from toolwright.errors import UsageError
from toolwright.sources.cloud._calls import Deadline, telling
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
from toolwright.tools import FunctionTool

try:
    from google.api_core.client_options import ClientOptions
    from google.cloud import discoveryengine_v1 as discoveryengine
except ImportError as error:
    raise ImportError(
        "Discovery Engine search needs an extra: pip install 'toolwright[discovery]'"
    ) from error

__all__ = ["DiscoveryEngineSearchTool", "SearchResultMode"]

_MODES = discoveryengine.SearchRequest.ContentSearchSpec.SearchResultMode


class SearchResultMode(StrEnum):
    """What is found: passages of documents, or whole documents (for structured data)."""

    CHUNKS = "CHUNKS"
    DOCUMENTS = "DOCUMENTS"


class DiscoveryEngineSearchTool(FunctionTool):
    """The tool `discovery_engine_search(query)`."""

    def __init__(
        self,
        *,
        data_store_id: str | None = None,
        data_store_specs: Sequence[Mapping[str, Any]] | None = None,
        search_engine_id: str | None = None,
        filter: str | None = None,  # noqa: A002 (the documented name)
        max_results: int = 10,
        search_result_mode: SearchResultMode = SearchResultMode.CHUNKS,
        credentials_config: GoogleCredentialsConfig | None = None,
        client: discoveryengine.SearchServiceClient | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Prepare the tool; the service is connected to on the first call.

        Args:
            data_store_id: `projects/…/locations/…/collections/…/dataStores/…`.
            data_store_specs: With an engine: which of its data stores to search.
            search_engine_id: `projects/…/locations/…/collections/…/engines/…`.
            filter: A filter expression for every search.
            max_results: How many results the model gets to see.
            search_result_mode: Passages or whole documents.
            credentials_config: How to sign in; by default as this machine does.
            client: A client to use instead of making one.
            timeout: Seconds for a search, all its pages and further tries included.
        """
        search = _Search(
            target=_target(data_store_id, search_engine_id, data_store_specs),
            specs=[dict(spec) for spec in data_store_specs or ()],
            filter=filter or "",
            max_results=max_results,
            mode=search_result_mode,
            credentials=credentials_config,
            given_client=client,
            timeout=timeout,
        )
        super().__init__(
            telling(search.run),
            name="discovery_engine_search",
            effects="read",
            idempotent=True,
            timeout=timeout,
        )


@dataclass(frozen=True, kw_only=True)
class _Search:
    """One data store or engine, and how it is searched."""

    target: str
    specs: list[dict[str, Any]]
    filter: str
    max_results: int
    mode: SearchResultMode
    credentials: GoogleCredentialsConfig | None
    given_client: discoveryengine.SearchServiceClient | None
    timeout: float

    def run(
        self, query: Annotated[str, Field(description="What to look for, in words.")]
    ) -> dict[str, Any]:
        """Search the company's documents. Answers with titles, addresses and passages."""
        request = discoveryengine.SearchRequest(
            serving_config=f"{self.target}/servingConfigs/default_config",
            query=query,
            filter=self.filter,
            page_size=self.max_results,
            data_store_specs=self.specs,
            content_search_spec={"search_result_mode": _MODES[self.mode.value]},
        )
        # The pager asks for further pages as long as results are taken from it.
        deadline = Deadline(self.timeout)
        pager = self._client.search(request=request, retry=deadline, timeout=None)
        found = islice(pager, self.max_results)
        show = _chunk if self.mode is SearchResultMode.CHUNKS else _document
        return {"results": [show(result) for result in found]}

    @cached_property
    def _client(self) -> discoveryengine.SearchServiceClient:
        if self.given_client is not None:
            return self.given_client
        location = self.target.partition("/locations/")[2].partition("/")[0]
        options = None
        if location not in ("", "global"):
            options = ClientOptions(api_endpoint=f"{location}-discoveryengine.googleapis.com")
        credentials = self.credentials.load() if self.credentials is not None else None
        return discoveryengine.SearchServiceClient(credentials=credentials, client_options=options)


def _target(data_store_id: str | None, search_engine_id: str | None, data_store_specs: Any) -> str:
    """The one thing to search."""
    if (data_store_id is None) == (search_engine_id is None):
        raise UsageError(
            "Give either data_store_id or search_engine_id; "
            f"got {'neither' if data_store_id is None else 'both'}."
        )
    if data_store_specs and search_engine_id is None:
        raise UsageError(
            "data_store_specs choose among an engine's data stores; give search_engine_id."
        )
    target = data_store_id or search_engine_id or ""
    if not target.startswith("projects/"):
        raise UsageError(f"Wanted a full name, projects/…/locations/…; got {target!r}.")
    return target


def _chunk(result: Any) -> dict[str, Any]:
    about = result.chunk.document_metadata
    return {"title": about.title, "url": about.uri, "content": result.chunk.content}


def _document(result: Any) -> dict[str, Any]:
    fields = discoveryengine.Document.to_dict(result.document)
    derived, own = fields.get("derived_struct_data") or {}, fields.get("struct_data") or {}
    return {
        "title": derived.get("title") or own.get("title") or result.document.id,
        "url": derived.get("link") or own.get("uri") or "",
        "content": own or derived,
    }
