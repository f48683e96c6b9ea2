"""Discovery Engine search, with the official client against a server of its published protocol."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.cloud import discoveryengine_v1 as de
from google.cloud.discoveryengine_v1.services.search_service.transports import (
    SearchServiceGrpcTransport,
)
from google.protobuf import struct_pb2
from inline_snapshot import snapshot
from tests.sources.cloud._calling import ask, told
from tests.sources.cloud._grpc import Rpc, serving

from toolwright.errors import UsageError
from toolwright.sources import DiscoveryEngineSearchTool, SearchResultMode

pytestmark = pytest.mark.anyio

STORE = "projects/p/locations/eu/collections/default_collection/dataStores/docs"
CHUNKS = de.SearchRequest.ContentSearchSpec.SearchResultMode.CHUNKS


class Engine:
    """Seven results for any query, three to a page."""

    def __init__(self) -> None:
        self.asked: list[de.SearchRequest] = []

    def search(self, request: de.SearchRequest, context: grpc.ServicerContext) -> Any:
        self.asked.append(request)
        if request.query == "forbidden":
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "no access to the data store")
        start = int(request.page_token or 0)
        as_chunks = request.content_search_spec.search_result_mode == CHUNKS
        make = self._chunk if as_chunks else self._document
        results = [make(number) for number in range(start, min(start + 3, 7))]
        return de.SearchResponse(
            results=results, next_page_token=str(start + 3) if start + 3 < 7 else ""
        )

    def _chunk(self, number: int) -> de.SearchResponse.SearchResult:
        about = de.Chunk.DocumentMetadata(title=f"Title {number}", uri=f"https://d/{number}")
        chunk = de.Chunk(content=f"passage {number}", document_metadata=about)
        return de.SearchResponse.SearchResult(id=str(number), chunk=chunk)

    def _document(self, number: int) -> de.SearchResponse.SearchResult:
        fields = struct_pb2.Struct()
        fields.update({"title": f"Title {number}", "price": number})
        return de.SearchResponse.SearchResult(
            id=str(number), document=de.Document(id=str(number), struct_data=fields)
        )


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def client(engine: Engine) -> Iterator[de.SearchServiceClient]:
    methods = {"Search": Rpc(de.SearchRequest, de.SearchResponse, engine.search)}
    with (
        serving({"google.cloud.discoveryengine.v1.SearchService": methods}) as address,
        grpc.insecure_channel(address) as channel,
    ):
        yield de.SearchServiceClient(transport=SearchServiceGrpcTransport(channel=channel))


@pytest.mark.row("001-07")
async def test_passages_are_found_over_several_pages(
    client: de.SearchServiceClient, engine: Engine
) -> None:
    tool = DiscoveryEngineSearchTool(
        data_store_id=STORE, client=client, max_results=5, filter='lang: ANY("en")'
    )
    found = await told(tool, "discovery_engine_search", query="holidays")
    assert [result["content"] for result in found["results"]] == [f"passage {n}" for n in range(5)]
    assert found["results"][0] == snapshot(
        {"title": "Title 0", "url": "https://d/0", "content": "passage 0"}
    )
    assert [request.page_token for request in engine.asked] == ["", "3"]
    assert engine.asked[0].serving_config == f"{STORE}/servingConfigs/default_config"
    assert engine.asked[0].filter == 'lang: ANY("en")'


async def test_whole_documents_can_be_wanted_instead(client: de.SearchServiceClient) -> None:
    tool = DiscoveryEngineSearchTool(
        search_engine_id="projects/p/locations/global/collections/c/engines/e",
        data_store_specs=[{"data_store": STORE}],
        search_result_mode=SearchResultMode.DOCUMENTS,
        client=client,
        max_results=1,
    )
    found = await told(tool, "discovery_engine_search", query="prices")
    assert found["results"] == snapshot(
        [{"title": "Title 0", "url": "", "content": {"title": "Title 0", "price": 0.0}}]
    )


async def test_refusals_are_told_with_their_status(client: de.SearchServiceClient) -> None:
    tool = DiscoveryEngineSearchTool(data_store_id=STORE, client=client)
    result = await ask(tool, "discovery_engine_search", query="forbidden")
    assert (result.status, result.text) == (
        "error",
        "PERMISSION_DENIED: no access to the data store",
    )


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({}, "got neither"),
        ({"data_store_id": STORE, "search_engine_id": STORE}, "got both"),
        ({"data_store_id": "docs"}, "Wanted a full name"),
        ({"data_store_id": STORE, "data_store_specs": [{}]}, "give search_engine_id"),
    ],
)
def test_exactly_one_thing_is_searched(arguments: dict[str, Any], wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted):
        DiscoveryEngineSearchTool(**arguments)
