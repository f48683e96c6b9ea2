"""Give up rights for good, then become the command. Runs as a program in front of it.

Landlock takes away files, TCP, signals and abstract sockets; it leaves UDP, raw and named unix
sockets, and the system calls that reach around it, so a seccomp filter takes those. Arguments:
`--ro PATH`, `--rw PATH`, `--network`, then `--` and the command.
"""

import ctypes
import os
import platform
import struct
import sys

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 24, 38, 22
_SECCOMP_MODE_FILTER = 2
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

_MACHINES = {
    # audit architecture, and the numbers of: socket, then those refused altogether
    "x86_64": (
        0xC000003E,
        41,
        (101, 155, 161, 165, 166, 167, 168, 169, 172, 173, 175, 176, 179, 246, 248, 249, 250, 272,
         298, 300, 303, 304, 308, 310, 311, 312, 313, 320, 321, 323, 425, 426, 427, 428, 429, 430,
         432, 433, 438, 440, 442, 443),
    ),
    "aarch64": (
        0xC00000B7,
        198,
        (117, 39, 40, 41, 51, 89, 97, 104, 105, 106, 142, 217, 218, 219, 224, 225, 241, 262, 264,
         265, 268, 270, 271, 272, 273, 280, 282, 294, 425, 426, 427, 428, 429, 430, 432, 433, 438,
         440, 442, 443),
    ),
}  # fmt: skip
"""Refused: ptrace and process_vm_* (other processes), mount, pivot_root, chroot, swap, reboot,
modules, kexec, quota, keyrings, namespaces, bpf, perf, userfaultfd, kcmp, file handles, fanotify,
and io_uring, whose operations no filter sees."""


def main() -> None:
    """Confine this process and execute the command in its place."""
    readable, writable, network, argv = _arguments(sys.argv[1:])
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _landlock(readable, writable, network)
    _drop_capabilities()
    _seccomp(network)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(126 if isinstance(error, PermissionError) else 127)


def _arguments(words: list[str]) -> tuple[list[str], list[str], bool, list[str]]:
    end = words.index("--")
    options, argv = words[:end], words[end + 1 :]
    network = "--network" in options
    pairs = [word for word in options if word != "--network"]
    named = list(zip(pairs[::2], pairs[1::2], strict=True))
    readable = [path for name, path in named if name == "--ro"]
    return readable, [path for name, path in named if name == "--rw"], network, argv


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


def _seccomp(network: bool) -> None:
    program = _filter(*_MACHINES[platform.machine()], network=network)
    code = b"".join(program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def _filter(arch: int, socket: int, refused: tuple[int, ...], *, network: bool) -> list[bytes]:
    """A filter that refuses with EPERM; a foreign architecture's calls kill the process."""
    load, equal, above, answer = 0x20, 0x15, 0x35, 0x06
    allow, refuse, kill = 0x7FFF0000, 0x00050000 | 1, 0x80000000
    step = lambda code, yes, no, value: struct.pack("=HBBI", code, yes, no, value)  # noqa: E731
    program = [
        step(load, 0, 0, 4), step(equal, 1, 0, arch), step(answer, 0, 0, kill),
        step(load, 0, 0, 0), step(above, 0, 1, 0x40000000), step(answer, 0, 0, kill),
    ]  # fmt: skip
    for number in refused:
        program += [step(equal, 0, 1, number), step(answer, 0, 0, refuse)]
    families = (2, 10) if network else ()
    program += [step(equal, 0, 2 + len(families), socket), step(load, 0, 0, 16)]
    for position, family in enumerate(families):
        program.append(step(equal, len(families) - position, 0, family))
    return [*program, step(answer, 0, 0, refuse), step(answer, 0, 0, allow)]


def _check(result: int, what: str) -> int:
    if result < 0:
        os.write(2, f"sandbox: {what}: {os.strerror(ctypes.get_errno())}\n".encode())
        os._exit(125)
    return result


if __name__ == "__main__":
    main()
