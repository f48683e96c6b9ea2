"""The filters for system calls: assembled right, for each machine, and held by the kernel."""

import errno
import random
import re
import struct
from pathlib import Path

import pytest

from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, Walls
from toolwright.backends.sandboxes._seccomp import (
    MACHINES,
    bubblewrap_filter,
    landlock_filter,
    number_of,
)

pytestmark = pytest.mark.anyio
ALLOW, KILL, NOTIFY, EPERM = 0x7FFF0000, 0x80000000, 0x7FC00000, 0x50000 | errno.EPERM
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def judged(
    program: bytes, machine: str, number: int, *arguments: int, arch: int | None = None
) -> int:
    """What the kernel would answer: the program, interpreted."""
    given = (*arguments, *[0] * (6 - len(arguments)))
    architecture = MACHINES[machine].architecture if arch is None else arch
    data = struct.pack("<iIQ6Q", number, architecture, 0, *given)
    steps = list(struct.iter_unpack("<HBBI", program))
    at, loaded = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        match code:
            case 0x20:
                [loaded] = struct.unpack_from("<I", data, value)
            case 0x06:
                return value
            case 0x15:
                at += yes if loaded == value else no
            case 0x25:
                at += yes if loaded > value else no
            case 0x45:
                at += yes if loaded & value else no
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    known = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)
    }
    calls = MACHINES[machine].calls
    assert {n: v for n, v in calls.items() if n in known} == {
        n: known[n] for n in calls if n in known
    }
    assert len(calls.keys() & known.keys()) > 70


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_calls_of_another_machine_of_x32_and_unknown_ones_never_pass(
    machine: str, kind: str
) -> None:
    program = program_of(kind, machine)
    harmless = {"x86_64": 0, "aarch64": 63}[machine]  # read
    assert judged(program, machine, harmless) == ALLOW
    assert judged(program, machine, harmless, arch=0x40000003) == KILL
    assert judged(program, machine, 0x40000000) == KILL
    assert judged(program, machine, 0x400001FF) == KILL
    assert judged(program, machine, 470) == 0x50000 | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_special_bits_of_files_are_refused_however_they_are_set(machine: str, kind: str) -> None:
    program = program_of(kind, machine)

    def ask(call: str, *arguments: int) -> int:
        number = number_of(call, machine)
        return EPERM if number is None else judged(program, machine, number, *arguments)

    plain = ALLOW if kind == "bubblewrap" else NOTIFY
    for special in (0o4755, 0o2755, 0o6000):
        assert ask("fchmod", 3, special) == EPERM
        assert ask("fchmodat", 3, 0, special) == EPERM
        assert ask("fchmodat2", 3, 0, special) == EPERM
        assert ask("chmod", 0, special) == EPERM
        assert ask("creat", 0, special) == EPERM
        assert ask("mknodat", 3, 0, special) == EPERM
        assert ask("openat", 3, 0, 0o101, special) == EPERM
        assert ask("openat", 3, 0, 0o20200002, special) == EPERM
        assert ask("open", 0, 0o101, special) == EPERM
    assert ask("fchmod", 3, 0o755) == plain
    assert ask("openat", 3, 0, 0o101, 0o644) == ALLOW
    assert ask("openat", 3, 0, 0, 0o4755) == ALLOW, "without creating, that is no mode"
    assert ask("openat2") == 0x50000 | errno.ENOSYS


def test_landlocks_filter_keeps_to_the_process_itself() -> None:
    program = landlock_filter(network=False, machine="x86_64")

    def ask(call: str, *arguments: int) -> int:
        number = number_of(call, "x86_64")
        assert number is not None
        return judged(program, "x86_64", number, *arguments)

    for call in ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setattr"):
        assert (ask(call, 0), ask(call, 4711)) == (ALLOW, EPERM)
    assert (ask("setpriority", 0, 0), ask("setpriority", 0, 1)) == (ALLOW, EPERM)
    assert ask("setpriority", 2, 0) == EPERM, "zero is then the whole user"
    assert (ask("ioprio_set", 1, 0), ask("ioprio_set", 3, 0)) == (ALLOW, EPERM)
    assert (ask("clone", 0x11), ask("clone", 0x10000011)) == (ALLOW, EPERM)
    assert (ask("ioctl", 0, 0x5413), ask("ioctl", 0, 0x5412)) == (ALLOW, EPERM)
    assert (ask("ioctl", 0, 0x5421), ask("ioctl", 0, 0x5401)) == (ALLOW, ALLOW)
    for call in ("ptrace", "shmget", "msgget", "semget", "mq_open", "keyctl", "add_key", "bpf",
                 "io_uring_setup", "process_vm_readv", "inotify_init1", "inotify_add_watch", "unshare", "capget"):  # fmt: skip
        assert ask(call) == EPERM
    assert ask("io_setup") == 0x50000 | errno.ENOSYS
    assert (ask("fcntl", 3, 1026), ask("fcntl", 3, 3)) == (EPERM, ALLOW), "watches of directories"
    assert ask("setxattr") == ask("lgetxattr") == 0x50000 | errno.EOPNOTSUPP
    for call in ("chmod", "fchmodat", "chown", "lchown", "utime", "utimensat", "fchownat"):
        assert ask(call) == NOTIFY
    assert ask("socket", 2) == EPERM


