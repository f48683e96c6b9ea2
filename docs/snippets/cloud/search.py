from toolwright import DiscoveryEngineSearchTool, SearchResultMode, VertexAiSearchTool

STORE = "projects/my-project/locations/global/collections/default_collection/dataStores/my-store"

by_gemini = VertexAiSearchTool(data_store_id=STORE, bypass_multi_tools_limit=True)
from_here = DiscoveryEngineSearchTool(
    data_store_id=STORE, max_results=5, search_result_mode=SearchResultMode.CHUNKS
)
