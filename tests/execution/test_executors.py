"""Every executor passes the conformance suite, each check on a workspace of its own."""

import itertools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
import asyncssh
import pytest

from toolwright.backends import Executor, Limits, LocalExecutor, demand
from toolwright.backends.sandboxes import (
    Bubblewrap,
    Landlock,
    OsSandbox,
    PortableSandbox,
    Seatbelt,
    SshExecutor,
    Walls,
    open_executor,
    open_sandbox,
)
from toolwright.backends.sandboxes._seatbelt import profile
from toolwright.backends.sandboxes._walls import Room
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.testing import check_executor

pytestmark = pytest.mark.anyio


def fresh(tmp_path: Path) -> Callable[[], Path]:
    numbers = itertools.count()

    def make() -> Path:
        directory = tmp_path / f"workspace-{next(numbers)}"
        directory.mkdir()
        return directory

    return make


async def test_the_local_executor_conforms(tmp_path: Path) -> None:
    workspace = fresh(tmp_path)
    await check_executor(lambda: LocalExecutor.open(workspace()))


async def test_bubblewrap_conforms(tmp_path: Path) -> None:
    workspace = fresh(tmp_path)
    await check_executor(lambda: OsSandbox.open(workspace(), Bubblewrap()))


async def test_landlock_conforms(tmp_path: Path) -> None:
    workspace = fresh(tmp_path)
    await check_executor(lambda: OsSandbox.open(workspace(), Landlock()))


async def test_the_portable_sandbox_conforms(tmp_path: Path) -> None:
    workspace = fresh(tmp_path)
    await check_executor(lambda: PortableSandbox.open(workspace()))


@pytest.fixture
async def ssh_port(tmp_path: Path) -> AsyncIterator[int]:
    """An SSH server on a free port that runs what it is told, as sshd does."""

    async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
        shell = await anyio.open_process(
            ["/bin/sh", "-c", process.command or "true"], start_new_session=True
        )
        async with shell, anyio.create_task_group() as group:
            group.start_soon(_copy, shell.stdout, process.stdout)
            group.start_soon(_copy, shell.stderr, process.stderr)
            group.start_soon(_feed, process.stdin, shell.stdin)
            code = await shell.wait()
            await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        process.exit(code if code >= 0 else 128 - code)

    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[key], process_factory=handle, sftp_factory=True,
        encoding=None, server_factory=_NoPassword,
    )  # fmt: skip
    yield server.get_port()
    server.close()
    await server.wait_closed()


async def _feed(
    source: "asyncssh.SSHReader[bytes]", sink: "anyio.abc.ByteSendStream | None"
) -> None:
    assert sink is not None
    data = await source.read()
    try:
        await sink.send(data)
        await sink.aclose()
    except (anyio.BrokenResourceError, BrokenPipeError):
        return


class _NoPassword(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return False


async def _copy(
    source: "anyio.abc.ByteReceiveStream | None", sink: "asyncssh.SSHWriter[bytes]"
) -> None:
    assert source is not None
    try:
        async for chunk in source:
            sink.write(chunk)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, BrokenPipeError):
        return


async def test_ssh_conforms(tmp_path: Path, ssh_port: int) -> None:
    workspace = fresh(tmp_path)

    def connect() -> Awaitable[Executor]:
        return SshExecutor.open(
            "127.0.0.1", str(workspace()), port=ssh_port, known_hosts=None, username="ada"
        )

    await check_executor(connect)


async def test_exit_codes_over_ssh_are_those_of_the_command(tmp_path: Path, ssh_port: int) -> None:
    async with await SshExecutor.open(
        "127.0.0.1", str(tmp_path), port=ssh_port, known_hosts=None, username="ada"
    ) as executor:
        codes = (0, 3, 127, 128, 193, 200, 255)
        assert [(await executor.run(f"exit {code}")).exit_code for code in codes] == list(codes)
        killed = [
            await executor.run(f"kill -{number} $$; sleep 9", merge=number == 9)
            for number in (9, 11, 15)
        ]
        assert [(done.exit_code, done.ended) for done in killed] == [
            (-9, "exited"), (-11, "exited"), (-15, "exited"),
        ]  # fmt: skip
        assert (await executor.run("true", cwd="nowhere")).exit_code > 0