def test_with_a_network_there_are_internet_sockets_and_no_others() -> None:
    program = landlock_filter(network=True, machine="aarch64")
    assert [judged(program, "aarch64", 198, family) for family in (1, 2, 10, 16, 17)] == [
        EPERM, ALLOW, ALLOW, EPERM, EPERM,
    ]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_of_all_kinds_of_sockets_there_are_only_those_that_namespaces_hold(machine: str) -> None:
    program = bubblewrap_filter(network=False, machine=machine)
    single, pair = number_of("socket", machine), number_of("socketpair", machine)
    assert single is not None
    assert pair is not None
    families = range(64)
    assert [f for f in families if judged(program, machine, single, f) == ALLOW] == [1, 2, 10, 16]
    shared = bubblewrap_filter(network=True, machine=machine)
    assert [f for f in families if judged(shared, machine, single, f) == ALLOW] == [2, 10, 16]
    assert judged(shared, machine, pair, 1) == ALLOW
    assert [f for f in families if judged(program, machine, pair, f) == ALLOW] == [1]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_nobody_outside_is_made_to_wait_by_a_lease(machine: str, kind: str) -> None:
    number = number_of("fcntl", machine)
    assert number is not None
    program, whats = program_of(kind, machine), (*range(40), *range(1020, 1040))
    answers = {what: judged(program, machine, number, 3, what) for what in whats}
    watch = {1026: EPERM} if kind == "landlock" else {}
    refused = {what: answer for what, answer in answers.items() if answer != ALLOW}
    assert refused == {1024: EPERM, **watch}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_there_is_no_memory_that_belongs_to_no_process(machine: str, kind: str) -> None:
    program = program_of(kind, machine)
    for call in ("memfd_create", "memfd_secret"):
        assert judged(program, machine, MACHINES[machine].calls[call]) == 0x50000 | errno.ENOSYS
    segment = MACHINES[machine].calls["shmget"]
    for size in (4096, 5000, 2**20, 2**31, 2**32, 2**40 + 1, 2**63):
        assert judged(program, machine, segment, 1, size) == EPERM
    small = {judged(program, machine, segment, 1, size) for size in (0, 56, 4095)}
    assert small == {ALLOW if kind == "bubblewrap" else EPERM}


