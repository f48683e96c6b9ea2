"""One library's part of `bench/openapi.py`; runs in that library's environment."""

import asyncio
import json
import logging
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

Schemas = dict[str, Callable[[], dict]]
"""Tools by name, with how to get their schema."""


def toolwright() -> Callable[[Path], Schemas]:
    from toolwright.sources import OpenAPIToolset

    def tools(path: Path) -> Schemas:
        listed = asyncio.run(OpenAPIToolset(path).list_tools())
        return {tool.name: lambda tool=tool: tool.spec.parameters for tool in listed}

    return tools


def google_adk() -> Callable[[Path], Schemas]:
    from google.adk.tools.openapi_tool.openapi_spec_parser.openapi_toolset import OpenAPIToolset

    def schema(tool: object) -> dict:
        declared = tool._get_declaration()  # type: ignore[attr-defined]
        if declared.parameters_json_schema is not None:
            return declared.parameters_json_schema
        return tool._operation_parser.get_json_schema()  # type: ignore[attr-defined]

    def tools(path: Path) -> Schemas:
        toolset = OpenAPIToolset(spec_str=path.read_text(), spec_str_type="json")
        listed = asyncio.run(toolset.get_tools())
        return {tool.name: lambda tool=tool: schema(tool) for tool in listed}

    return tools


def fastmcp() -> Callable[[Path], Schemas]:
    import httpx2
    from fastmcp import FastMCP

    def tools(path: Path) -> Schemas:
        client = httpx2.AsyncClient(base_url="https://api.example")
        server = FastMCP.from_openapi(json.loads(path.read_text()), client=client)
        listed = asyncio.run(server.list_tools())
        return {tool.name: lambda tool=tool: tool.parameters for tool in listed}

    return tools


LIBRARIES = {"toolwright": toolwright, "google-adk": google_adk, "fastmcp": fastmcp}


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def open_one(tools: Callable[[Path], Schemas], path: Path) -> dict:
    before, began = megabytes(), time.process_time()
    count = len(tools(path))
    seconds = time.process_time() - began
    return {"tools": count, "seconds": seconds, "megabytes": megabytes() - before}


def open_all(tools: Callable[[Path], Schemas], paths: list[Path]) -> dict:
    opened = operations = valid = 0
    seconds = 0.0
    reasons: Counter[str] = Counter()
    for path in paths:
        began = time.process_time()
        try:
            found = tools(path)
            schemas = {name: attempt(build) for name, build in found.items()}
        except BaseException as error:
            reasons[f"does not open: {brief(error)}"] += 1
            continue
        finally:
            seconds += time.process_time() - began
        opened += 1
        operations += len(schemas)
        for schema in schemas.values():
            problem = schema if isinstance(schema, str) else why_invalid(schema)
            reasons[problem] += bool(problem)
            valid += not problem
    counted = {reason: times for reason, times in reasons.items() if times}
    return {"opened": opened, "operations": operations, "valid": valid, "seconds": seconds,
            "reasons": counted}  # fmt: skip


def attempt(build: Callable[[], dict]) -> dict | str:
    try:
        return build()
    except Exception as error:
        return f"no schema: {brief(error)}"


def why_invalid(schema: dict) -> str:
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema)
    except Exception as error:
        return f"not JSON Schema: {brief(error)}"
    return ""


def brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:70]}"


def main() -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    library, mode, *names = sys.argv[1:]
    paths = [Path(name) for name in names]
    tools = LIBRARIES[library]()
    found = open_one(tools, paths[0]) if mode == "open" else open_all(tools, paths)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