async def test_a_machine_that_cannot_be_reached_is_a_store_error() -> None:
    with pytest.raises(StoreError, match="Cannot connect"):
        await SshExecutor.open("127.0.0.1", port=1, known_hosts=None)


async def test_a_command_that_kills_its_launcher_is_swept_up_all_the_same(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path)
    tick = "while :; do echo x >> ticks; sleep 0.02; done"
    await executor.run(
        f"({tick}) & until [ -s ticks ]; do sleep 0.01; done; kill -9 $PPID; sleep 5"
    )
    before = (tmp_path / "ticks").stat().st_size
    await anyio.sleep(0.2)
    assert (tmp_path / "ticks").stat().st_size == before


async def test_secrets_in_the_environment_stay_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    done = await LocalExecutor(tmp_path).run("env")
    assert "sk-secret" not in done.stdout
    assert "PATH=" in done.stdout


async def test_too_many_processes_end_the_command(tmp_path: Path) -> None:
    limits = Limits(processes=10, timeout=20)
    done = await LocalExecutor(tmp_path).run("for i in $(seq 100); do sleep 60 & done; wait",
                                             limits=limits)  # fmt: skip
    assert (done.ended, done.ok) == ("processes", False)


async def test_memory_is_limited_per_process_and_for_all_together(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path)
    hog = "python3 -c 'import time; x = bytearray({}); x[::4096] = x[::4096]; time.sleep(20)'"
    limits = Limits(memory=200 * 2**20, timeout=20)
    one = await executor.run(hog.format(2**30), limits=limits)
    assert "MemoryError" in one.stderr
    many = await executor.run(" & ".join([hog.format(80 * 2**20)] * 4) + " & wait", limits=limits)
    assert many.ended == "memory"


@pytest.mark.parametrize(
    "walls", [None, Bubblewrap(), Landlock()], ids=["none", "bubblewrap", "landlock"]
)
async def test_what_a_command_is_given_to_read_it_cannot_write(
    tmp_path: Path, walls: Walls | None
) -> None:
    executor = LocalExecutor(tmp_path) if walls is None else await OsSandbox.open(tmp_path, walls)
    command = ("cat; echo x >&0; echo x > /proc/self/fd/0; echo x >> /dev/stdin; chmod 700 /proc/self/fd/0; "
               "truncate -s 9 /proc/self/fd/0; cat /proc/self/fd/0; stat -Lc %s /proc/self/fd/0")  # fmt: skip
    async with executor:
        done = await executor.run(command, stdin="hello\n")
    assert done.stdout == "hello\nhello\n6\n", done


HEADLESS = """
import ctypes, os, sys, threading, time
count, size, then = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def work():
    while open(f"/proc/{os.getpid()}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.001)
    open("up", "a").write(f"{os.getpid()}\\n")
    keep = bytearray(size)
    keep[::4096] = keep[::4096]
    time.sleep(60)
for number in range(count):
    if os.fork() == 0:
        os.setsid()
        threading.Thread(target=work).start()
        [os.close(fd) for fd in range(3)]
        ctypes.CDLL(None).pthread_exit(None)
    while not os.path.exists("up") or len(open("up").readlines()) <= number:
        time.sleep(0.001)
time.sleep(then)
"""
"""Leaves processes whose first threads have ended while others go on; the system calls these dead."""


def running(pid: int) -> bool:
    """Whether any thread of a process goes on."""
    try:
        stats = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return any(stat.rsplit(")", 1)[1].split()[0] not in ("Z", "X") for stat in stats)


def headless(count: int, *, size: int = 0, then: float = 20) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", HEADLESS, str(count), str(size), str(then)]