CHANGING = {
    "FS_IOC_SETFLAGS": 0x40086602, "FS_IOC32_SETFLAGS": 0x40046602, "FS_IOC_FSSETXATTR": 0x401C5820,
    "FS_IOC_SETVERSION": 0x40087602, "EXT4_IOC_SETVERSION_OLD": 0x40086604, "FICLONE": 0x40049409,
    "EXT4_IOC_MOVE_EXT": 0xC028660F, "FS_IOC_SETFSLABEL": 0x41009432, "FIDEDUPERANGE": 0xC0189436,
    "FS_IOC_ENABLE_VERITY": 0x40806685, "FS_IOC_SET_ENCRYPTION_POLICY": 0x800C6613,
    "FIFREEZE": 0xC0045877, "BLKROSET": 0x125D, "FIOSETOWN": 0x8901, "TIOCSETD": 0x5423,
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_behind_landlock_only_what_is_plain_can_be_done_to_an_open_file(machine: str) -> None:
    """Whatever kind of file system it is on, and however new the request."""
    program, number = landlock_filter(network=True, machine=machine), number_of("ioctl", machine)
    assert number is not None
    chance = random.Random(8)
    others = [chance.getrandbits(32) for _ in range(300)]
    others = [request for request in others if request >> 8 & 0xFF != ord("T")]
    for request in (*CHANGING.values(), *others):
        assert judged(program, machine, number, 3, request) == 0x50000 | errno.ENOTTY, hex(request)


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_what_can_only_be_read_cannot_be_changed_or_held_up(
    tmp_path: Path, walls: Walls
) -> None:
    workspace, readable = tmp_path / "workspace", tmp_path / "readable"
    workspace.mkdir()
    readable.mkdir()
    (readable / "f").write_text("x")
    code = f"""
import fcntl, socket, sys
def refused(work, *arguments):
    try:
        work(*arguments)
    except OSError:
        return True
file = open({str(readable / "f")!r})
print([name for name, request in {CHANGING}.items() if not refused(fcntl.ioctl, file, request, bytes(256))])
print(refused(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_RDLCK), refused(socket.socket, 40, 1))
print(not refused(socket.socketpair), fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_UNLCK)
"""
    async with await OsSandbox.open(workspace, walls, readable=[readable]) as sandbox:
        done = await sandbox.run(["python3", "-c", code])
    assert (done.stderr, done.stdout.splitlines()) == ("", ["[]", "True True", "True True"])


def program_of(kind: str, machine: str) -> bytes:
    if kind == "bubblewrap":
        return bubblewrap_filter(network=False, machine=machine)
    return landlock_filter(network=False, machine=machine)


async def test_behind_landlock_modes_and_times_can_be_changed_in_the_workspace_only(
    tmp_path: Path,
) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.write_text("x")
    outside.chmod(0o600)
    code = f"""
import os
def tried(work, *arguments, **named):
    try:
        work(*arguments, **named)
        return "done"
    except OSError as error:
        return os.strerror(error.errno)
open("f", "w").close(); os.symlink("f", "inside"); os.symlink({str(outside)!r}, "link")
fd = os.open("f", os.O_RDONLY); here = os.open(".", os.O_RDONLY)
print([tried(os.chmod, p, 0o751) for p in ("f", "inside", fd, {str(workspace)!r} + "/f")])
print(oct(os.stat("f").st_mode), tried(os.chmod, "f", 0o640, dir_fd=here), oct(os.stat("f").st_mode))
print([tried(os.utime, p, ns=(5, 7)) for p in ("f", fd)], os.stat("f").st_mtime_ns)
print(tried(os.utime, "inside", ns=(5, 9), follow_symlinks=False), os.stat("f").st_mtime_ns)
print(tried(os.utime, "f"), os.stat("f").st_mtime_ns > 10**18, tried(os.chown, "f", -1, -1))
print(tried(os.chmod, "nowhere", 0o600), tried(os.chmod, "", 0o600))
far = {str(outside)!r}
print({{tried(os.chmod, p, 0o666) for p in (far, "link", "../outside", f"/proc/self/cwd/link")}})
print({{tried(os.utime, p, (1, 1)) for p in (far, "link")}}, tried(os.chown, far, -1, -1))
print(tried(os.chmod, {str(tmp_path)!r}, 0o700), tried(os.chmod, "..", 0o700), tried(os.chown, "f", 1, 1))
os.unlink("f")
print(tried(os.fchmod, fd, 0o600))
"""
    before = outside.stat()
    async with await OsSandbox.open(workspace, Landlock()) as sandbox:
        done = await sandbox.run(["python3", "-c", code])
    no = "Operation not permitted"
    assert (done.stderr, done.stdout.splitlines()) == ("", [
        "['done', 'done', 'done', 'done']",
        "0o100751 done 0o100640",
        "['done', 'done'] 7",
        "done 7",
        "done True done",
        "No such file or directory No such file or directory",
        f"{{'{no}'}}",
        f"{{'{no}'}} {no}",
        f"{no} {no} {no}",
        "done",
    ])  # fmt: skip
    assert outside.stat() == before


async def test_a_command_behind_landlock_ends_as_it_would_without_a_supervisor(
    tmp_path: Path,
) -> None:
    async with await OsSandbox.open(tmp_path, Landlock()) as sandbox:
        assert (await sandbox.run("exit 7")).exit_code == 7
        assert (await sandbox.run("kill -SEGV $$")).exit_code == -11
        assert (await sandbox.run(["nothing-of-that-name"])).exit_code == 127
        asked = await sandbox.run("kill -9 $PPID; echo $?")
        assert asked.stdout == "1\n", "the supervisor is outside"
