from pathlib import Path

from toolwright import OpenAPIToolset
from toolwright.sources import operations

DOCUMENT = Path(__file__).with_name("petstore.yaml")

by_name = OpenAPIToolset(DOCUMENT, tool_filter=["list_pets", "get_pet"])
by_kind = OpenAPIToolset(DOCUMENT, tool_filter=operations(tags=["pets"], methods=["get"]))
by_path = OpenAPIToolset(DOCUMENT, tool_filter=operations(paths=["/pets/*"]))
by_rule = OpenAPIToolset(DOCUMENT, tool_filter=lambda tool, ctx: tool.effects == "read")
