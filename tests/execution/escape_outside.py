"""What is outside a sandbox during the attempts: files, processes, sockets; and what became of it."""

import contextlib
import ctypes
import os
import resource
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["Outside"]

CANARY = "canary-7b1f"
SENTINEL = "98765.4321"
"""How long a process outside sleeps: an argument that nothing else has."""
SECRET = "secret-in-the-environment"
SIZE = 7919
FILES = ("appended", "truncated", "deleted", "renamed", "mode", "linked-mode", "owner", "times",
         "attributes")  # fmt: skip
_libc = ctypes.CDLL(None, use_errno=True)
_ADD_KEY, _KEYCTL, _UNLINK, _USER_KEYRING = 248, 250, 9, -4
_VICTIM = (
    "import os, time; os.open('canary', os.O_RDONLY); b = bytearray(64); time.sleep(98765.4321)"
)


class Outside:
    """A scene that is set anew for each way in."""

    def __init__(self, number: int, directory: Path, workspace: Path, inside: str) -> None:
        """`number` tells apart the scenes of one program."""
        self._number = number
        self.directory = directory
        self.workspace = workspace
        self._inside = inside
        self._close = contextlib.ExitStack()

    def __enter__(self) -> "Outside":
        self._files()
        self._processes()
        self._memory()
        self._sockets()
        return self

    def __exit__(self, *exc: object) -> None:
        self._close.close()

    @property
    def names(self) -> dict[str, str | int]:
        """What attempts may refer to; nothing of it is what they look for."""
        return {
            "OUT": str(self.directory), "WS": self._inside, "PID": self.victims[0].pid,
            "VICTIM": self.victims[1].pid, "HOST": os.getpid(), "OTHER": self.victims[2].pid, "FD": 3,
            "ADDRESS": _an_address(self.victims[0].pid), "KEY": self.key, "SHM": self.shm,
            "TCP": self.tcp.getsockname()[1], "UDP": self.udp.getsockname()[1],
            "INTERFACE": _interface(), "OK": "escaped",
        }  # fmt: skip

    @property
    def hidden(self) -> dict[str, str]:
        """What they look for."""
        return {
            "CANARY": CANARY, "SENTINEL": SENTINEL, "SECRET": SECRET, "SIZE": str(SIZE),
            "OK": "escaped", "LISTED": "listed-name", "INTERFACE": _interface() or "no-interface",
            "OWNER": f"{os.geteuid()}:612", "NAME": socket.gethostname(), "KEY_NAME": f"key-{self.shm}",
        }  # fmt: skip

    def changed(self) -> set[str]:
        """The attempts that changed something out here."""
        out, mode = self.directory, lambda name: stat.S_IMODE((out / name).stat().st_mode)
        pid = self.victims[0].pid
        found = {
            "write a file": (out / "written").exists(),
            "write a file through a link": (out / "linked").exists(),
            "append to a file": (out / "appended").stat().st_size != 4,
            "truncate a file": (out / "truncated").stat().st_size == 0,
            "delete a file": not (out / "deleted").exists(),
            "rename a file": not (out / "renamed").exists(),
            "make a directory": (out / "made").exists(),
            "make a link": (out / "pointing").is_symlink(),
            "change a file's mode": mode("mode") != 0o600,
            "change a file's mode through a link": mode("linked-mode") != 0o600,
            "change a file's owner": (out / "owner").stat().st_uid != os.geteuid(),
            "change a file's times": (out / "times").stat().st_mtime < 100_000,
            "change a file's attributes": _attribute(out / "attributes", "user.k") == b"new",
            "leave a set-user-id file": self._special("setuid-1"),
            "leave a set-user-id file from the start": self._special("setuid-2"),
            "leave a set-group-id file by a new call": self._special("setuid-3"),
            "limit a process": resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == 77,
            "make a process nice": os.getpriority(os.PRIO_PROCESS, pid) == 15,
            "pin a process to one core": os.sched_getaffinity(pid) != os.sched_getaffinity(0),
            "kill a process": self._killed(1),
            "kill a process by its descriptor": self._killed(2),
            "leave shared memory": _ipc("shm", self.key + 1) is not None,
            "leave a message queue": _ipc("msg", self.key + 1) is not None,
            "leave semaphores": _ipc("sem", self.key + 1) is not None,
            "leave POSIX shared memory": Path(f"/dev/shm/{self.shm}-left").exists(),
            "leave a POSIX message queue": self._has_queue(),
            "connect to a unix socket outside": _reached(self.unix),
            "connect to an abstract socket": _reached(self.abstract),
            "connect over TCP": _reached(self.tcp),
            "send over UDP": _reached(self.udp),
        }
        return {name for name, is_open in found.items() if is_open}

    def _files(self) -> None:
        out = self.directory
        (out / "canary").write_text(CANARY.ljust(SIZE))
        (out / "listed-name").touch()
        (out / "owned").touch()
        (out / "owned").chmod(0o612)
        (out / "leading").symlink_to(CANARY)
        for name in FILES:
            (out / name).write_text("text")
        for name in ("mode", "linked-mode"):
            (out / name).chmod(0o600)
        with contextlib.suppress(OSError):
            os.setxattr(out / "attributes", "user.canary", CANARY.encode())
        for name, target in (("link", out / "canary"), ("up", out)):
            (self.workspace / name).unlink(missing_ok=True)
            (self.workspace / name).symlink_to(target)
        self._close.callback(self._clear)

    def _clear(self) -> None:
        subprocess.run(["umount", str(self.workspace / "m")], capture_output=True, check=False)
        for folder in (self.directory, self.workspace):
            for path in folder.iterdir():
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    def _processes(self) -> None:
        sleep = ["sleep", SENTINEL]
        environment = {"PATH": os.environ["PATH"], "PROBE_SECRET": SECRET}
        first = [sys.executable, "-I", "-S", "-c", _VICTIM]
        self.victims = [
            subprocess.Popen(argv, cwd=self.directory, env=environment)
            for argv in (first, sleep, sleep)
        ]
        for victim in self.victims:
            self._close.callback(victim.wait)
            self._close.callback(victim.kill)
        # While it starts, an interpreter has files of its own open there for a moment.
        while not _leads_to(f"/proc/{self.victims[0].pid}/fd/3", "canary"):
            os.sched_yield()

    def _memory(self) -> None:
        self.key = 0x7B000000 + os.getpid() % 0x80000 * 32 + self._number * 2
        self.shm = f"probe-{os.getpid()}-{self._number}"
        segment = _libc.shmget(self.key, 64, 0o1666)
        _libc.shmat.restype = ctypes.c_void_p
        address = _libc.shmat(segment, None, 0)
        ctypes.memmove(address, CANARY.encode(), len(CANARY))
        _libc.shmdt(ctypes.c_void_p(address))
        self._close.callback(_remove_ipc, self.key)
        Path(f"/dev/shm/{self.shm}").write_text(CANARY)
        name = f"key-{self.shm}".encode()
        key = _libc.syscall(_ADD_KEY, b"user", name, b"x", 1, ctypes.c_int(_USER_KEYRING))
        self._close.callback(_libc.syscall, _KEYCTL, _UNLINK, key, ctypes.c_int(_USER_KEYRING))
        for name in (self.shm, f"{self.shm}-left"):
            self._close.callback(Path(f"/dev/shm/{name}").unlink, missing_ok=True)

    def _sockets(self) -> None:
        def bound(family: int, kind: int, address: Any) -> socket.socket:
            made = self._close.enter_context(socket.socket(family, kind))
            made.bind(address)
            made.setblocking(False)
            if kind == socket.SOCK_STREAM:
                made.listen()
            return made

        self.tcp = bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.unix = bound(socket.AF_UNIX, socket.SOCK_STREAM, str(self.directory / "socket"))
        os.chmod(self.directory / "socket", 0o777)
        self.abstract = bound(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.shm}")

    def _special(self, name: str) -> bool:
        path = self.workspace / name
        return path.exists() and bool(path.stat().st_mode & 0o6000)

    def _killed(self, number: int) -> bool:
        try:
            self.victims[number].wait(0.1)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _has_queue(self) -> bool:
        runtime = ctypes.CDLL("librt.so.1")
        return runtime.mq_unlink(f"/{self.shm}".encode()) == 0


