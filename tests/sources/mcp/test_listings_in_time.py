"""A listing takes a bounded time, whatever a server puts in it, and whoever waits for it can leave."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest

from toolwright.errors import ToolError
from toolwright.sources.mcp import _listings
from toolwright.sources.mcp._link import Link
from toolwright.sources.mcp._listings import Listings
from toolwright.sources.mcp._questions import Questions

pytestmark = pytest.mark.anyio
GOOD = {"name": "go", "inputSchema": {"type": "object"}}
NEEDED = {"cacheScope": "private", "resultType": "complete", "ttlMs": 0}


def answered(result: dict[str, Any], version: str) -> tuple[Listings, types.JSONRPCResponse]:
    """A listing that was asked for, and its answer."""
    listings = Listings("server")
    listings.version = version
    listings.note_request(types.JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list"))
    return listings, types.JSONRPCResponse(jsonrpc="2.0", id=1, result=result)


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("more", ["_meta", "top"])
async def test_each_item_is_judged_without_what_stands_beside_the_items(
    version: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = {f"k/{number}": 0 for number in range(1_000)}
    extra = {"_meta": beside} if more == "_meta" else beside
    listings, answer = answered({"tools": [GOOD, *[{}] * 50], **NEEDED, **extra}, version)
    judged: list[int] = []
    parse = _listings.parse_server_result

    def noted(method: str, version: Any, result: Any) -> Any:
        judged.append(len(str(result)))
        return parse(method, version, result)

    monkeypatch.setattr(_listings, "parse_server_result", noted)
    await listings.judge(answer)
    assert answer.result["tools"] == [GOOD]
    assert len(judged) <= 51 + 3
    assert sum(size > 1_000 for size in judged) <= 2


async def test_of_a_crowd_of_items_only_so_many_are_judged_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_listings, "MOST_TOOLS", 5)
    listings, answer = answered({"tools": [GOOD] * 9}, "2025-06-18")
    await listings.judge(answer)
    assert len(answer.result["tools"]) == 5
    assert "lists more than 5 tools; the others are left out" in caplog.text


async def test_whoever_waits_for_a_listing_to_be_judged_leaves_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()
    monkeypatch.setattr(_listings, "_problem", lambda *_: str(release.wait(5)))
    listings, answer = answered({"tools": [{}] * 9}, "2025-06-18")
    began = time.monotonic()
    with anyio.move_on_after(0.05) as scope:
        await listings.judge(answer)
    release.set()
    assert scope.cancelled_caught
    assert time.monotonic() - began < 3


def test_nobody_waiting_any_more_ends_the_judging() -> None:
    def between() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        _listings._take_out("tools/list", "2025-06-18", {"tools": [{}]}, between)


@pytest.mark.parametrize("kind", ["tools", "resources", "prompts"])
async def test_all_pages_of_a_listing_have_one_deadline(kind: str) -> None:
    asked: list[Any] = []

    async def one_more(cursor: str | None) -> Any:
        asked.append(cursor)
        await anyio.sleep(0.02)  # Each page is in time.
        page = types.ListToolsResult(tools=[])
        page.next_cursor = str(len(asked))
        return page

    client = SimpleNamespace(
        session=SimpleNamespace(),
        server_capabilities=SimpleNamespace(resources=True, prompts=True),
        **{f"list_{kind}": one_more},
    )
    link = Link(client, "server", Questions("server"), 0.2)  # type: ignore[arg-type]
    with pytest.raises(ToolError, match=r"^server was not done with its listing after 0\.2 s"):
        await getattr(link, f"list_{kind}")()
    assert 1 < len(asked) < 50
