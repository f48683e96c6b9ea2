"""Make every attempt on every kind of sandbox, by every way in; prints what became of each.

Run as a program, which stands for one user. Its argument is a directory of that user.
"""

import contextlib
import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.execution.escape_attempts import ATTEMPTS
from tests.execution.escape_outside import Outside
from tests.sources._calling import run_tool

from toolwright._temporary import temporary_directory
from toolwright.backends import Finished, Limits, LocalExecutor, PortableSandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, ServerSandbox, Walls
from toolwright.errors import UsageError
from toolwright.sources import McpToolset, PluginToolset, StdioServerParameters

WALLS: dict[str, Callable[[], Walls]] = {"bubblewrap": Bubblewrap, "landlock": Landlock}
KINDS = ("none", *WALLS, "portable bash", "portable python")
SERVER = Path(__file__).with_name("_walled_server.py")
ROOMY = Limits(timeout=60, output=8 * 2**20)
Outputs = dict[str, str]
"""What each attempt printed."""
DRIVER = """
import ctypes, fcntl, glob, json, mmap, os, resource, select, signal, socket, stat, sys, time
attempts, names = json.loads(TEXT)
found = {}
for name, code in attempts.items():
    sys.stdout.flush()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        try:
            exec(code, dict(names))
            sys.stdout.flush()
        except BaseException as error:
            os.write(2, repr(error).encode())
        os._exit(0)
    os.close(theirs)
    said, until = b"", time.monotonic() + 5
    while select.select([ours], [], [], max(0, until - time.monotonic()))[0]:
        chunk = os.read(ours, 65536)
        if not chunk:
            break
        said += chunk
    os.close(ours)
    os.kill(child, 9)
    os.waitpid(child, 0)
    found[name] = said.decode("utf-8", "replace")
print("@@" + json.dumps(found) + "@@")
"""


def driver(outside: Outside) -> str:
    attempts = {attempt.name: attempt.python for attempt in ATTEMPTS}
    return f"TEXT = {json.dumps([attempts, outside.names])!r}\n{DRIVER}"


def read(said: str) -> Outputs:
    assert said.count("@@") == 2, said[-2000:]
    return json.loads(said.split("@@")[1])


# -- ways in ------------------------------------------------------------------------------------


async def by_bash(
    execute: Callable[..., Awaitable[Finished]], outside: Outside, with_python: bool = True
) -> Outputs:
    names = [f"{name}={shlex.quote(str(value))}" for name, value in outside.names.items()]
    assigned = "".join(f"{name} = {value!r}\n" for name, value in outside.names.items())
    lines = [f"export {' '.join(names)}"]
    # Where Python is real, what has no words of its own in bash is tried by the other ways.
    attempts = [one for one in ATTEMPTS if one.bash or not with_python]
    for number, attempt in enumerate(attempts):
        python = f"python3 -c {shlex.quote(assigned + attempt.python)}"
        lines += [f"echo; echo @@{number}", f"( {attempt.bash or python}\n) < /dev/null 2>&1"]
    done = await execute("\n".join([*lines, "echo; echo @@end"]), limits=ROOMY)
    pieces = done.stdout.split("\n@@")
    assert pieces[-1] == "end\n", (len(pieces), done.ended, done.stderr[-300:], pieces[-1][-500:])
    return {attempt.name: piece for attempt, piece in zip(attempts, pieces[1:-1], strict=True)}


async def by_command(executor: Any, outside: Outside) -> Outputs:
    done = await executor.run(["python3", "-I", "-S", "-c", driver(outside)], limits=ROOMY)
    return read(done.stdout)


async def by_python(sandbox: OsSandbox, outside: Outside) -> Outputs:
    return read((await sandbox.run_code(driver(outside), limits=ROOMY)).stdout)


async def by_code_mode(sandbox: OsSandbox, outside: Outside) -> Outputs:
    from toolwright import Agent
    from toolwright.builtin import code_mode
    from toolwright.testing import ScriptedModel, call

    # Monty knows no generators, so that this goes to CPython in the sandbox.
    code = f"def gap():\n    yield 1\nexec({driver(outside)!r}, {{}})"
    tools = code_mode([_nothing], sandbox=sandbox, limits=ROOMY)
    agent = Agent(
        name="probe", model=ScriptedModel(call("run_code", code=code), "."), tools=[tools]
    )
    result = await agent.run("go")
    [said] = [r.text for m in result.history if m.kind == "tool" for r in m.results]
    return read(said)


def _nothing() -> str:
    return ""


async def by_server(toolset: Any, outside: Outside) -> Outputs:
    try:
        tools = {tool.name: tool for tool in await toolset.list_tools()}
        return read((await run_tool(tools["run"], {"code": driver(outside)})).text)
    finally:
        await toolset.close()


async def by_mcp(sandbox: ServerSandbox | None, outside: Outside) -> Outputs:
    params = StdioServerParameters(command="python3", args=[str(SERVER)])
    return await by_server(McpToolset(params, sandbox=sandbox, required=True), outside)