def left(directory: Path) -> list[int]:
    """Those of the processes that were started which go on."""
    started = [int(pid) for pid in (directory / "up").read_text().split()]
    assert started
    return [pid for pid in started if running(pid)]


@pytest.mark.parametrize(
    ("command", "limits", "ended"),
    [
        (headless(1, then=0), Limits(timeout=20), "exited"),
        (headless(4), Limits(timeout=20, processes=3), "processes"),
        # Enough for each alone, with the 128 MB that malloc may reserve for its thread.
        (headless(4, size=2**26), Limits(timeout=20, memory=13 * 2**24), "memory"),
    ],
    ids=["left behind", "processes", "memory"],
)
async def test_a_process_whose_first_thread_has_ended_is_counted_and_ended(
    tmp_path: Path, command: list[str], limits: Limits, ended: str
) -> None:
    done = await LocalExecutor(tmp_path).run(command, limits=limits)
    assert (done.ended, done.stderr) == (ended, "")
    assert left(tmp_path) == []


async def test_a_process_whose_first_thread_has_ended_ends_with_its_executor(
    tmp_path: Path,
) -> None:
    async with LocalExecutor(tmp_path) as executor:
        await executor.start(headless(1))
        with anyio.fail_after(20):
            while not (tmp_path / "up").exists():  # noqa: ASYNC110
                await anyio.sleep(0.01)
    assert left(tmp_path) == []


async def test_files_cpu_and_descriptors_are_limited(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path)
    await executor.run("head -c 100000 /dev/zero > big", limits=Limits(file_size=1000))
    assert (tmp_path / "big").stat().st_size == 1000
    busy = await executor.run("while :; do :; done", limits=Limits(cpu_seconds=1, timeout=20))
    assert (busy.ended, busy.exit_code) == ("exited", -9)
    files = await executor.run("ulimit -n", limits=Limits(open_files=33))
    assert files.stdout == "33\n"


async def test_the_whole_of_a_long_output_is_in_the_spill_file(tmp_path: Path) -> None:
    spill = tmp_path / "spilled.txt"
    done = await LocalExecutor(tmp_path).run("seq 1 5000", limits=Limits(output=100), spill=spill)
    assert done.spilled == spill
    assert spill.read_text().split() == [str(n) for n in range(1, 5001)]
    short = await LocalExecutor(tmp_path).run("echo hi", spill=tmp_path / "none.txt")
    assert (short.spilled, (tmp_path / "none.txt").exists()) == (None, False)


def test_limits_that_allow_nothing_are_refused_at_once() -> None:
    with pytest.raises(UsageError, match="timeout=0 allows nothing"):
        Limits(timeout=0)
    with pytest.raises(UsageError, match="memory=-1 allows nothing"):
        Limits(memory=-1)
    with pytest.raises(UsageError, match=r"grace=-0\.1 allows nothing"):
        Limits(grace=-0.1)


async def test_text_that_no_command_can_hold_is_told_to_the_model(tmp_path: Path) -> None:
    for executor in (LocalExecutor(tmp_path), await OsSandbox.open(tmp_path, Bubblewrap())):
        with pytest.raises(ToolError, match="The command has a NUL character"):
            await executor.run("echo a\0b")
        with pytest.raises(ToolError, match="The command has a NUL character"):
            await executor.start(["echo", "a\0b"])
        with pytest.raises(ToolError, match=r"^The command [^\[]+\.$"):  # Without a sandbox's own.
            await executor.run("echo a", cwd="a\0b")
        await executor.close()


