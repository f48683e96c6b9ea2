"""Several servers over one store: a run is followed and answered at any of them, and goes on once."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from tests.serve._agents import wiping
from tests.serve._serving import listening, new_session, say, serving, until

from toolwright.backends import open_store
from toolwright.serve import ServeSettings, create_app
from toolwright.serve.live import _runs

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def three(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[list[httpx2.AsyncClient], list[list[str]]]]:
    """Clients of three servers, each with its own connections to one database; what each has wiped."""
    monkeypatch.setattr(_runs, "_LOOK_SECONDS", 0.01)
    wiped, clients = [], []
    async with AsyncExitStack() as stack:
        # The second is where it is answered, and so where it goes on.
        for turns in ([], ["Done.", "Goodbye."], []):
            runner, done = wiping(open_store(f"sqlite:///{folder}/s.db"), turns)
            wiped.append(done)
            app = create_app(runner, settings=ServeSettings(requests_per_second=0), close=True)
            address = stack.enter_context(serving(app))
            http = httpx2.AsyncClient(base_url=address)
            clients.append(await stack.enter_async_context(http))
        yield clients, wiped


async def test_a_run_is_followed_at_any_server_answered_at_any_and_goes_on_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with three(tmp_path, monkeypatch) as ((first, second, third), wiped):
        session = await new_session(first)
        path = f"/api/sessions/{session}/stream"
        async with listening(third, path) as frames:
            await say(first, session, "Wipe staging")
            seen = await until(frames, "run_ended", status="paused")
            [waiting] = (await second.get("/api/pending")).json()
            answer = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
            outcomes = [
                (await http.post(f"/api/sessions/{session}/answers", json=answer)).status_code
                for http in (second, first)
            ]
            seen += await until(frames, "run_ended", status="done")
        async with listening(first, path, last_id=seen[-1]["id"]) as frames:
            await say(second, session, "Thank you")
            seen += await until(frames, "run_started")
    assert outcomes == [200, 409]
    assert [len(done) for done in wiped] == [0, 1, 0]
    numbers = [frame["data"]["seq"] for frame in seen if frame["data"]["seq"]]
    assert numbers == list(range(1, len(numbers) + 1))