def _reached(server: socket.socket) -> bool:
    try:
        if server.type == socket.SOCK_STREAM:
            server.accept()[0].close()
        else:
            server.recv(10)
    except BlockingIOError:
        return False
    return True


def _attribute(path: Path, name: str) -> bytes:
    try:
        return os.getxattr(path, name)
    except OSError:
        return b""


def _interface() -> str:
    return next((name for _, name in socket.if_nameindex() if name != "lo"), "")


def _leads_to(link: str, name: str) -> bool:
    try:
        return Path(os.readlink(link)).name == name
    except OSError:
        return False


def _an_address(pid: int) -> int:
    return int(Path(f"/proc/{pid}/maps").read_text().split("-", 1)[0], 16)


def _ipc(kind: str, key: int) -> int | None:
    """The identifier of a segment, a queue or semaphores, if there are any."""
    rows = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
    found = [int(row.split()[1]) for row in rows if int(row.split()[0]) == key]
    return found[0] if found else None


def _remove_ipc(key: int) -> None:
    for number in (key, key + 1):
        if (segment := _ipc("shm", number)) is not None:
            _libc.shmctl(segment, 0, None)
        if (queue := _ipc("msg", number)) is not None:
            _libc.msgctl(queue, 0, None)
        if (semaphores := _ipc("sem", number)) is not None:
            _libc.semctl(semaphores, 0, 0)