async def by_plugin(sandbox: ServerSandbox | None, outside: Outside) -> Outputs:
    toolset = PluginToolset(SERVER, ["plugin"], sandbox=sandbox, required=True)
    return await by_server(toolset, outside)


async def by_monty(sandbox: PortableSandbox, outside: Outside) -> Outputs:
    found: Outputs = {}
    for attempt in ATTEMPTS:
        given = "\n".join(f"{name} = {value!r}" for name, value in outside.names.items())
        done = await sandbox.run_code(f"{given}\n{attempt.python}")
        found[attempt.name] = f"{done.stdout}{done.value or ''}"
    return found


Way = Callable[[Outside], Awaitable[Outputs]]


@asynccontextmanager
async def ways(kind: str, workspace: Path) -> AsyncIterator[tuple[str, dict[str, Way], Any]]:
    """The path of the workspace inside, the ways in, and the executor."""
    if kind.startswith("portable"):
        async with await PortableSandbox.open(workspace) as portable:
            bash: dict[str, Way] = {
                "bash": lambda out: by_bash(portable.run, out, with_python=False)
            }
            python: dict[str, Way] = {"code": lambda out: by_monty(portable, out)}
            yield portable.workspace, bash if kind == "portable bash" else python, portable
        return
    walls = WALLS[kind]() if kind in WALLS else None
    server = ServerSandbox(walls=walls, workspace=workspace) if walls else None
    servers: dict[str, Way] = {
        "MCP server": lambda out: by_mcp(server, out),
        "plugin": lambda out: by_plugin(server, out),
    }
    if walls is None:
        local = LocalExecutor(workspace)
        bash = {"bash": lambda out: by_bash(local.run, out)}
        yield (
            str(workspace),
            {**bash, "command": lambda out: by_command(local, out), **servers},
            local,
        )
        return
    async with await OsSandbox.open(workspace, walls) as sandbox:
        own: dict[str, Way] = {
            "bash": lambda out: by_bash(sandbox.run, out),
            "command": lambda out: by_command(sandbox, out),
            "Python": lambda out: by_python(sandbox, out),
            "code mode": lambda out: by_code_mode(sandbox, out),
        }
        yield sandbox.workspace, {**own, **servers}, sandbox


def succeeded(outputs: Outputs, outside: Outside) -> set[str]:
    changed, hidden = outside.changed(), outside.hidden
    return changed | {
        attempt.name
        for attempt in ATTEMPTS
        if hidden[attempt.shows] in outputs.get(attempt.name, "")
    }


# -- what this program runs from ------------------------------------------------------------------

_PACKAGE = "tools/.venv/lib/site-packages"
OWN = {
    "change what this program runs from": (f"echo x > {_PACKAGE}/package.py", f"open(WS + '/{_PACKAGE}/package.py', 'w').write('x')"),
    "add a module to what it runs from": (f"echo x > {_PACKAGE}/added.py", f"open(WS + '/{_PACKAGE}/added.py', 'w').write('x')"),
    "change it through a link": (f"ln -s {_PACKAGE} near; echo x > near/linked.py", f"import os; os.symlink('{_PACKAGE}', WS + '/near'); open(WS + '/near/linked.py', 'w').write('x')"),
    "change a temporary file of this program": ("for f in toolwright-*/ours; do echo x > $f; done", "from pathlib import Path\nfor f in Path(WS).iterdir():\n    if f.name.startswith('toolwright-'): (f / 'ours').write_text('x')"),
    "put another directory in the place of what it runs from": (f"mv {_PACKAGE} gone", f"import os; os.rename(WS + '/{_PACKAGE}', WS + '/gone')"),
    "rename a directory above it": ("mv tools away", "import os; os.rename(WS + '/tools', WS + '/away')"),
}  # fmt: skip
"""In bash and in Python; the last ones move what the others change."""


async def changed_own(kind: str, home: Path) -> set[str]:
    """What of this program's own could be changed, where it lies in the workspace."""
    workspace = home / kind / "project"
    packages = workspace / _PACKAGE
    packages.mkdir(parents=True)
    (packages / "package.py").write_text("ours")
    # Before any wait, as all kinds of sandboxes are probed side by side.
    sys.path.append(str(packages))
    tempfile.tempdir = str(workspace)
    ours = temporary_directory() / "ours"
    tempfile.tempdir = None
    ours.write_text("ours")
    with contextlib.suppress(UsageError):  # It does not open there, which holds everything.
        await _try_own(kind, workspace)
    sys.path.remove(str(packages))
    return {
        name
        for name, is_changed in {
            "change what this program runs from": _text(workspace, "package.py") != "ours",
            "add a module to what it runs from": _text(workspace, "added.py") is not None,
            "change it through a link": _text(workspace, "linked.py") is not None,
            "change a temporary file of this program": ours.read_text() != "ours",
            "put another directory in the place of what it runs from": not packages.exists(),
            "rename a directory above it": not (workspace / "tools").exists(),
        }.items()
        if is_changed
    }


async def _opened(kind: str, workspace: Path) -> Any:
    if kind.startswith("portable"):
        return await PortableSandbox.open(workspace)
    if kind in WALLS:
        return await OsSandbox.open(workspace, WALLS[kind]())
    return LocalExecutor(workspace)


