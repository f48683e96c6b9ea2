"""Give up rights for good, then become the command. Runs as a program in front of it.

Landlock takes away files, TCP, signals and abstract sockets. A seccomp filter, handed over in
hexadecimal, takes the system calls that reach around it. Changes of a file's mode, owner and times
are not Landlock's business and depend on a path, which no filter sees: the filter hands these to
the parent process, which stays outside as a supervisor and makes the change if the file is in a
writable directory. Arguments: `--ro PATH`, `--rw PATH`, `--network`, `--filter HEX`, `--supervised
NUMBER=CALL,…`, then `--` and the command.
"""

import array
import ctypes
import errno
import fcntl
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ABI_QUERY = 1
_RULE_PATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP = 0b11
_SCOPED = 0b11
"""Abstract unix sockets and signals."""

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER = 1, 8
_RECEIVE, _SEND, _STILL_VALID = 0xC0502100, 0xC0182101, 0x40082102
_CALL = struct.Struct("=QIIiIQ6Q")
"""struct seccomp_notif: id, pid, flags, number, architecture, instruction, arguments."""

_AT_FDCWD, _NOFOLLOW, _EMPTY_PATH = -100, 0x100, 0x1000
_NOW, _OMIT = 0x3FFFFFFF, 0x3FFFFFFE
_MODE_BITS = 0o1777
_PAGE = 4096


def main() -> None:
    """Confine a child, let it become the command, supervise it, and exit as it did."""
    readable, writable, network, program, calls, argv = _arguments(sys.argv[1:])
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        _become(argv, readable, writable, network, program, theirs)
    theirs.close()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # They are for the command; this ends with it.
    listener = _received_descriptor(ours)
    if listener is not None:
        _supervise(child, listener, calls, [path for path in writable if os.path.isdir(path)])
    _exit_as(os.waitpid(child, 0)[1])


def _arguments(
    words: list[str],
) -> tuple[list[str], list[str], bool, bytes, dict[int, str], list[str]]:
    end = words.index("--")
    options, argv = words[:end], words[end + 1 :]
    pairs = [word for word in options if word != "--network"]
    named = list(zip(pairs[::2], pairs[1::2], strict=True))
    readable = [path for name, path in named if name == "--ro"]
    writable = [path for name, path in named if name == "--rw"]
    program = bytes.fromhex(dict(named)["--filter"])
    numbered = (word.split("=") for word in dict(named)["--supervised"].split(","))
    calls = {int(number): call for number, call in numbered}
    return readable, writable, "--network" in options, program, calls, argv


def _become(
    argv: list[str],
    readable: list[str],
    writable: list[str],
    network: bool,
    program: bytes,
    supervisor: socket.socket,
) -> None:
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _landlock(readable, writable, network)
    _drop_capabilities()
    listener = _seccomp(program)
    descriptors = array.array("i", [listener])
    supervisor.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    os.close(listener)
    supervisor.close()
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(126 if isinstance(error, PermissionError) else 127)


