"""`execute_python`, `execute_bash` and `install_packages` on a sandbox."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, Runner
from toolwright.agent import Result
from toolwright.backends import Limits, PortableSandbox, open_sandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, Seatbelt, Walls
from toolwright.backends.sandboxes._packages import pip_command
from toolwright.builtin import SandboxToolset, open_sandbox_tools, sandbox_tools
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.messages import ToolEnded
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


async def results(tools: Any, *calls: Any) -> list[Any]:
    result: Result = await Agent(name="a", model=ScriptedModel(*calls, "Done."), tools=tools).run(
        "go"
    )
    return [r for m in result.history if m.kind == "tool" for r in m.results]


@pytest.mark.row("000-67", "000-68", "000-75", "001-06")
async def test_code_and_commands_share_files_and_variables_stay(tmp_path: Path) -> None:
    toolset = SandboxToolset(tmp_path)
    try:
        answers = await results(
            [toolset],
            call("execute_python", code="x = 41\nopen('f', 'w').write('from python')\nprint('hi')"),
            call("execute_bash", command="cat f; pwd"),
            call("execute_python", code="x + 1"),
            call("execute_python", code="1 / 0"),
            call("execute_bash", command="echo out; exit 4"),
        )
    finally:
        await toolset.close()
    assert answers[0].data == {
        "success": True, "stdout": "hi\n", "stderr": "", "result": None, "error": None,
    }  # fmt: skip
    assert answers[1].text == "from python/workspace"
    assert answers[2].data["result"] == "42"
    assert "ZeroDivisionError" in answers[3].data["error"]
    assert [answer.status for answer in answers[:4]] == ["ok", "ok", "ok", "error"]
    assert answers[4].status == "error"
    assert answers[4].text == "The command failed with exit code 4.\nout"
    assert (tmp_path / "f").read_text() == "from python"


@pytest.mark.row("000-69")
async def test_packages_are_installed_apart_and_cannot_be_changed(tmp_path: Path) -> None:
    tools, close = await open_sandbox_tools(tmp_path)
    try:
        answers = await results(
            tools,
            call(
                "install_packages",
                packages=["sniffio==1.3.1", "no-such-package-at-all-xyz", "-r x"],
            ),
            call("execute_python", code="import sniffio; sniffio.__file__"),
            call("execute_python", code="open('/packages/sniffio/__init__.py', 'w')"),
        )
    finally:
        await close()
    first, missing, option = answers[0].data["results"]
    assert first == {"package": "sniffio==1.3.1", "success": True, "error": None}
    assert "No matching distribution" in missing["error"]
    assert "not a package name" in option["error"]
    assert (answers[0].status, answers[0].failed) == ("error", True)
    assert answers[1].data["result"] == "'/packages/sniffio/__init__.py'"
    assert "Read-only file system" in answers[2].data["error"]


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_pip_neither_runs_what_was_installed_nor_reads_settings_of_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, walls: Walls
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    async with await open_sandbox(tmp_path, walls=walls) as sandbox:
        packages = sandbox._packages  # Where a wheel could put anything.
        inside = walls.inside(replace(sandbox._room, workspace=packages))
        for name in ("pip", "sitecustomize", "usercustomize", "keyring"):
            module = packages / name / "__init__.py"
            module.parent.mkdir()
            module.write_text(f"open({inside!r} + '/ran', 'w')")
        (packages / "pip" / "__main__.py").touch()
        settings = f"[global]\nlog = {inside}/read\n"
        places = "mkdir -p ~/.config/pip ~/.pip && tee ~/.config/pip/pip.conf ~/.pip/pip.conf"
        assert (await sandbox.run(places, stdin=settings)).ok
        assert pip_command([], inside)[1:3] == ["-I", "-m"], "two locks on one door"
        done = await sandbox.install(["nothing-of-that-name"])
        left = {path.name for path in packages.iterdir()}
    assert "No matching distribution found" in done.stderr
    assert left == {"pip", "sitecustomize", "usercustomize", "keyring"}


async def test_only_names_and_versions_can_be_installed(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        for bad in (
            "https://x/y.whl",
            "./local",
            "x @ https://y",
            "--index-url=http://x",
            "a; b",
            "",
        ):
            with pytest.raises(ToolError, match="not a package name"):
                await sandbox.install([bad])
        with pytest.raises(ToolError, match="at least one"):
            await sandbox.install([])


async def test_a_code_that_hangs_or_dies_costs_only_its_variables(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        await sandbox.run_code("x = 1")
        late = await sandbox.run_code("print('so far'); import time; time.sleep(30)",
                                      limits=Limits(timeout=0.5))  # fmt: skip
        assert (late.ended, late.stdout) == ("timeout", "so far\n")
        assert "variables are gone" in late.stderr
        assert "NameError" in (await sandbox.run_code("x")).stderr
        died = await sandbox.run_code("import os; os._exit(7)")
        assert (died.exit_code, died.ended) == (7, "exited")
        assert (await sandbox.run_code("await __import__('asyncio').sleep(0, 5)")).value == "5"


async def test_limits_hold_for_code_and_other_limits_are_another_interpreter(
    tmp_path: Path,
) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        await sandbox.run_code("x = 1")
        assert (await sandbox.run_code("x", limits=Limits(timeout=5))).value == "1"
        small = Limits(memory=300 * 2**20)
        assert (
            "MemoryError" in (await sandbox.run_code("x = bytearray(2**30)", limits=small)).stderr
        )
        assert "NameError" in (await sandbox.run_code("x")).stderr


async def test_tracebacks_show_the_code_and_nothing_of_ours(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        done = await sandbox.run_code("def f():\n    raise ValueError('bad')\nf()")
    assert done.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert "raise ValueError('bad')" in done.stderr
    assert "_repl" not in done.stderr


async def test_the_tools_work_on_the_portable_sandbox_and_say_what_they_cannot(
    tmp_path: Path,
) -> None:
    async with await PortableSandbox.open(tmp_path) as sandbox:
        answers = await results(
            sandbox_tools(sandbox),
            call("execute_bash", command="echo hi > f; cat f"),
            call("execute_python", code="open('/workspace/f').read()"),
            call("install_packages", packages=["numpy"]),
            call("execute_python", code="import numpy"),
        )
    assert answers[0].text == "hi"
    assert answers[1].data["result"] == "'hi\\n'"
    assert "no third-party packages" in answers[2].data["results"][0]["error"]
    assert "No module named 'numpy'" in answers[3].data["error"]


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()])
async def test_paths_outside_can_be_made_readable_and_no_more(tmp_path: Path, walls: Any) -> None:
    workspace, tools = tmp_path / "workspace", tmp_path / "tools"
    workspace.mkdir()
    tools.mkdir()
    (tools / "data").write_text("for all")
    async with await OsSandbox.open(workspace, walls, readable=[tools]) as sandbox:
        assert (await sandbox.run(f"cat {tools}/data")).stdout == "for all"
        assert not (await sandbox.run(f"echo x > {tools}/data")).ok
    with pytest.raises(UsageError, match="they are not there"):
        await OsSandbox.open(workspace, walls, readable=["/no/such/place"])


_OWN = [
    "json",
    "ast",
    "token",
    "tokenize",
    "linecache",
    "select",
    "socket",
    "types",
    "traceback",
    "contextlib",
    "re",
    "enum",
    "struct",
    "signal",
    "io",
    "code",
    "inspect",
    "random",
    "test",
    "utils",
    "warnings",
    "collections",
    "typing",
    "keyword",
]


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()])
async def test_modules_of_the_code_s_own_break_no_interpreter(tmp_path: Path, walls: Any) -> None:
    for name in (*_OWN, "mine"):
        (tmp_path / f"{name}.py").write_text("value = 'own'\n")
    async with await OsSandbox.open(tmp_path, walls) as sandbox:
        assert (await sandbox.run_code("1 + 1")).value == "2"
        assert "ZeroDivisionError" in (await sandbox.run_code("1 / 0")).stderr
        assert (await sandbox.run_code("import mine, utils; mine.value, utils.value")).ok


async def test_where_no_system_sandbox_works_the_portable_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: object) -> str:
        return "it is broken"

    for walls in (Bubblewrap, Landlock, Seatbelt):
        monkeypatch.setattr(walls, "probe", broken)
    toolset = SandboxToolset(tmp_path)
    try:
        python = (await toolset.list_tools())[0]
        assert (
            "There is no network. Bash and its programs are re-implementations"
            in python.description
        )
        [answer] = await results([toolset], call("execute_bash", command="echo hi"))
        assert answer.text == "hi"
    finally:
        await toolset.close()
    with pytest.raises(StoreError, match="No sandbox works"):
        await SandboxToolset(tmp_path, require=["real_python"]).list_tools()


async def test_single_hosts_can_be_opened_and_no_others(tmp_path: Path) -> None:
    import http.server
    import threading

    class Hello(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://localhost:{server.server_port}/"
    try:
        async with await open_sandbox(tmp_path, allow_hosts=["localhost"]) as sandbox:
            assert sandbox.capabilities.network_confined
            script = "import urllib.request as u; print(u.urlopen({!r}, timeout=5).read())"
            reached = await sandbox.run(["python3", "-c", script.format(address)])
            assert reached.stdout == "b'hello'\n", reached.stderr
            other = await sandbox.run(["python3", "-c", script.format("http://example.com/")])
            assert "403" in other.stderr
            around = "import socket; socket.create_connection(('127.0.0.1', {}), 2)"
            direct = await sandbox.run(["python3", "-c", around.format(server.server_port)])
            assert "refused" in direct.stderr
    finally:
        server.shutdown()
        server.server_close()


async def python(runner: Runner, user: str, code: str) -> str:
    model = ScriptedModel(call("execute_python", code=code), "Done.")
    runner.agent = Agent(name="a", model=model, tools=runner.agent.tools)  # type: ignore[attr-defined]
    result = await runner.run("go", user_id=user, session_id=f"session-of-{user}")
    return next(e.result.text for e in result.events if isinstance(e, ToolEnded))


async def test_a_session_does_not_see_the_variables_of_another(tmp_path: Path) -> None:
    async with Runner(Agent(name="a", tools=[SandboxToolset(tmp_path)])) as runner:
        await python(runner, "alice", "secret = 'ALICE'")
        assert "NameError" in await python(runner, "bob", "print(secret)")
        assert "ALICE" in await python(runner, "alice", "print(secret)")
        await runner.delete("session-of-alice")
        assert "NameError" in await python(runner, "alice", "print(secret)")


async def test_sessions_share_a_sandbox_when_that_is_asked_for(tmp_path: Path) -> None:
    async with Runner(Agent(name="a", tools=[SandboxToolset(tmp_path, shared=True)])) as runner:
        await python(runner, "alice", "secret = 'ALICE'")
        assert "ALICE" in await python(runner, "bob", "print(secret)")


async def test_concurrent_first_runs_leave_no_sandbox_behind(tmp_path: Path) -> None:
    opened: list[Any] = []

    class Watched(SandboxToolset):
        async def _open(self) -> Any:
            opened.append(await super()._open())
            return opened[-1]

    toolset = Watched(tmp_path, shared=True)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(results, [toolset], call("execute_python", code="1"))
    assert len(opened) == 1
    await toolset.close()
    with pytest.raises((ToolError, UsageError, StoreError)):
        await opened[0].run_code("1")