async def _try_own(kind: str, workspace: Path) -> None:
    executor = await _opened(kind, workspace)
    inside = getattr(executor, "workspace", workspace)
    async with executor:
        for command, code in OWN.values():
            if kind == "portable python":
                await executor.run_code(f"WS = {str(inside)!r}\n{code}")
            else:
                await executor.run(command)


def _text(workspace: Path, name: str) -> str | None:
    """A package's file, wherever it may be by now."""
    for place in (_PACKAGE, "gone", f"away/{_PACKAGE.removeprefix('tools/')}"):
        if (file := workspace / place / name).exists():
            return file.read_text()
    return None


# -- limits -------------------------------------------------------------------------------------


async def exceeded(kind: str, executor: Any, workspace: Path) -> set[str]:
    """The limits that did not hold."""
    own = f"{os.getpid()}{KINDS.index(kind)}"
    python = kind == "portable python"
    execute = executor.run_code if python else executor.run

    async def run(command: str, code: str, **limits: Any) -> Finished:
        return await execute(code if python else command, limits=Limits(**limits))

    found = set()
    code = "x = 'ab' * 400_000_000\nprint('got', 'it', len(x))"
    command = f"python3 -c {shlex.quote(code)} || {{ x=$(yes | head -c 800000000); echo got it ${{#x}}; }}"
    done = await run(command, code, memory=150 * 2**20, timeout=20)
    if "got it 800000000" in done.stdout:
        found.add("use more memory than allowed")
    code = "import os\nf = os.memfd_create('x')\nprint('kept', sum(os.write(f, b'x' * 2**20) for _ in range(300)))"
    done = await run(f"python3 -c {shlex.quote(code)}", code, memory=150 * 2**20, timeout=20)
    if "kept 314572800" in done.stdout:
        found.add("keep more in memory that no process has than allowed")
    code = "open('/workspace/big', 'w').write('x' * 9_000_000)"
    await run("yes | head -c 9000000 > big; seq 99999 > big", code, file_size=2**16, timeout=20)
    big = workspace / "big"
    if big.exists() and big.stat().st_size > 2**16:
        found.add("write a larger file than allowed")
    big.unlink(missing_ok=True)
    nap = f"5.{own}"
    fork = "import os\n[os.fork() for _ in range(60)]"
    await run(f"for i in $(seq 60); do sleep {nap} & done; sleep 1", fork, processes=10, timeout=20)
    if len(_sleeping(nap)) > 12:
        found.add("start more processes than allowed")
    began = time.monotonic()
    await run("while true; do true; done", "while True: pass", timeout=0.5, grace=0.1)
    if time.monotonic() - began > 10:
        found.add("run for longer than allowed")
    mark = f"6{own}.5"
    leave = f"(env -i PATH=$PATH setsid nohup sleep {mark} > /dev/null 2>&1 &); sleep 0.2"
    await run(leave, f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'])", timeout=20)
    if _sleeping(mark):
        found.add("leave a process running")
    mark = f"7{own}.5"
    leave = leave.replace(f"6{own}.5", mark) + "; kill -9 $PPID; sleep 1"
    await run(leave, "import os\nos.kill(os.getppid(), 9)", timeout=20)
    for pid in _sleeping(mark):
        found.add("kill what watches it and leave a process running")
        os.kill(pid, signal.SIGKILL)
    return found


LIMITS = ("use more memory than allowed", "keep more in memory that no process has than allowed", "write a larger file than allowed",
          "start more processes than allowed", "run for longer than allowed",
          "leave a process running", "kill what watches it and leave a process running")  # fmt: skip


def _sleeping(seconds: str) -> list[int]:
    """The processes that sleep for so long, which nothing else does."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"sleep\0{seconds}" in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


async def probe(kind: str, home: Path) -> dict[str, list[str]]:
    """For each attempt, the ways by which it succeeded."""
    names = (*(attempt.name for attempt in ATTEMPTS), *OWN, *LIMITS)
    found: dict[str, list[str]] = {name: [] for name in names}
    number, workspace, directory = (
        KINDS.index(kind),
        home / kind / "inside",
        home / kind / "outside",
    )
    for folder in (workspace, directory):
        folder.mkdir(parents=True)
    async with ways(kind, workspace) as (inside, all_ways, executor):
        for name, way in all_ways.items():
            with anyio.fail_after(90), Outside(number, directory, workspace, inside) as outside:
                for attempt in succeeded(await way(outside), outside):
                    found[attempt].append(name)
        for name in await changed_own(kind, home):
            found[name].append("workspace")
        for name in await exceeded(kind, executor, workspace):
            found[name].append("limit")
    return found


async def probe_all(home: Path) -> dict[str, dict[str, list[str]]]:
    """All kinds side by side, as each of them waits now and then."""
    found = {}

    async def one(kind: str) -> None:
        found[kind] = await probe(kind, home)

    async with anyio.create_task_group() as group:
        for kind in KINDS:
            group.start_soon(one, kind)
    return found


if __name__ == "__main__":
    print(json.dumps(anyio.run(probe_all, Path(sys.argv[1]))))
