"""Tools by hand: the same validation, approval, hooks and records as in any run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from tests.serve._agents import chatting, wiping

from toolwright import (
    Agent,
    AgentTool,
    Hooks,
    Rule,
    Runner,
    SequentialAgent,
    Tool,
    Toolset,
    rules,
    tool,
)
from toolwright.backends import MemoryArtifacts
from toolwright.backends.files import FilesystemBackend
from toolwright.serve import ServeSettings, create_app
from toolwright.testing import ScriptedModel
from toolwright.tools import ToolContext, guarded

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def client(runner: Runner, **parts: object) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(runner, settings=ServeSettings(requests_per_second=0), **parts)  # type: ignore[arg-type]
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield http


async def test_tools_are_listed_with_their_schema_and_what_they_cost() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        wipe, add = (await http.get("/api/tools")).json()
    assert (wipe["name"], wipe["description"]) == ("wipe", "Wipe a target for good.")
    assert add["parameters"]["required"] == ["a", "b"]
    assert 20 < add["tokens"] < 100


class Listed(Toolset):
    """Its tools are known when it is listed."""

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        @tool
        def pay(cents: int) -> str:
            """Pay what they ask for."""
            return "paid"

        return [pay]


def misspelt(where: str, name: str) -> Runner:
    policy = rules(Rule.deny(name), otherwise="allow")
    of_agent = policy if where in ("agent", "helper", "step") else None
    tools = [guarded(Listed(), policy)] if where == "toolset" else [Listed()]
    agent: Any = Agent(
        name="a", description="a", model=ScriptedModel(), tools=tools, policy=of_agent
    )
    if where == "helper":
        agent = Agent(name="b", model=ScriptedModel(), tools=[AgentTool(agent)])
    if where == "step":
        agent = SequentialAgent(name="w", sub_agents=[agent])
    return Runner(agent, policy=policy if where == "runner" else None)


@pytest.mark.parametrize("where", ["agent", "helper", "step", "runner", "toolset"])
async def test_a_misspelt_rule_is_told_to_whoever_lists_the_tools(where: str) -> None:
    async with client(misspelt(where, "pya")) as http:
        refused = await http.get("/api/tools")
    assert refused.status_code == 400
    assert "There is no tool 'pya'" in refused.json()["detail"]
    assert "near names: pay" in refused.json()["detail"]
    async with client(misspelt(where, "pay")) as http:
        assert (await http.get("/api/tools")).status_code == 200


async def test_a_tool_is_run_by_hand_without_asking_the_model() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        reply = await http.post("/api/tools/add/call", json={"arguments": {"a": "2", "b": 3}})
        outcome = reply.json()
        assert (outcome["result"]["status"], outcome["result"]["content"][0]["text"]) == ("ok", "5")
        sessions = (await http.get("/api/sessions")).json()
        assert [session["by_hand"] for session in sessions] == [True]


async def test_arguments_that_do_not_fit_are_told_field_by_field() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        reply = await http.post("/api/tools/add/call", json={"arguments": {"a": "two"}})
    result = reply.json()["result"]
    assert result["status"] == "error"
    assert "Invalid arguments for 'add'" in result["content"][0]["text"]


async def test_a_call_by_hand_asks_for_the_same_approval() -> None:
    runner, wiped = wiping()
    async with client(runner) as http:
        reply = await http.post("/api/tools/wipe/call", json={"arguments": {"target": "staging"}})
        outcome = reply.json()
        assert outcome["result"]["status"] == "pending"
        assert wiped == []
        [waiting] = (await http.get("/api/pending")).json()
        answer = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
        session = outcome["session_id"]
        await http.post(f"/api/sessions/{session}/answers", json=answer)
        with anyio.fail_after(30):
            while (await http.get(f"/api/sessions/{session}")).json()["status"] != "done":
                await anyio.lowlevel.checkpoint()
    assert wiped == ["staging"]


async def test_a_tool_that_does_not_exist_is_not_found() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        assert (await http.post("/api/tools/nope/call", json={})).status_code == 404


async def test_hooks_see_calls_by_hand() -> None:
    seen = []

    async def before_tool(ctx: ToolContext, called: object, args: dict) -> None:
        seen.append(args)

    @tool
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    agent = Agent(
        name="a", model=ScriptedModel(), tools=[double], hooks=Hooks(before_tool=before_tool)
    )
    async with client(Runner(agent)) as http:
        await http.post("/api/tools/double/call", json={"arguments": {"n": 4}})
    assert seen == [{"n": 4}]


async def test_artifacts_are_stored_listed_and_read_back_as_downloads() -> None:
    agent = Agent(name="a", model=ScriptedModel())
    async with client(Runner(agent, artifacts=MemoryArtifacts())) as http:
        session = (await http.post("/api/sessions", json={})).json()["id"]
        path = f"/api/sessions/{session}/artifacts"
        for text in ("<script>one</script>", "<script>two</script>"):
            headers = {"Content-Type": "text/html"}
            put = await http.put(f"{path}/notes.html", content=text, headers=headers)
            assert put.status_code == 201
        [found] = (await http.get(path)).json()
        assert (found["name"], found["version"], found["media_type"]) == (
            "notes.html",
            1,
            "text/html",
        )
        reply = await http.get(f"{path}/notes.html", params={"version": 0})
        assert reply.text == "<script>one</script>"
        assert reply.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in reply.headers["content-security-policy"]
        assert (await http.get(f"{path}/none")).status_code == 404


async def test_files_are_shown_and_nothing_outside_them(tmp_path) -> None:  # noqa: ANN001
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("print('hi')\n")
    (tmp_path / "b.txt").write_text("b")
    async with client(chatting(), files=FilesystemBackend(tmp_path)) as http:
        listed = (await http.get("/api/files")).json()
        assert [(f["path"].strip("/"), f["is_dir"]) for f in listed] == [
            ("src", True),
            ("b.txt", False),
        ]
        text = await http.get("/api/files/content", params={"path": "/src/a.py"})
        assert text.text == "print('hi')\n"
        for path in ("/none", "/../etc/passwd", "../../etc/passwd", "/src/../../etc/passwd"):
            reply = await http.get("/api/files/content", params={"path": path})
            assert reply.status_code in (404, 422), path
