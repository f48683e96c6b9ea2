"""The guided tour: its model is a recording, its tools really run."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from examples.tour.__main__ import make_app
from examples.tour._model import TourModel
from examples.tour._story import CHAPTERS, FIX, NOTICE, OTHERWISE, RELEASE, SIGN, SUPPLIER
from tests.serve._serving import listening, new_session, say, serving, until

from toolwright.serve import ServeSettings

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def tour(scratch: Path) -> AsyncIterator[httpx.AsyncClient]:
    model = TourModel(CHAPTERS, OTHERWISE, pause=0)
    settings = ServeSettings(requests_per_second=0, work=True)
    with serving(make_app(scratch, model, settings)) as address:
        async with httpx.AsyncClient(base_url=address, timeout=30) as http:
            yield http


async def play(http: httpx.AsyncClient, chapter: str, answer: dict | None = None) -> list[dict]:
    """The chapter's events; `answer` is given to the call that waits."""
    session = await new_session(http)
    await say(http, session, chapter)
    async with listening(http, f"/api/sessions/{session}/stream") as frames:
        seen = await until(frames, "run_ended")
        if answer is not None:
            [waiting] = (await http.get("/api/pending")).json()
            body = {"call_id": waiting["pending"]["call_id"], "answer": answer}
            reply = await http.post(f"/api/sessions/{session}/answers", json=body)
            assert reply.status_code == 200, reply.text
            seen += await until(frames, "run_ended", status="done")
    return [frame["data"] for frame in seen if frame["data"].get("seq")]


def results(events: list[dict], name: str) -> list[str]:
    ended = [e["result"] for e in events if e["type"] == "tool_ended"]
    return [r["content"][0].get("text", "") for r in ended if r["name"] == name]


async def test_the_bug_is_found_by_running_the_tests_and_really_fixed(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        before, after = results(await play(http, FIX), "bash")
    assert "FAILED" in before
    assert "FAILED" not in after
    assert "(100 - discount_percent)" in (tmp_path / "till" / "till.py").read_text()


async def test_a_release_waits_for_a_yes_and_a_no_is_kept_to(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        refused = await play(http, RELEASE, {"kind": "reject", "reason": "not yet"})
        assert "nothing was released" in refused[-1]["text"]
        assert not (tmp_path / "till" / "RELEASES.md").exists()
        edited = {"kind": "approve", "arguments": {"version": "2.0.0", "notes": "fixed"}}
        await play(http, RELEASE, edited)
    assert (tmp_path / "till" / "RELEASES.md").read_text() == "- 2.0.0: fixed\n"


async def test_the_supplier_answers_in_the_inbox(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        await play(http, SUPPLIER, {"kind": "value", "value": "49.90"})
    assert "49.90" in (tmp_path / "till" / "prices.txt").read_text()


async def test_a_colour_is_chosen_and_the_sign_is_drawn_and_kept(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        events = await play(http, SIGN, {"kind": "value", "value": "seagreen"})
        [sign] = [
            part
            for event in events
            if event["type"] == "tool_ended"
            for part in event["result"]["content"]
            if part["kind"] == "blob"
        ]
        assert sign["name"] == "sign.svg"


async def test_the_page_says_that_the_model_is_a_recording(tmp_path: Path) -> None:
    async with tour(tmp_path) as http:
        info = (await http.get("/api/info")).json()
        assert info["notice"] == NOTICE
        assert len(info["suggestions"]) == 4
        with anyio.fail_after(10):
            said = (await play(http, "Who are you?"))[-1]["text"]
        assert "I am a recording" in said


@pytest.fixture
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_the_tour_prints_one_address_and_stops_cleanly(scratch: Path) -> None:
    command = [sys.executable, "-m", "examples.tour", "--recorded", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as tour:
        assert tour.stderr is not None
        address = tour.stderr.readline().strip().rpartition(" ")[2]
        transport = httpx.HTTPTransport(retries=5)
        with httpx.Client(transport=transport, timeout=20) as http:
            assert http.get(f"{address}/api/health").json()["ok"]
            assert "<title>Toolwright</title>" in http.get(address).text
        tour.send_signal(signal.SIGINT)
        assert tour.wait(20) == 0
        assert tour.stderr.read() == ""
    assert list(scratch.glob("toolwright-tour-*")) == []
