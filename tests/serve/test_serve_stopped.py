"""A session whose run a person has stopped: what comes after that is kept until they go on."""

import time

import anyio
import pytest
from tests.serve._workbench import bench_runner
from tests.serve.test_serve_starts import becomes, served

from toolwright import Approve, Runner
from toolwright.messages import ToolEnded

pytestmark = pytest.mark.anyio


async def stopped(runner: Runner, *messages: str) -> None:
    for message in messages:
        await runner.run(message, user_id="local", session_id="s")
    await runner.abandon("s", keep_open=True)


def ends(events: object) -> list[str]:
    assert isinstance(events, list)
    return [event.result.text for event in events if isinstance(event, ToolEnded)]


async def test_what_has_come_since_the_stop_is_announced_and_used_by_resume() -> None:
    runner = bench_runner()
    async with served(runner) as http:
        await stopped(runner, "wipe")
        assert (await http.get("/api/sessions/s")).json()["can_go_on"] is False
        [waiting] = (await http.get("/api/pending")).json()
        answer = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
        assert (await http.post("/api/sessions/s/answers", json=answer)).status_code == 200
        found = (await http.get("/api/sessions")).json()[0]
        assert (found["status"], found["can_go_on"]) == ("stopped", True)
        assert ends(await runner.events("s")) == []
        assert (await http.post("/api/sessions/s/resume")).status_code == 202
        await becomes(http, "done")
        assert (await http.get("/api/sessions/s")).json()["can_go_on"] is False
        assert ends(await runner.events("s")) == ["wiped staging"]


async def test_a_message_to_a_stopped_session_does_not_use_the_yes() -> None:
    runner = bench_runner()
    async with served(runner) as http:
        await stopped(runner, "wipe")
        [pending] = await runner.pending("s")
        await runner.answer("s", pending.call_id, Approve())
        assert (
            await http.post("/api/sessions/s/runs", json={"message": "hello"})
        ).status_code == 202
        await becomes(http, "done")
        assert ends(await runner.events("s")) == [
            "The user stopped the run and sent a new message instead; it was not run."
        ]


async def test_what_still_blocks_a_stopped_session_is_to_be_answered_first() -> None:
    runner = bench_runner()
    async with served(runner) as http:
        await stopped(runner, "both")
        order, wipe = await runner.pending("s")
        await runner.answer("s", wipe.call_id, Approve())
        assert (await http.get("/api/sessions/s")).json()["can_go_on"] is False
        await runner.answer("s", order.call_id, "here")
        assert (await http.get("/api/sessions/s")).json()["can_go_on"] is True


@pytest.mark.parametrize("messages", [("defer",), ("defer", "hello")], ids=["blocking", "late"])
async def test_a_deadline_that_passes_in_a_stopped_session_leaves_the_inbox_and_is_told_on_resume(
    messages: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = bench_runner()
    async with served(runner) as http:
        await stopped(runner, *messages)
        assert len((await http.get("/api/pending")).json()) == 1
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 3700)
        assert (await http.get("/api/pending")).json() == []
        assert (await http.get("/api/sessions/s")).json()["can_go_on"] is True
        assert (await http.post("/api/sessions/s/resume")).status_code == 202
        with anyio.fail_after(30):
            while (await http.get("/api/sessions/s")).json()["status"] != "done":
                await anyio.lowlevel.checkpoint()
        assert (await http.get("/api/sessions/s")).json()["can_go_on"] is False


async def test_a_sign_in_elsewhere_does_not_go_on_with_what_was_stopped() -> None:
    runner = bench_runner()
    async with served(runner) as http:
        await stopped(runner, "sign in")
        await runner.run("sign in", user_id="local", session_id="other")
        [waiting] = await runner.pending("other")
        signed_in = {"kind": "value", "value": {"api_key": "0123456789"}}
        answer = {"call_id": waiting.call_id, "answer": signed_in}
        assert (await http.post("/api/sessions/other/answers", json=answer)).status_code == 200
        await becomes(http, "done", "other")
        # Any later answer looks at all that sign-ins have released.
        await runner.run("wipe", user_id="local", session_id="third")
        [waiting] = await runner.pending("third")
        answer = {"call_id": waiting.call_id, "answer": {"kind": "approve"}}
        assert (await http.post("/api/sessions/third/answers", json=answer)).status_code == 200
        await becomes(http, "done", "third")
        assert (await http.get("/api/sessions/s")).json()["status"] == "stopped"
        assert ends(await runner.events("s")) == []
