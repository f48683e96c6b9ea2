"""Approve and reject links: signed, for one call, used once, until a time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest

from toolwright import Agent, Runner, ToolContext, deferred_tool
from toolwright.agent import START, Workflow
from toolwright.backends import MemoryStore
from toolwright.serve import Links, ServeSettings, create_app
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
LINKS = Links("a secret of some length", "http://127.0.0.1")


def transferring(expires_in: float = 3600.0) -> tuple[Runner, list[str]]:
    mailed: list[str] = []

    @deferred_tool(timeout=3600)
    async def request_transfer(amount: int, tool_context: ToolContext) -> None:
        """Ask by mail before money is moved."""
        for status in ("approved", "rejected"):
            answer = {"status": status}
            mailed.append(
                LINKS.answer(tool_context, answer, label=status.title(), expires_in=expires_in)
            )

    model = ScriptedModel(call("request_transfer", amount=50), "Done.")
    return Runner(Agent(name="bank", model=model, tools=[request_transfer])), mailed


@asynccontextmanager
async def waiting(runner: Runner) -> AsyncIterator[tuple[httpx2.AsyncClient, str]]:
    settings = ServeSettings(requests_per_second=0, token="a-token-that-people-do-not-have")
    app = create_app(runner, settings=settings, links=LINKS)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            await runner.run("Pay 50", user_id="u", session_id="s")
            yield http, "s"


async def result_in(runner: Runner) -> str:
    with anyio.fail_after(30):
        while not (ended := [e for e in await runner.events("s") if e.type == "tool_ended"]):  # type: ignore[attr-defined]
            await anyio.lowlevel.checkpoint()
    return ended[0].result.text  # type: ignore[attr-defined]


async def test_looking_at_a_link_changes_nothing_and_its_button_answers() -> None:
    runner, mailed = transferring()
    async with waiting(runner) as (http, _):
        path = urlsplit(mailed[0]).path
        page = await http.get(path)
        assert "Approved" in page.text
        assert len(await runner.pending("s")) == 1
        pressed = await http.post(path)
        assert "Thank you" in pressed.text
        assert "approved" in await result_in(runner)


async def test_a_link_works_once_and_the_other_one_not_at_all_afterwards() -> None:
    runner, mailed = transferring()
    async with waiting(runner) as (http, _):
        approve, reject = (urlsplit(link).path for link in mailed)
        assert (await http.post(approve)).status_code == 200
        assert (await http.post(approve)).status_code in (404, 409)
        assert (await http.post(reject)).status_code in (404, 409)
        assert "approved" in await result_in(runner)


async def test_a_changed_link_is_refused() -> None:
    runner, mailed = transferring()
    async with waiting(runner) as (http, _):
        path = urlsplit(mailed[0]).path
        for forged in (path[:-3] + "abc", path.replace(".", "x."), "/links/none", "/links/a.b"):
            assert (await http.post(forged)).status_code == 410
        other = Links("another secret entirely", "http://127.0.0.1")
        app_key = other._signature(path.removeprefix("/links/").partition(".")[0])
        forged = f"{path.partition('.')[0]}.{app_key}"
        assert (await http.post(forged)).status_code == 410
        assert len(await runner.pending("s")) == 1


async def test_an_old_link_is_refused() -> None:
    runner, mailed = transferring(expires_in=-1)
    async with waiting(runner) as (http, _):
        reply = await http.post(urlsplit(mailed[0]).path)
        assert reply.status_code == 410
        assert "expired" in reply.text


async def test_a_link_is_not_handed_on_in_a_referer() -> None:
    runner, mailed = transferring()
    async with waiting(runner) as (http, _):
        page = await http.get(urlsplit(mailed[0]).path)
        assert page.headers["referrer-policy"] == "same-origin"
        assert page.headers["cache-control"] == "no-store"


async def test_a_link_answers_no_other_call_of_the_same_id() -> None:
    mailed: list[str] = []

    @deferred_tool(timeout=3600)
    async def ask(cents: str, tool_context: ToolContext) -> None:
        """Ask by mail before money is moved."""
        mailed.append(urlsplit(LINKS.answer(tool_context, "approved")).path)

    flow = Workflow(name="bank", nodes={"ask": ask}, edges=[(START, "ask")])
    store = MemoryStore()
    test = Runner(flow, store=store, app_name="test-bank")
    in_test = await test.run("50", session_id="s")
    runner = Runner(flow, store=store, app_name="bank")
    before = await runner.run("50", session_id="s")
    await runner.delete("s")
    async with waiting(runner) as (http, _):
        [pending] = await runner.pending("s")
        assert {pending.call_id} == {p.call_id for p in (*in_test.pending, *before.pending)}
        for other in mailed[:2]:
            reply = await http.post(other)
            assert reply.status_code == 404
            assert "not waiting for an answer" in reply.text
        assert len(await runner.pending("s")) == 1
        assert (await http.post(mailed[2])).status_code == 200
