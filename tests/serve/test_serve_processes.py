"""Several servers over one store: a run is followed and answered at any of them, and goes on once."""

import itertools
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx2
import pytest
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.text import TextReceiveStream
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


class Crossroads:
    """A proxy that leads each new connection to the next server that is there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = itertools.count()
        self.processes: dict[int, anyio.abc.Process] = {}

    @asynccontextmanager
    async def open(self, servers: int) -> AsyncIterator[str]:
        command = [sys.executable, "-m", "tests.serve._one_of_several", str(self._folder)]
        async with AsyncExitStack() as stack:
            begun = [await anyio.open_process(command, stderr=None) for _ in range(servers)]
            for process in begun:
                stack.push_async_callback(_end, process)
            for process in begun:
                assert process.stdout is not None
                line = await TextReceiveStream(process.stdout).receive()
                self.processes[int(line.rpartition(":")[2])] = process
            listener = await stack.enter_async_context(
                await anyio.create_tcp_listener(local_host="127.0.0.1")
            )
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            group.start_soon(listener.serve, self._lead)
            yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"

    async def _lead(self, client: ByteStream) -> None:
        ports = [port for port, process in self.processes.items() if process.returncode is None]
        server = await anyio.connect_tcp("127.0.0.1", ports[next(self._turn) % len(ports)])
        async with client, server, anyio.create_task_group() as group:
            for one, other in ((client, server), (server, client)):
                group.start_soon(_pass_on, one, other, group.cancel_scope)


async def _pass_on(one: ByteStream, other: ByteStream, until: anyio.CancelScope) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            await other.send(await one.receive())
    until.cancel()


async def _end(process: anyio.abc.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.aclose()


async def test_behind_a_proxy_a_run_outlives_the_server_that_ran_it(tmp_path: Path) -> None:
    crossroads = Crossroads(tmp_path)
    seen: list[dict[str, Any]] = []
    async with (
        crossroads.open(3) as address,
        httpx2.AsyncClient(base_url=address, headers={"Connection": "close"}) as http,
    ):
        session = await new_session(http)
        path = f"/api/sessions/{session}/stream"
        await say(http, session, "Wipe staging")
        async with listening(http, path) as frames:
            seen += await until(frames, "run_ended", status="paused")
        [waiting] = (await http.get("/api/pending")).json()
        answer = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
        # Each is another connection, and so another server.
        outcomes = [
            (await http.post(f"/api/sessions/{session}/answers", json=answer)).status_code
            for _ in range(3)
        ]
        async with listening(http, path, last_id=seen[-1]["id"]) as frames:
            seen += await until(frames, "tool_ended")
        [(target, pid)] = [row.split() for row in (tmp_path / "wiped").read_text().splitlines()]
        [runs] = [p for p in crossroads.processes.values() if p.pid == int(pid)]
        runs.kill()
        await runs.wait()
        (tmp_path / "go").touch()
        async with listening(http, path, last_id=seen[-1]["id"]) as frames:
            seen += await until(frames, "run_ended", status="done")
    assert sorted(outcomes) == [200, 409, 409]
    assert (tmp_path / "wiped").read_text() == f"{target} {pid}\n"
    numbers = [frame["data"]["seq"] for frame in seen if frame["data"]["seq"]]
    assert numbers == list(range(1, len(numbers) + 1))
