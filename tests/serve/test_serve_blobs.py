"""Bytes over the HTTP API: standard base64 in events and results, whatever they are."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serve._serving import serving

from toolwright import Agent, BlobPart, Runner, ToolContext, tool
from toolwright.serve import ServeSettings, create_app
from toolwright.testing import ScriptedModel


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    @tool
    async def decode(given: str) -> BlobPart:
        """Give back the bytes that are written in hexadecimal digits."""
        return BlobPart(media_type="image/png", data=bytes.fromhex(given))

    @tool
    async def look(given: str, tool_context: ToolContext) -> tuple[str, dict[str, Any]]:
        """Give back the bytes inside data."""
        data = bytes.fromhex(given)
        tool_context.progress("half", {"raw": data})
        return "looked", {"raw": data, "more": [data]}

    agent = Agent(name="a", model=ScriptedModel(), tools=[decode, look])
    runner = Runner(agent, app_name="test")
    app = create_app(runner, settings=ServeSettings(requests_per_second=0))
    with serving(app) as address, httpx2.Client(base_url=address, timeout=20) as client:
        yield client


@settings(max_examples=30)
@given(data=st.binary(max_size=60) | st.just(b"\xfb\xef\xbe\xff\xff\xff"))
def test_any_bytes_come_back_from_results_events_and_streams(
    http: httpx2.Client, data: bytes
) -> None:
    body = {"arguments": {"given": data.hex()}}
    done = http.post("/api/tools/decode/call", json=body).json()
    path = f"/api/sessions/{done['session_id']}"
    events = http.get(f"{path}/events").json()
    with http.stream("GET", f"{path}/stream") as lines:
        sent = (json.loads(line[6:]) for line in lines.iter_lines() if line.startswith("data: "))
        live = next(event for event in sent if event["type"] == "tool_ended")
    stored = next(event for event in events if event["type"] == "tool_ended")
    for result in (done["result"], stored["result"], live["result"]):
        [part] = result["content"]
        assert part["data"] == base64.b64encode(data).decode()


def test_bytes_inside_data_and_progress_are_written_the_same_way(http: httpx2.Client) -> None:
    body = {"arguments": {"given": "fbefbeffffff"}}
    done = http.post("/api/tools/look/call", json=body).json()
    events = http.get(f"/api/sessions/{done['session_id']}/events").json()
    assert done["result"]["data"] == {"raw": "++++////", "more": ["++++////"]}
    [ended] = [event for event in events if event["type"] == "tool_ended"]
    assert ended["result"]["data"] == done["result"]["data"]
