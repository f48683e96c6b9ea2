"""Every snippet of the embedding guide: started with uvicorn as the page says, called, stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests._loaded import LoadedProgram

SNIPPETS = Path(__file__).resolve().parents[2] / "docs" / "snippets" / "embedding"
TOKEN = "a-token-for-the-guide"


@contextmanager
def started(folder: Path, module: str, *options: str) -> Iterator[str]:
    """The address of a snippet's application; it has stopped by itself when this is left."""
    for snippet in SNIPPETS.glob("*.py"):
        shutil.copy(snippet, folder)
    command = [sys.executable, "-m", "uvicorn", f"{module}:app", "--port", "0", *options]
    environment = {**os.environ, "AGENT_TOKEN": TOKEN}
    server = LoadedProgram(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        line = next(line for line in server.stderr if "running on" in line)
        yield line.split("running on ")[1].split()[0]
        server.send_signal(signal.SIGINT)
        _, log = server.communicate(timeout=20)
        assert "Traceback" not in log, log
    finally:
        server.kill()
        server.wait()


def run_restart(http: httpx2.Client) -> str:
    """Play the guide's run to its end; its last words."""
    session = http.post("api/sessions", json={}).json()["id"]
    path = f"api/sessions/{session}"
    reply = http.post(f"{path}/runs", json={"message": "Restart the web"})
    assert reply.status_code == 202, reply.text
    call_id = ""
    with http.stream("GET", f"{path}/stream") as events:
        for line in events.iter_lines():
            event = json.loads(line[6:]) if line.startswith("data: ") else {"type": ""}
            if event["type"] == "pending_opened":
                call_id = event["pending"]["call_id"]
            elif event["type"] == "run_ended" and event["status"] == "done":
                return event["text"]
            elif event["type"] == "run_ended":
                answer = {"call_id": call_id, "answer": {"kind": "approve"}}
                assert http.post(f"{path}/answers", json=answer).status_code == 200
    raise AssertionError("the stream ended before the run")


@pytest.mark.parametrize("module", ["starlette_host", "with_lifespan"])
def test_a_run_goes_to_its_end_below_the_mount(tmp_path: Path, module: str) -> None:
    with (
        started(tmp_path, module) as address,
        httpx2.Client(base_url=f"{address}/agent/", timeout=20) as http,
    ):
        assert "<title>Toolwright</title>" in http.get("").text
        assert run_restart(http) == "Done."


def test_fastapi_keeps_its_own_routes_and_the_agent_asks_for_its_token(tmp_path: Path) -> None:
    with (
        started(tmp_path, "fastapi_host") as address,
        httpx2.Client(base_url=f"{address}/agent/", timeout=20) as http,
    ):
        assert http.get(address).json() == {"shop": "open"}
        assert http.get("api/info").status_code == 401
        assert http.get("api/openapi.json").status_code == 401
        elsewhere = {"Host": "elsewhere.example"}
        assert http.get("api/health", headers=elsewhere).status_code == 403
        assert http.get("api/health", headers={"Host": "shop.example"}).status_code == 200
        http.headers["Authorization"] = f"Bearer {TOKEN}"
        assert run_restart(http) == "Done."
        assert http.get("api/openapi.json").json()["servers"] == [{"url": "/agent"}]


def test_an_open_page_does_not_keep_the_host_from_stopping(tmp_path: Path) -> None:
    with httpx2.Client(timeout=20) as http:
        with started(tmp_path, "starlette_host") as address:
            asked = http.build_request("GET", f"{address}/agent/api/stream")
            lines = http.send(asked, stream=True).iter_lines()
            assert next(lines).startswith("retry")
        assert [line for line in lines if line.startswith("error")] == []


def test_below_a_root_path_that_the_proxy_keeps(tmp_path: Path) -> None:
    with (
        started(tmp_path, "fastapi_host", "--root-path", "/shop") as address,
        httpx2.Client(base_url=f"{address}/agent/", timeout=20) as http,
    ):
        assert http.get("api/info").status_code == 401
        http.headers["Authorization"] = f"Bearer {TOKEN}"
        assert http.get("api/info").status_code == 200
        assert http.get("api/openapi.json").json()["servers"] == [{"url": "/shop/agent"}]
