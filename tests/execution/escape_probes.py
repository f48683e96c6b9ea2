"""Attempts to get out of a sandbox, or to use it up; run as a program, it prints what became of each.

Arguments: the kind of executor, its workspace, and a directory outside with a canary in it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio

from toolwright.backends import Executor, Finished, Limits, LocalExecutor, PortableSandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox

CANARY = "canary-7b1f"
SENTINEL = "98765.4321"
"""How long a process outside sleeps: an argument that nothing else has."""
Verdict = Literal["held", "open"]
KINDS: dict[str, Callable[[Path], Awaitable[Executor]]] = {
    "none": lambda workspace: LocalExecutor.open(workspace),
    "bubblewrap": lambda workspace: OsSandbox.open(workspace, Bubblewrap()),
    "landlock": lambda workspace: OsSandbox.open(workspace, Landlock()),
    "portable bash": lambda workspace: PortableSandbox.open(workspace),
    "portable python": lambda workspace: PortableSandbox.open(workspace),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """What is outside, and how to run something inside."""

    outside: Path
    workspace: Path
    execute: Callable[..., Awaitable[Finished]]
    python: bool
    """Whether code is Python rather than a command."""
    real: bool
    """Whether commands are processes."""
    sentinel: int

    async def shows(self, command: str, code: str, found: str = CANARY) -> Verdict:
        """Open when the output holds what should not be seen."""
        done = await self.execute(code if self.python else command)
        return "open" if found in done.stdout + (done.value or "") else "held"


async def read_outside(scene: Scene) -> Verdict:
    target = scene.outside / "canary"
    return await scene.shows(f"cat {target}", f"print(open('{target}').read())")


async def read_through_a_link(scene: Scene) -> Verdict:
    (scene.workspace / "link").unlink(missing_ok=True)
    (scene.workspace / "link").symlink_to(scene.outside / "canary")
    inside = "/workspace/link"
    return await scene.shows("cat link", f"print(open('{inside}').read())")


async def read_through_another_process(scene: Scene) -> Verdict:
    target = f"/proc/{scene.sentinel}/root{scene.outside}/canary"
    return await scene.shows(f"cat {target}", f"print(open('{target}').read())")


async def write_outside(scene: Scene) -> Verdict:
    target = scene.outside / "written"
    target.unlink(missing_ok=True)
    code = f"open('{target}', 'w').write('x')"
    await scene.execute(code if scene.python else f"echo x > {target}")
    return "open" if target.exists() else "held"


async def read_the_environment(scene: Scene) -> Verdict:
    return await scene.shows("env; cat /proc/*/environ", "import os\nprint(dict(os.environ))",
                             os.environ["PROBE_SECRET"])  # fmt: skip


async def connect_over_tcp(scene: Scene) -> Verdict:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"echo x > /dev/tcp/127.0.0.1/{port}; curl -sm 1 http://127.0.0.1:{port}/"
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {port}))"
        return await _reached(server, scene, command, code)


async def send_over_udp(scene: Scene) -> Verdict:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        code = f"import socket\nsocket.socket(2, 2).sendto(b'x', ('127.0.0.1', {port}))"
        return await _reached(server, scene, f"echo x > /dev/udp/127.0.0.1/{port}", code)


async def connect_to_a_unix_socket(scene: Scene) -> Verdict:
    return await _unix(scene, str(scene.outside / "socket"))


async def connect_to_an_abstract_socket(scene: Scene) -> Verdict:
    return await _unix(scene, f"\0probe-{os.getpid()}")


async def _unix(scene: Scene, address: str) -> Verdict:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        if not address.startswith("\0"):
            os.chmod(address, 0o777)
        server.listen()
        code = f"import socket\nsocket.socket(socket.AF_UNIX).connect({address!r})"
        try:
            return await _reached(server, scene, f"python3 -c {_quoted(code)}", code)
        finally:
            if not address.startswith("\0"):
                os.unlink(address)


async def _reached(server: socket.socket, scene: Scene, command: str, code: str) -> Verdict:
    server.setblocking(False)
    await scene.execute(code if scene.python else command)
    try:
        server.accept() if server.type == socket.SOCK_STREAM else server.recv(10)
    except BlockingIOError:
        return "held"
    return "open"


async def see_other_processes(scene: Scene) -> Verdict:
    code = f"print(open('/proc/{scene.sentinel}/cmdline').read())"
    return await scene.shows(f"ps axww; cat /proc/{scene.sentinel}/cmdline", code, SENTINEL)


async def signal_other_processes(scene: Scene) -> Verdict:
    victim = subprocess.Popen(["sleep", "60"])  # noqa: ASYNC220
    try:
        code = f"import os\nos.kill({victim.pid}, 9)"
        await scene.execute(code if scene.python else f"kill -9 {victim.pid}")
        victim.wait(0.3)
        return "open"
    except subprocess.TimeoutExpired:
        return "held"
    finally:
        victim.kill()
        victim.wait()


async def use_up_memory(scene: Scene) -> Verdict:
    limits = Limits(memory=150 * 2**20, timeout=20)
    code = "x = 'ab' * 400_000_000\nprint('got', 'it', len(x))"
    command = (
        f"python3 -c {_quoted(code)} || {{ x=$(yes | head -c 800000000); echo got it ${{#x}}; }}"
    )
    done = await scene.execute(code if scene.python else command, limits=limits)
    return "open" if "got it 800000000" in done.stdout else "held"


async def fill_a_file(scene: Scene) -> Verdict:
    limits = Limits(file_size=2**20, timeout=20)
    code = "open('/workspace/big', 'w').write('x' * 9_000_000)"
    await scene.execute(code if scene.python else "yes | head -c 9000000 > big", limits=limits)
    big = scene.workspace / "big"
    size = big.stat().st_size if big.exists() else 0
    big.unlink(missing_ok=True)
    return "open" if size > 2**20 else "held"


async def start_many_processes(scene: Scene) -> Verdict:
    limits = Limits(processes=10, timeout=20)
    nap = f"5.{os.getpid()}"
    command = f"for i in $(seq 60); do sleep {nap} & done; jobs | wc -l; echo all started"
    code = "import os\n[os.fork() for _ in range(60)]\nprint('all started')"
    done = await scene.execute(code if scene.python else f"{command}; sleep 1", limits=limits)
    started = sum(f"sleep\x00{nap}" in text for text in _command_lines())
    all_started = scene.real and "60\nall" in done.stdout and done.ended == "exited"
    return "open" if started > 12 or all_started else "held"


async def take_for_ever(scene: Scene) -> Verdict:
    limits = Limits(timeout=0.7, grace=0.1)
    began = time.monotonic()
    await scene.execute(
        "while True: pass" if scene.python else "while true; do true; done", limits=limits
    )
    return "held" if time.monotonic() - began < 10 else "open"


async def leave_something_running(scene: Scene) -> Verdict:
    ticks = scene.workspace / "ticks"
    ticks.unlink(missing_ok=True)
    loop = "while :; do echo x >> ticks; sleep 0.02; done"
    command = f"(env -i PATH=$PATH setsid nohup sh -c '{loop}' > /dev/null 2>&1 &); sleep 0.2"
    code = f"import subprocess\nsubprocess.Popen({loop!r}, shell=True)"
    await scene.execute(code if scene.python else command)
    before = ticks.stat().st_size if ticks.exists() else 0
    await anyio.sleep(0.15)
    after = ticks.stat().st_size if ticks.exists() else 0
    return "open" if after > before else "held"


async def mount_something(scene: Scene) -> Verdict:
    code = "import os\nos.system('id')\nprint('mounted')"
    command = "mkdir -p m && (mount -t tmpfs none m || unshare -Urm mount -t tmpfs none m) && echo mounted"
    verdict = await scene.shows(command, code, "mounted")
    umount = ["umount", str(scene.workspace / "m")]
    subprocess.run(umount, capture_output=True, check=False)  # noqa: ASYNC221
    return verdict


PROBES: dict[str, Callable[[Scene], Awaitable[Verdict]]] = {
    "read a file outside": read_outside,
    "read it through a link in the workspace": read_through_a_link,
    "read it through another process": read_through_another_process,
    "write a file outside": write_outside,
    "read secrets in the environment": read_the_environment,
    "connect over TCP": connect_over_tcp,
    "send over UDP": send_over_udp,
    "connect to a unix socket": connect_to_a_unix_socket,
    "connect to an abstract socket": connect_to_an_abstract_socket,
    "see other processes": see_other_processes,
    "signal other processes": signal_other_processes,
    "mount a file system": mount_something,
    "use more memory than allowed": use_up_memory,
    "write a larger file than allowed": fill_a_file,
    "start more processes than allowed": start_many_processes,
    "run for longer than allowed": take_for_ever,
    "leave a process running": leave_something_running,
}


def _quoted(text: str) -> str:
    # shlex.quote keeps the NUL of an abstract address out of the command only when it is escaped.
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text(errors="replace")
        except OSError:
            continue


@contextmanager
def a_process_outside() -> Iterator[int]:
    process = subprocess.Popen(["sleep", SENTINEL])
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


async def probe(kind: str, workspace: Path, outside: Path) -> dict[str, Verdict]:
    """Every probe on one kind of executor."""
    os.environ["PROBE_SECRET"] = "secret-in-the-environment"
    verdicts: dict[str, Verdict] = {}
    with a_process_outside() as sentinel:
        executor: Any = await KINDS[kind](workspace)
        async with executor:
            python = kind == "portable python"
            execute = executor.run_code if python else executor.run
            real = executor.capabilities.real_bash
            scene = Scene(outside, workspace, execute, python, real, sentinel)
            for name, attempt in PROBES.items():
                with anyio.fail_after(30):
                    verdicts[name] = await attempt(scene)
    return verdicts


if __name__ == "__main__":
    found = anyio.run(probe, sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    print(json.dumps(found))
