"""Durable tasks over HTTP: enqueue, follow, answer, stop, try again; changes from other processes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from tests.serve._serving import listening, serving, until
from tests.serve._workbench import bench_runner, spoil

from toolwright import Agent, Runner
from toolwright.serve import ServeSettings, create_app
from toolwright.tasks import Orchestrator

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def client(tmp_path: Path, *, work: bool = True) -> AsyncIterator[httpx2.AsyncClient]:
    runner = bench_runner()
    assert isinstance(runner.agent, Agent)
    orchestrator = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    orchestrator.register(runner.agent)
    settings = ServeSettings(requests_per_second=0, work=work)
    with serving(create_app(runner, settings=settings, tasks=orchestrator)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            yield http


async def enqueue(http: httpx2.AsyncClient, message: str) -> str:
    reply = await http.post("/api/tasks", json={"agent": "smith", "message": message})
    assert reply.status_code == 202, reply.text
    return reply.json()["id"]


async def test_a_task_is_followed_to_its_end(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        task = await enqueue(http, "hello")
        async with listening(http, f"/api/tasks/{task}/stream") as frames:
            seen = await until(frames, "run_ended", status="done")
        assert seen[-1]["data"]["text"] == "You said: hello"
        info = (await http.get(f"/api/tasks/{task}")).json()
        assert (info["title"], info["status"]) == ("hello", "done")
        [listed] = (await http.get("/api/tasks")).json()
        assert listed["id"] == task
        assert (await http.get("/api/queue")).json()["done"] == 1


async def test_a_task_that_waits_is_in_the_inbox_and_goes_on_when_answered(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        task = await enqueue(http, "wipe")
        async with listening(http, f"/api/tasks/{task}/stream") as frames:
            await until(frames, "pending_opened")
            [waiting] = (await http.get("/api/pending")).json()
            assert (waiting["place"], waiting["id"]) == ("task", task)
            yes = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
            reply = await http.post(f"/api/tasks/{task}/answers", json=yes)
            assert reply.json() == {"outcome": "accepted"}
            await until(frames, "run_ended", status="done")
        assert (await http.post(f"/api/tasks/{task}/answers", json=yes)).status_code in (404, 409)


async def test_a_task_whose_call_cannot_be_read_is_named_in_the_inbox(tmp_path: Path) -> None:
    async with client(tmp_path) as http:
        tasks = {}
        for name in ("bad", "good"):
            tasks[name] = await enqueue(http, "defer")
            async with listening(http, f"/api/tasks/{tasks[name]}/stream") as frames:
                await until(frames, "pending_opened")
                await until(frames, "run_ended", status="paused")
        orchestrator = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
        await spoil(orchestrator.store, tasks["bad"], body="{")
        waiting = {one["id"]: one for one in (await http.get("/api/pending")).json()}
        assert await orchestrator.pending() == [
            (tasks["good"], next(iter(await orchestrator.pending(tasks["good"])))[1])
        ]
        await orchestrator.close()
    assert waiting[tasks["bad"]]["problem"].startswith("Unreadable pending call")
    assert waiting[tasks["good"]]["problem"] == ""


async def test_a_queued_task_is_stopped_and_can_be_tried_again(tmp_path: Path) -> None:
    async with client(tmp_path, work=False) as http:
        task = await enqueue(http, "hello")
        assert (await http.post(f"/api/tasks/{task}/cancel")).status_code == 204
        assert (await http.get(f"/api/tasks/{task}")).json()["status"] == "cancelled"
        assert (await http.post(f"/api/tasks/{task}/cancel")).status_code == 409
        steered = await http.post(f"/api/tasks/{task}/steer", json={"message": "x"})
        assert steered.status_code == 409
        assert (await http.post(f"/api/tasks/{task}/retry")).status_code == 204
        assert (await http.get(f"/api/tasks/{task}")).json()["status"] == "queued"


async def test_unknown_tasks_and_agents_are_refused(tmp_path: Path) -> None:
    async with client(tmp_path, work=False) as http:
        assert (await http.get("/api/tasks/none")).status_code == 404
        reply = await http.post("/api/tasks", json={"agent": "nobody", "message": "x"})
        assert reply.status_code == 422
        assert "known: smith" in reply.json()["detail"]


async def test_a_server_without_tasks_has_no_task_routes() -> None:
    app = create_app(bench_runner())
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        assert (await http.get("/api/tasks")).status_code == 404


async def test_what_another_process_answers_is_noticed(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/sessions.db"
    app = create_app(bench_runner(store), settings=ServeSettings(requests_per_second=0))
    with serving(app) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            other: Runner = bench_runner(store)
            async with listening(http, "/api/stream") as frames:
                assert (await anext(frames))["event"] == "reload"
                await other.run("wipe", session_id="elsewhere")
                with anyio.fail_after(10):
                    async for frame in frames:
                        waiting = (await http.get("/api/pending")).json()
                        if frame["event"] == "reload" and waiting:
                            break
            assert waiting[0]["id"] == "elsewhere"
            await other.close()