def _landlock(readable: list[str], writable: list[str], network: bool) -> None:
    abi = _libc.syscall(_CREATE, None, 0, _ABI_QUERY)
    _check(abi, "landlock")
    everything = _ALL_BY_ABI[max(known for known in _ALL_BY_ABI if known <= abi)]
    tcp = _TCP if abi >= 4 and not network else 0
    scoped = _SCOPED if abi >= 6 else 0
    attributes = struct.pack("=QQQ", everything, tcp, scoped)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = _check(_libc.syscall(_CREATE, attributes, size, 0), "landlock_create_ruleset")
    for path in readable:
        _allow(ruleset, path, _READ & everything)
    for path in writable:
        _allow(ruleset, path, everything)
    _check(_libc.syscall(_RESTRICT, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    access = access if os.path.isdir(path) else access & _ON_FILES
    rule = struct.pack("=Qi", access, descriptor)
    _check(_libc.syscall(_ADD_RULE, ruleset, _RULE_PATH, rule, 0), f"landlock rule for {path}")
    os.close(descriptor)


def _drop_capabilities() -> None:
    """Root without capabilities: an owner of files and nothing more."""
    for number in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break
    header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    _check(_libc.capset(header, nothing), "capset")


def _seccomp(program: bytes) -> int:
    """Load the filter; returns the descriptor on which its questions arrive."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    number = _SECCOMP[platform.machine()]
    return _check(_libc.syscall(number, _SET_FILTER, _NEW_LISTENER, header), "seccomp")


# -- the supervisor -----------------------------------------------------------------------------


def _received_descriptor(connection: socket.socket) -> int | None:
    """The listener; None when the child ended before it had one."""
    with connection:
        _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(4))
    return array.array("i", ancillary[0][2])[0] if ancillary else None


def _supervise(child: int, listener: int, calls: dict[int, str], writable: list[str]) -> None:
    """Answer until the command has ended; what it left behind is ended by the launcher."""
    ended = os.pidfd_open(child)
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    poller.register(ended, select.POLLIN)
    roots = [os.path.realpath(path) for path in writable]
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        if ended in ready:
            return
        _answer_one(listener, calls, roots)


def _answer_one(listener: int, calls: dict[int, str], roots: list[str]) -> None:
    question = bytearray(_CALL.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, question)
    except OSError:
        return  # The caller is gone.
    identity, pid, _, number, _, _, *arguments = _CALL.unpack(question)
    problem = 0
    try:
        _change(calls[number], arguments, pid, roots, lambda: _is_waiting(listener, identity))
    except OSError as error:
        problem = error.errno or errno.EPERM
    except (ValueError, KeyError, OverflowError, struct.error):
        problem = errno.EINVAL
    try:
        fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", identity, 0, -problem, 0))
    except OSError:
        return


def _is_waiting(listener: int, identity: int) -> bool:
    """Whether the caller still waits; if not, its number may be another process's by now."""
    try:
        fcntl.ioctl(listener, _STILL_VALID, struct.pack("=Q", identity))
    except OSError:
        return False
    return True


def _change(
    call: str, arguments: list[int], pid: int, roots: list[str], is_waiting: Callable[[], bool]
) -> None:
    """Make the change that was asked for, on the very file that was looked at."""
    directory, path, follow, rest = _operands(call, arguments, pid)
    times = _memory(pid, rest[0], 16 if call == "utime" else 32) if _has_times(call, rest) else b""
    with _Opened(_opened(pid, directory, path, follow)) as descriptor:
        if not is_waiting():
            raise OSError(errno.ESRCH, "the caller is gone")
        place = f"/proc/self/fd/{descriptor}"
        real = os.readlink(place)
        if not any(real == root or real.startswith(f"{root}/") for root in roots):
            raise OSError(errno.EPERM, "outside")
        if "chmod" in call:
            os.chmod(place, rest[0] & _MODE_BITS)
        elif "chown" in call:
            _check_owner(place, rest)
        else:
            os.utime(place, ns=_two_times(call, times, os.stat(place)))


class _Opened:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *exc: object) -> None:
        os.close(self._descriptor)


def _operands(call: str, a: list[int], pid: int) -> tuple[int, str, bool, list[int]]:
    """Directory, path, whether to follow a link, and the arguments after these."""
    here = _AT_FDCWD
    match call:
        case "chmod" | "chown" | "utime" | "utimes":
            return here, _text(pid, a[0]), True, a[1:]
        case "lchown":
            return here, _text(pid, a[0]), False, a[1:]
        case "fchmod" | "fchown":
            return _signed(a[0]), "", True, a[1:]
        case "fchmodat" | "futimesat":
            return _signed(a[0]), _text(pid, a[1]) if a[1] else "", True, a[2:]
        case "fchmodat2" | "utimensat":
            flags = a[3]
        case _:
            flags = a[4]
    if flags & ~(_NOFOLLOW | _EMPTY_PATH):
        raise ValueError("unknown flags")
    path = _text(pid, a[1], empty=bool(flags & _EMPTY_PATH)) if a[1] else ""
    return _signed(a[0]), path, not flags & _NOFOLLOW, a[2:]


def _opened(pid: int, directory: int, path: str, follow: bool) -> int:
    """A descriptor of the file itself, as the caller would have reached it."""
    flags = os.O_PATH | os.O_CLOEXEC
    base = f"/proc/{pid}/cwd" if directory == _AT_FDCWD else f"/proc/{pid}/fd/{directory}"
    if not path:
        return os.open(base, flags)
    for name in ("/proc/self/", "/proc/thread-self/"):
        if path.startswith(name):
            path = f"/proc/{pid}/{path[len(name) :]}"
    with _Opened(os.open(base if not path.startswith("/") else "/", flags)) as start:
        return os.open(path, flags | (0 if follow else os.O_NOFOLLOW), dir_fd=start)


def _check_owner(place: str, wanted: list[int]) -> None:
    """The command has no right to give files away: only what changes nothing is a success."""
    found = os.stat(place)
    for number, present in zip(wanted[:2], (found.st_uid, found.st_gid), strict=True):
        if _signed(number) != -1 and number & 0xFFFFFFFF != present:
            raise PermissionError(errno.EPERM, "no right to change the owner")


def _has_times(call: str, rest: list[int]) -> bool:
    return "utim" in call and bool(rest[0])


def _two_times(call: str, given: bytes, found: os.stat_result) -> tuple[int, int]:
    """The times of access and of change, in nanoseconds; now, where none were given."""
    if not given:
        return time.time_ns(), time.time_ns()
    if call == "utime":
        access, change = struct.unpack("=qq", given)
        return access * 10**9, change * 10**9
    one, two, three, four = struct.unpack("=qqqq", given)
    if call != "utimensat":  # Microseconds rather than nanoseconds.
        return one * 10**9 + two * 1000, three * 10**9 + four * 1000
    return _moment(one, two, found.st_atime_ns), _moment(three, four, found.st_mtime_ns)


def _moment(seconds: int, nanoseconds: int, present: int) -> int:
    if nanoseconds == _OMIT:
        return present
    return time.time_ns() if nanoseconds == _NOW else seconds * 10**9 + nanoseconds


def _text(pid: int, address: int, *, empty: bool = False) -> str:
    """A path in the caller's memory; at most two pages are read."""
    data = _memory(pid, address, _PAGE - address % _PAGE)
    if b"\0" not in data:
        data += _memory(pid, address + len(data), _PAGE)
    if b"\0" not in data:
        raise OSError(errno.ENAMETOOLONG, "path")
    path = os.fsdecode(data.split(b"\0", 1)[0])
    if not path and not empty:
        raise OSError(errno.ENOENT, "empty path")
    return path


def _memory(pid: int, address: int, size: int) -> bytes:
    with _Opened(os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)) as descriptor:
        data = os.pread(descriptor, size, address)
    if not data:
        raise OSError(errno.EFAULT, "memory")
    return data


def _signed(number: int) -> int:
    return ctypes.c_int32(number & 0xFFFFFFFF).value


def _exit_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _libc.signal(number, None)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


def _check(result: int, what: str) -> int:
    if result < 0:
        os.write(2, f"sandbox: {what}: {os.strerror(ctypes.get_errno())}\n".encode())
        os._exit(125)
    return result


if __name__ == "__main__":
    main()
