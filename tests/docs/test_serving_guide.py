"""Every snippet of the serving guide, run against a real server."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import anyio
import httpx2
import pytest
from tests.serve._serving import listening, serving, until

from toolwright.serve import ServeSettings

pytestmark = pytest.mark.anyio
SNIPPETS = Path(__file__).resolve().parents[2] / "docs" / "snippets" / "serving"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"serving_{name}", SNIPPETS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_an_agent_is_served_and_a_program_approves_its_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(load("serve").make_app(ServeSettings())) as address:
        assert await load("client").approve_everything(address, "Restart the web.") == "Done."


async def test_a_link_in_a_mail_completes_the_call() -> None:
    module = load("links")
    with serving(module.app) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            session = (await http.post("/api/sessions", json={})).json()["id"]
            path = f"/api/sessions/{session}"
            await http.post(f"{path}/runs", json={"message": "Pay Ada"})
            async with listening(http, f"{path}/stream") as frames:
                await until(frames, "run_ended", status="paused")
                [mail] = module.outbox
                yes = re.search(r"Yes: http://[^/]+(\S+)", mail)
                assert yes is not None
                assert "Thank you" in (await http.post(yes[1])).text
                seen = await until(frames, "run_ended", status="done")
    [result] = [f["data"]["result"] for f in seen if f["data"]["type"] == "tool_ended"]
    assert "approved" in result["content"][0]["text"]


async def test_tasks_are_worked_on_beside_the_sessions(tmp_path: Path) -> None:
    with serving(load("tasks").make_app(tmp_path)) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            body = {"agent": "clerk", "message": "File this"}
            task = (await http.post("/api/tasks", json=body)).json()["id"]
            with anyio.fail_after(15):
                async with listening(http, f"/api/tasks/{task}/stream") as frames:
                    seen = await until(frames, "run_ended")
    assert seen[-1]["data"]["text"] == "Filed."


async def test_people_choose_the_model() -> None:
    with serving(load("models").app) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            info = (await http.get("/api/info")).json()
    assert info["notice"] == "Nothing is sent."
    assert [offer["title"] for offer in info["models"]] == ["A recording", "GPT-5 mini"]
