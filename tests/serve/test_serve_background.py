"""Parts that run beside the requests: supervised, reported, and started without a lifespan too."""

import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.serve._agents import chatting, held
from tests.serve._serving import ServerThread, listening, new_session, say, serving, until

from toolwright import Agent, Runner, UsageError, tool
from toolwright.backends import MemoryStore
from toolwright.errors import StoreError
from toolwright.serve import ServeSettings, create_app
from toolwright.serve._background import Supervised
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class Clock:
    """Time that passes only in pauses, and shows each of them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.paused = anyio.Event()
        self.go = anyio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.paused.set()
        await self.go.wait()
        self.go = anyio.Event()

    async def next_pause(self) -> None:
        with anyio.fail_after(5):
            await self.paused.wait()
        self.paused = anyio.Event()


@asynccontextmanager
async def supervising(run: Callable[[], Any], clock: Clock) -> AsyncIterator[Supervised]:
    part = Supervised("worker", run, clock=clock, sleep=clock.sleep)
    async with anyio.create_task_group() as group:
        group.start_soon(part.keep_running)
        yield part
        group.cancel_scope.cancel()


async def test_a_part_that_fails_is_started_again_after_pauses_that_grow_to_a_minute() -> None:
    clock = Clock()

    async def fail() -> None:
        raise StoreError("no route to the database")

    async with supervising(fail, clock) as part:
        for _ in range(8):
            await clock.next_pause()
            assert part.problem == "StoreError: no route to the database"
            clock.go.set()
    assert clock.pauses[:8] == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_part_counts_as_well_again_once_it_has_run_for_a_while() -> None:
    clock = Clock()
    failing = [RuntimeError("once")]
    runs = anyio.Event()

    async def fail_once() -> None:
        if failing:
            raise failing.pop()
        runs.set()
        await anyio.sleep_forever()

    async with supervising(fail_once, clock) as part:
        assert part.problem == ""
        await clock.next_pause()
        clock.go.set()
        with anyio.fail_after(5):
            await runs.wait()
        clock.now += 9
        assert part.problem == "RuntimeError: once"
        clock.now += 1
        assert part.problem == ""


async def test_after_a_long_good_run_the_first_pause_is_short_again() -> None:
    clock = Clock()

    async def run_and_fail() -> None:
        clock.now += 100 if len(clock.pauses) == 3 else 0
        raise RuntimeError("again")

    async with supervising(run_and_fail, clock):
        for _ in range(5):
            await clock.next_pause()
            clock.go.set()
    assert clock.pauses[:5] == [1, 2, 4, 1, 2]


async def test_a_part_that_just_ends_is_a_problem_too_and_groups_name_their_first_error() -> None:
    async def end() -> None:
        return

    async def fail_in_a_group() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(end)
            raise ValueError("inside")

    clock = Clock()
    async with supervising(end, clock) as part:
        await clock.next_pause()
        assert part.problem == "It ended by itself."
    clock = Clock()
    async with supervising(fail_in_a_group, clock) as part:
        await clock.next_pause()
        assert part.problem == "ValueError: inside"


def with_broken_worker(folder: Path, failed: anyio.Event, token: str | None = None) -> Starlette:
    tasks = Orchestrator(f"sqlite:///{folder}/tasks.db")
    tasks.register(Agent(name="clerk", model=ScriptedModel()))

    class Broken:
        problem = ""

        async def run(self) -> None:
            failed.set()
            raise StoreError("disk full at /var/lib")

    tasks.worker = Broken  # type: ignore[assignment,method-assign]
    settings = ServeSettings(work=True, token=token)
    return create_app(chatting(), settings=settings, tasks=tasks)


@asynccontextmanager
async def calling(app: Starlette, path: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    base = f"http://127.0.0.1:8765{path}"
    async with httpx2.AsyncClient(transport=transport, base_url=base) as http:
        yield http


@asynccontextmanager
async def served(app: Starlette, path: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    with serving(app) as address:
        async with httpx2.AsyncClient(base_url=f"{address}{path}", timeout=20) as http:
            yield http


async def test_a_dead_worker_turns_health_red_and_the_rest_goes_on(tmp_path: Path) -> None:
    failed = anyio.Event()
    app = with_broken_worker(tmp_path, failed)
    async with app.router.lifespan_context(app), calling(app) as http:
        with anyio.fail_after(5):
            await failed.wait()
        reply = await http.get("/api/health")
        assert reply.status_code == 503
        assert reply.json()["issues"] == ["worker: StoreError: disk full at /var/lib"]
        assert "The worker of this server failed" in reply.json()["detail"]
        session = await new_session(http)
        await say(http, session, "hello")


async def health_becomes(http: httpx2.AsyncClient, status: int) -> httpx2.Response:
    with anyio.fail_after(20):
        while (reply := await http.get("/api/health")).status_code != status:  # noqa: ASYNC110
            await anyio.sleep(0.05)
    return reply


async def test_a_worker_without_its_tables_turns_health_red_until_they_are_back(
    tmp_path: Path,
) -> None:
    tasks = Orchestrator(f"sqlite:///{tmp_path}/tasks.db", lease=0.3)
    tasks.register(Agent(name="clerk", model=ScriptedModel("Done.")))
    app = create_app(chatting(), settings=ServeSettings(work=True), tasks=tasks, close=True)
    async with app.router.lifespan_context(app), calling(app) as http:
        await tasks.wait(await tasks.enqueue("clerk", "Begin"))
        assert (await http.get("/api/health")).status_code == 200
        rename(tmp_path, "toolwright_tasks", "hidden")
        reply = await health_becomes(http, 503)
        (issue,) = reply.json()["issues"]
        assert issue.startswith("worker: StoreError: ")
        assert "no such table: toolwright_tasks" in issue
        rename(tmp_path, "hidden", "toolwright_tasks")
        await health_becomes(http, 200)


def rename(folder: Path, table: str, name: str) -> None:
    with closing(sqlite3.connect(folder / "tasks.db", timeout=20)) as database:
        database.execute("PRAGMA legacy_alter_table = ON")
        database.execute(f"ALTER TABLE {table} RENAME TO {name}")
        database.commit()


async def test_without_the_token_health_tells_only_the_kind_of_failure(tmp_path: Path) -> None:
    failed = anyio.Event()
    app = with_broken_worker(tmp_path, failed, token="a-token-for-health")
    async with app.router.lifespan_context(app), calling(app) as http:
        with anyio.fail_after(5):
            await failed.wait()
        assert (await http.get("/api/health")).json()["issues"] == ["worker: StoreError"]
        http.headers["Authorization"] = "Bearer a-token-for-health"
        assert "disk full" in (await http.get("/api/health")).text


async def test_a_worker_that_can_never_run_stops_the_server_from_starting(tmp_path: Path) -> None:
    tasks = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    app = create_app(chatting(), settings=ServeSettings(work=True), tasks=tasks)
    with pytest.raises(UsageError, match="Register at least one agent"):
        async with app.router.lifespan_context(app):
            pass


def mounted(runner: Runner, **settings: Any) -> Starlette:
    return Starlette(routes=[Mount("/tw", create_app(runner, settings=ServeSettings(**settings)))])


async def test_a_mounted_server_runs_though_nobody_runs_its_lifespan() -> None:
    async with served(mounted(chatting()), "/tw") as http:
        async with anyio.create_task_group() as group:
            # The first requests come at once, and only one of them may start the background.
            for _ in range(5):
                group.start_soon(http.get, "/api/health")
        session = await new_session(http)
        await say(http, session, "hello")
        async with listening(http, f"/api/sessions/{session}/stream") as frames:
            seen = await until(frames, "run_ended")
        assert seen[-1]["data"]["text"] == "Hello."


async def test_a_mounted_server_asks_for_its_token_wherever_it_is() -> None:
    deep = Starlette(routes=[Mount("/a/b", mounted(chatting(), token="a-token-for-mounts"))])
    for app, path in ((mounted(chatting(), token="a-token-for-mounts"), "/tw"), (deep, "/a/b/tw")):
        async with calling(app, path) as http:
            for asked in ("/api/info", "/api/sessions", "/api/openapi.json", "//api/info"):
                assert (await http.get(asked)).status_code in (401, 404), asked
            assert (await http.get("/api/info")).status_code == 401
            await http.post("/api/sign-in", json={"token": "a-token-for-mounts"})
            assert (await http.get("/api/info")).status_code == 200


@pytest.mark.parametrize(
    ("root_path", "mount", "asked", "redirected"),
    [
        ("/shop", "/agent", "/agent", "/shop/agent/"),  # the proxy removes /shop
        ("", "/agent", "/agent", "/agent/"),  # it does, and uvicorn was not told
        ("", "/shop/agent", "/shop/agent", "/shop/agent/"),  # it keeps /shop
    ],
)
async def test_behind_a_proxy_the_server_answers_and_redirects_as_the_guide_says(
    root_path: str, mount: str, asked: str, redirected: str
) -> None:
    server = ServerThread(Starlette(routes=[Mount(mount, create_app(chatting()))]))
    server.server.config.root_path = root_path
    address = server.start()
    try:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            assert (await http.get(f"{asked}/api/health")).status_code == 200
            assert (await http.get(f"{asked}/")).status_code == 200
            reply = await http.get(asked)
            assert reply.headers["location"] == f"{address}{redirected}"
    finally:
        server.stop()


async def test_a_background_that_cannot_start_fails_the_request_and_is_tried_again() -> None:
    runner = chatting()
    unfinished, failing = runner.unfinished, [StoreError("not yet")]

    async def not_at_first(*args: Any) -> Any:
        if failing:
            raise failing.pop()
        return await unfinished(*args)

    runner.unfinished = not_at_first  # type: ignore[method-assign]
    async with calling(mounted(runner), "/tw") as http:
        assert (await http.get("/api/health")).status_code == 503
        assert (await http.get("/api/health")).status_code == 200


async def test_a_mounted_server_whose_file_is_no_database_says_so_everywhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.db").write_bytes(b"this is not a database" * 500)
    runner = Runner(
        Agent(name="clerk", model=ScriptedModel()),
        app_name="test",
        store=f"sqlite:///{tmp_path}/s.db",
    )
    async with calling(mounted(runner, token="a-token-for-mounts"), "/tw") as http:
        for path in ("/api/health", "/api/sessions", "/"):
            reply = await http.get(path)
            assert (reply.status_code, reply.json()["issues"]) == (503, ["start: StoreError"])
        http.headers["Authorization"] = "Bearer a-token-for-mounts"
        for path in ("/api/health", "/api/sessions"):
            reply = await http.get(path)
            assert reply.status_code == 503
            assert "file is not a database" in reply.json()["issues"][0]


async def test_a_run_that_the_end_of_the_host_cut_off_is_resumed_at_the_next_start(
    tmp_path: Path,
) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    runner, _ = held(store)
    async with served(mounted(runner), "/tw") as http:
        session = await new_session(http)
        await say(http, session, "hello")
        async with listening(http, f"/api/sessions/{session}/stream") as frames:
            await until(frames, "text_delta")
    runner, model = held(store)
    model.let_go()
    async with (
        served(mounted(runner), "/tw") as http,
        listening(http, f"/api/sessions/{session}/stream") as frames,
    ):
        seen = await until(frames, "run_ended", status="done")
    assert seen[-1]["data"]["text"] == "Half a sentence."


def outputs(folder: Path) -> list[Path]:
    return list(folder.rglob("output-*.txt"))


async def test_a_deleted_session_leaves_no_long_output_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    @tool
    async def recite() -> str:
        """Say a lot."""
        return "word " * 100_000

    model = ScriptedModel(call("recite"), "That was all.")
    runner = Runner(Agent(name="poet", model=model, tools=[recite]), app_name="test")
    async with served(create_app(runner)) as http:
        session = await new_session(http)
        await say(http, session, "Recite")
        async with listening(http, f"/api/sessions/{session}/stream") as frames:
            await until(frames, "run_ended", status="done")
        assert len(outputs(tmp_path)) == 1
        assert (await http.delete(f"/api/sessions/{session}")).status_code == 204
    assert outputs(tmp_path) == []


async def test_a_server_that_was_stopped_can_be_started_again() -> None:
    app = create_app(chatting())
    for _ in range(2):
        async with app.router.lifespan_context(app), calling(app) as http:
            await say(http, await new_session(http), "hello")


async def test_a_lifespan_that_comes_after_the_first_request_changes_nothing() -> None:
    app = create_app(chatting())
    async with calling(app) as http:
        session = await new_session(http)
        async with app.router.lifespan_context(app):
            await say(http, session, "hello")
        await say(http, await new_session(http), "hello")


def test_a_server_that_is_interrupted_twice_ends_without_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    closed: list[str] = []

    class Noted(MemoryStore):
        async def close(self) -> None:
            closed.append("store")

    runner = Runner(Agent(name="a", model=ScriptedModel()), store=Noted())
    server = ServerThread(create_app(runner, close=True))
    server.start()
    server.server.handle_exit(signal.SIGINT, None)
    server.server.handle_exit(signal.SIGINT, None)
    assert server.server.force_exit
    server.stop()
    assert closed == ["store"]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
