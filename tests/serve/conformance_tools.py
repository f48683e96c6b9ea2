"""The tools that the MCP conformance suite wants a server to have, served by ours on a port."""

import sys
from typing import Any

import anyio

from toolwright.errors import ToolError
from toolwright.messages import BlobPart, TextPart, ToolSpec
from toolwright.serve.mcp import McpServer, serve_http
from toolwright.tools import BaseTool, ToolContext, tool

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
    "53de0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)
JSON = BlobPart(media_type="application/json", data=b'{"test": "data"}', name="mixed.json")


@tool
def test_simple_text() -> str:
    """Plain text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> BlobPart:
    """An image."""
    return BlobPart(media_type="image/png", data=PNG)


@tool
def test_audio_content() -> BlobPart:
    """A sound."""
    return BlobPart(media_type="audio/wav", data=b"RIFF\x24\0\0\0WAVEfmt ")


@tool
def test_embedded_resource() -> BlobPart:
    """A document."""
    return BlobPart(media_type="text/plain", data=b"An embedded resource.", name="note.txt")


@tool
def test_multiple_content_types() -> list[TextPart | BlobPart]:
    """Several kinds at once."""
    return [
        TextPart("Multiple content types test:"),
        BlobPart(media_type="image/png", data=PNG),
        JSON,
    ]


@tool
def test_error_handling() -> str:
    """Always fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(tool_context: ToolContext) -> str:
    """Shows progress."""
    for progress in (0, 50, 100):
        tool_context.progress(data={"progress": progress, "total": 100})
        await anyio.sleep(0.05)
    return "Done."


def _asks(name: str, properties: dict[str, Any]) -> BaseTool:
    schema = {"type": "object", "properties": properties}

    class Asks(BaseTool):
        def _get_declaration(self) -> ToolSpec:
            message = {"message": {"type": "string"}} if name == "test_elicitation" else {}
            return ToolSpec(
                name=name,
                description="Asks the person.",
                parameters={"type": "object", "properties": message},
            )

        async def run_async(self, *, args: dict[str, object], tool_context: ToolContext) -> str:
            tool_context.request_input(hint=str(args.get("message", "Please say")), schema=schema)
            return ""

    return Asks(name=name)


class Schema(BaseTool):
    def _get_declaration(self) -> ToolSpec:
        address = {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
        return ToolSpec(
            name="json_schema_2020_12_tool",
            description="Tool with JSON Schema 2020-12 features",
            parameters={
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {"address": address},
                "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
                "additionalProperties": False,
            },
        )


CHOICES = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": CHOICES},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": CHOICES}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
TOOLS = [
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    _asks("test_elicitation", {"username": {"type": "string"}, "email": {"type": "string"}}),
    _asks("test_elicitation_sep1034_defaults", DEFAULTS),
    _asks("test_elicitation_sep1330_enums", ENUMS),
    Schema(name="json_schema_2020_12_tool"),
]

if __name__ == "__main__":

    async def main() -> None:
        await serve_http(McpServer(TOOLS, name="conformance"), port=int(sys.argv[1]))

    anyio.run(main)