async def test_a_directory_that_is_not_there_is_told_to_the_model(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no such directory"):
        await LocalExecutor(tmp_path).run("true", cwd="nowhere")


async def test_a_job_whose_program_dies_is_ended_by_its_launcher(tmp_path: Path) -> None:
    """A program that starts a job and is killed leaves nothing behind."""
    script = (
        "import anyio, os\n"
        "from toolwright.backends import LocalExecutor\n"
        "async def main():\n"
        f"    job = await LocalExecutor({str(tmp_path)!r}).start('echo $$ > pid; sleep 60')\n"
        f"    while not os.path.exists({str(tmp_path / 'pid')!r}): await anyio.sleep(0.01)\n"
        "    os.kill(os.getpid(), 9)\n"
        "anyio.run(main)\n"
    )
    await anyio.run_process([sys.executable, "-c", script], check=False)
    pid = int((tmp_path / "pid").read_text())
    with anyio.fail_after(30):
        while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110, ASYNC240
            await anyio.sleep(0.02)


async def test_capabilities_can_be_demanded_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not provide network_confined"):
        demand(LocalExecutor(tmp_path), "network_confined")
    with pytest.raises(UsageError, match="No such capability"):
        demand(LocalExecutor(tmp_path), "magic")
    with pytest.raises(UsageError, match="network_confined"):
        await open_sandbox(tmp_path, network=True, require=["network_confined"])
    with pytest.raises(UsageError, match="cannot confine"):
        await LocalExecutor.open(tmp_path, network=False)


async def test_without_a_sandbox_nothing_runs_unless_it_was_said_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: object) -> str:
        return "it is broken"

    for walls in (Bubblewrap, Landlock, Seatbelt):
        monkeypatch.setattr(walls, "probe", broken)
    with pytest.raises(StoreError, match="allow_unsandboxed=True"):
        await open_executor(tmp_path)
    executor = await open_executor(tmp_path, allow_unsandboxed=True)
    assert isinstance(executor, LocalExecutor)


async def test_landlock_stands_in_for_bubblewrap_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forbidden(self: object) -> str:
        return "no namespaces here"

    monkeypatch.setattr(Bubblewrap, "probe", forbidden)
    with pytest.raises(StoreError, match=r"which files exist outside.*walls=\[Bubblewrap"):
        await open_sandbox(tmp_path)
    async with await open_sandbox(tmp_path, walls=[Bubblewrap(), Landlock()]) as sandbox:
        assert sandbox.walls.name == "landlock"
        assert (await sandbox.run("echo hi > f; cat f")).stdout == "hi\n"


async def test_variables_that_would_act_outside_the_walls_are_refused(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        with pytest.raises(UsageError, match="outside its walls"):
            await sandbox.run("true", env={"LD_PRELOAD": "/workspace/evil.so"})
    with pytest.raises(UsageError, match="outside its walls"):
        await open_sandbox(tmp_path, env={"LD_LIBRARY_PATH": "."})


def test_the_macos_profile_denies_by_default_and_quotes_paths(tmp_path: Path) -> None:
    room = Room(workspace=tmp_path / 'a"b', scratch=tmp_path, packages=tmp_path)
    written = profile(room)
    assert written.splitlines()[1] == "(deny default)"
    assert 'a\\"b' in written
    assert "network" not in written


@pytest.mark.parametrize(
    "walls", [None, Bubblewrap(), Landlock()], ids=["none", "bubblewrap", "landlock"]
)
async def test_a_command_may_be_longer_than_what_a_system_takes_as_one_argument(
    tmp_path: Path, walls: Walls | None
) -> None:
    line = "öffentlicher Text 漢字 $x\n"
    command = f"cat > f <<'E'\n{line * 9000}E\nx=' a  b '; echo $x $# \"$0\" $LINENO; exit 3"
    executor = (
        LocalExecutor(tmp_path) if walls is None else await open_sandbox(tmp_path, walls=walls)
    )
    async with executor:
        done = await executor.run(command)
        short = await executor.run("x=' a  b '; echo $x $# \"$0\" 9003; exit 3")
        assert (done.stdout, done.stderr, done.exit_code) == (short.stdout, "", 3)
        assert (tmp_path / "f").read_text() == line * 9000
        with pytest.raises(ToolError, match="too long to be started"):
            await executor.run(["echo", "x" * 200_000])
