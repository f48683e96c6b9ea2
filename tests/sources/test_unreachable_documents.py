"""Documents that cannot be had cost their tools, and never the run that asks for them."""

import gzip
import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import Response
from tests.sources.openapi._recorder import Recorder

from toolwright import Agent, tool
from toolwright.errors import SettingError, ToolError, UsageError
from toolwright.sources import OpenAPIToolset
from toolwright.sources.openapi import ApiRegistry
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
DOCUMENT = {"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "act"}}}}
ANSWERS: dict[str, Any] = {
    "not there": Response("nothing here", 404),
    "broken": Response("Internal Server Error", 500),
    "no such status": Response("what?", 999),
    "a page": Response("<html><body>Be right back</body></html>"),
    "empty": Response(b""),
    "not text": Response(b"\xff\xfe\x00\x80" * 100),
    "another version": Response(json.dumps({"openapi": "9.0"})),
    "a list": Response("[1, 2]"),
    "deep": Response("[" * 100_000),
    "bombs": Response(
        "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(9)) + "]"
    ),
    "not packed": Response(b"not packed", headers={"content-encoding": "gzip"}),
    "packed": Response(gzip.compress(b" " * 3_000_000), headers={"content-encoding": "gzip"}),
    "round and round": Response(status_code=302, headers={"location": "/api.json"}),
    "elsewhere": Response(status_code=302, headers={"location": "http://169.254.169.254/x"}),
    "to a file": Response(status_code=302, headers={"location": "file:///etc/passwd"}),
    "to no address": Response(status_code=302, headers={"location": "http://[::1"}),
}


@pytest.fixture(scope="module")
def site() -> Iterator[Recorder]:
    with Recorder().running() as recorder:
        yield recorder


@tool
def own() -> str:
    """Do something."""
    return "done by itself"


async def run(*toolsets: Any) -> str:
    """What a run says that could use them."""
    model = ScriptedModel(call("own"), "the end")
    agent = Agent(name="a", model=model, tools=[own, *toolsets])
    return str((await agent.run("go")).output)


@pytest.mark.parametrize("how", ANSWERS)
async def test_a_site_that_has_no_document_ends_no_run(
    how: str, site: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    site.answer = lambda seen: ANSWERS[how]
    toolset = OpenAPIToolset(f"{site.url}/api.json?key=s3cret", max_document_bytes=2_000_000)
    with caplog.at_level(logging.ERROR, "toolwright.sources"):
        assert await run(toolset) == "the end"
    assert "Its tools are left out." in caplog.text
    assert "s3cret" not in caplog.text
    await toolset.close()


async def test_a_site_that_is_down_ends_no_run_and_is_asked_again_by_the_next(
    site: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        down = OpenAPIToolset(f"http://ada:s3cret@127.0.0.1:{port}/api.json", tool_filter=["act"])
        registry = ApiRegistry()
        registry.add("shop", f"http://127.0.0.1:{port}/api.json")
        assert await run(down, registry) == "the end"
        assert await down.all_tools() is None
    assert caplog.text.count("could not be reached") == 3
    assert "s3cret" not in caplog.text
    replies = iter([Response("down", 500), Response(json.dumps(DOCUMENT))])
    site.answer = lambda seen: next(replies)
    late = OpenAPIToolset(f"{site.url}/api.json")
    assert await run(late) == "the end"
    assert [tool.name for tool in await late.list_tools()] == ["act"]


async def test_what_is_required_is_told_and_so_are_the_developers_own_mistakes(
    site: Recorder,
) -> None:
    site.answer = lambda seen: Response("down", 500)
    with pytest.raises(ToolError, match=r"Cannot fetch .*500"):
        await OpenAPIToolset(f"{site.url}/api.json", required=True).list_tools()
    with pytest.raises(UsageError, match="Cannot fetch"):
        OpenAPIToolset(f"{site.url}/api.json").get_tool("act")
    site.answer = lambda seen: Response(json.dumps(DOCUMENT))
    with pytest.raises(UsageError, match="no tool 'fly'"):
        await OpenAPIToolset(f"{site.url}/api.json", tool_filter=["fly"]).list_tools()
    with pytest.raises(SettingError):
        OpenAPIToolset(f"{site.url}/api.json", required="yes")  # type: ignore[arg-type]
