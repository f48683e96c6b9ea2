"""Filters for system calls, assembled for the kernel: what namespaces and Landlock leave open.

A filter is a list of rules; the first that fits a call decides, and a call that none fits is
allowed. Calls of another architecture, of x32, and newer than those known here never pass.
"""

import errno
import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "MACHINES",
    "bubblewrap_filter",
    "interpreter_filter",
    "landlock_filter",
    "number_of",
    "supervised_calls",
]

_ALLOW, _KILL, _NOTIFY, _ERROR = 0x7FFF0000, 0x80000000, 0x7FC00000, 0x00050000
_LOAD, _EQUAL, _ABOVE, _SET, _ANSWER = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_NEWEST = 469
"""The last call that was looked at; later ones are answered as an older kernel would."""

_SPECIAL_BITS = 0o6000
"""Set-user-id and set-group-id: a file with one is a way to keep rights outside."""
_CREATING = 0o100 | 0o20000000
"""O_CREAT and O_TMPFILE: only then is there a mode among the arguments."""
_NAMESPACES = 0x7E020080
_INPUT_IOCTLS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: type into the terminal of somebody else."""
_PLAIN_IOCTLS = (
    0x5401, 0x5402, 0x5403, 0x5404, 0x5405, 0x5409, 0x540A, 0x540B,  # TCGETS … TCFLSH
    0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414,  # TIOCSCTTY … TIOCSWINSZ
    0x541B, 0x5421, 0x5422, 0x5429, 0x5441, 0x80045430, 0x40045431,  # FIONREAD … TIOCSPTLCK
    0x5450, 0x5451, 0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D,  # FIONCLEX … TCSETSF2
)  # fmt: skip
"""About terminals, pipes and descriptors. Others change a file through a descriptor to read it."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_SET_LEASE = 1024
"""Of a file that can be read: whoever opens it to write waits, for 45 seconds."""

_WATCH = 1026
"""Of a directory that can be read: F_NOTIFY, from before inotify."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition on one half of an argument, the lower one if not said otherwise."""

    argument: int
    kind: Literal["is", "is not", "has"]
    value: int
    upper: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    call: str
    action: int
    tests: tuple[_Test, ...] = ()


_BEYOND_A_PAGE = (_Test(1, "has", 0xFFFFF000), _Test(1, "has", 0xFFFFFFFF, upper=True))


def bubblewrap_filter(*, network: bool, machine: str = "") -> bytes:
    """What namespaces do not hold: keyrings, terminals, special bits, leases, other networks.

    With the machine's `network`, its unix sockets that have a name and no file are reachable as well:
    then there are none at all.
    """
    own = [_refusal("socket", _Test(0, "is", _UNIX))] if network else []
    return _assembled(machine or platform.machine(), [*_everywhere(), *own])


def landlock_filter(*, network: bool, machine: str = "") -> bytes:
    """All that bubblewrap's has, and what a process without namespaces could still reach.

    Changes of modes, owners and times are handed to the supervisor, who sees the path.
    """
    return _assembled(
        machine or platform.machine(), [*_everywhere(), *_without_namespaces(network)]
    )


def interpreter_filter(*, network: bool, machine: str = "") -> bytes:
    """For an interpreter that needs no programs, no other processes and at most the internet."""
    rules = [*_everywhere(), *_refused("execve execveat"), *_without_namespaces(network)]
    own = [rule for rule in rules if rule.action != _NOTIFY]
    return _assembled(machine or platform.machine(), own)


def supervised_calls(machine: str = "") -> dict[int, str]:
    """The calls that `landlock_filter` hands to the supervisor, by number."""
    known = MACHINES[machine or platform.machine()].calls
    return {known[call]: call for call in _SUPERVISED.split() if call in known}


def number_of(call: str, machine: str = "") -> int | None:
    """A system call's number; None where the machine does not have it."""
    return MACHINES[machine or platform.machine()].calls.get(call)


def _everywhere() -> list[_Rule]:
    nothing = _ERROR | errno.ENOSYS
    return [
        *_refused("add_key request_key keyctl bpf perf_event_open userfaultfd io_uring_setup "
                  "io_uring_enter io_uring_register syslog kexec_load kexec_file_load init_module "
                  "finit_module delete_module open_by_handle_at name_to_handle_at"),
        # Their arguments are in memory, where a filter cannot look; programs use the older ones.
        *(_Rule(call, nothing) for call in ("openat2", "clone3")),
        # Memory that belongs to no process, so that no limit would count it.
        *(_Rule(call, nothing) for call in ("memfd_create", "memfd_secret")),
        # Its places are counted for the whole machine.
        _Rule("io_setup", nothing),
        *(_refusal("shmget", test) for test in _BEYOND_A_PAGE),
        *(_refusal(call, _Test(mode, "has", _SPECIAL_BITS)) for call, mode in _MODES.items()),
        *(_refusal(call, _Test(flags, "has", _CREATING), _Test(flags + 1, "has", _SPECIAL_BITS))
          for call, flags in (("open", 1), ("openat", 2))),
        *(_refusal("ioctl", _Test(1, "is", number)) for number in _INPUT_IOCTLS),
        _refusal("fcntl", _Test(1, "is", _SET_LEASE)),
        # Of the others, some do not know namespaces: AF_VSOCK reaches the machine's own host.
        _refusal("socket", *_none_of(0, _UNIX, _INET, _INET6, _NETLINK)),
        _refusal("socketpair", *_none_of(0, _UNIX)),
        _refusal("clone", _Test(0, "has", _NAMESPACES)),
    ]  # fmt: skip


_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1,
          "mknodat": 2}  # fmt: skip
"""Calls with a mode, and which argument it is."""
_ATTRIBUTES = tuple(
    call
    for verb in ("set", "get", "list", "remove")
    for call in (f"{verb}xattr", f"l{verb}xattr", f"f{verb}xattr", f"{verb}xattrat")
)
"""Extended attributes: answered as by a file system that has none."""
_SUPERVISED = ("chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes "
               "futimesat utimensat")  # fmt: skip


def _without_namespaces(network: bool) -> list[_Rule]:
    none = _ERROR | errno.EOPNOTSUPP
    families = _none_of(0, _INET, _INET6) if network else ()
    return [
        *_refused("ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp "
                  "pidfd_getfd get_robust_list migrate_pages move_pages "
                  "shmget shmat shmctl shmdt semget semop semctl semtimedop "
                  "msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive "
                  "mq_notify mq_getsetattr "
                  "mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen "
                  "fsconfig fsmount fspick mount_setattr statmount listmount unshare setns "
                  "swapon swapoff reboot quotactl quotactl_fd acct iopl ioperm "
                  "fanotify_init fanotify_mark inotify_init inotify_init1 inotify_add_watch "
                  "lookup_dcookie nfsservctl file_getattr file_setattr capget"),
        _refusal("fcntl", _Test(1, "is", _WATCH)),
        *(_Rule(call, none) for call in _ATTRIBUTES),
        *(_refusal(call, _Test(0, "is not", 0)) for call in _ON_A_PROCESS),
        *(_refusal(call, _Test(argument, "is not", value)) for call, process in _PRIORITIES
          for argument, value in ((0, process), (1, 0))),
        _Rule("ioctl", _ERROR | errno.ENOTTY, _none_of(1, *_PLAIN_IOCTLS)),
        _refusal("socket", *families),
        *(_Rule(call, _NOTIFY) for call in _SUPERVISED.split()),
    ]  # fmt: skip


_ON_A_PROCESS = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam",
                 "sched_setattr")  # fmt: skip
"""Calls about a process that is named first, where zero is the caller itself."""
_PRIORITIES = (("setpriority", 0), ("ioprio_set", 1))
"""Calls about a process, a group or a user: what stands for a process, and then its number."""


def _none_of(argument: int, *values: int) -> tuple[_Test, ...]:
    return tuple(_Test(argument, "is not", value) for value in values)


def _refused(calls: str) -> list[_Rule]:
    return [_refusal(call) for call in calls.split()]


def _refusal(call: str, *tests: _Test) -> _Rule:
    return _Rule(call, _ERROR | errno.EPERM, tests)


def _assembled(machine: str, rules: Iterable[_Rule]) -> bytes:
    known = MACHINES[machine]
    program = [
        _step(_LOAD, _ARCHITECTURE), _step(_EQUAL, known.architecture, yes=1), _step(_ANSWER, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_ABOVE, _X32 - 1, no=1), _step(_ANSWER, _KILL),
        _step(_ABOVE, _NEWEST, no=1), _step(_ANSWER, _ERROR | errno.ENOSYS),
    ]  # fmt: skip
    for rule in rules:
        if (number := known.calls.get(rule.call)) is not None:
            program += _steps(number, rule)
    return b"".join([*program, _step(_ANSWER, _ALLOW)])


def _steps(number: int, rule: _Rule) -> list[bytes]:
    """If it is this call and all tests hold, answer; otherwise go on behind the last step."""
    if not rule.tests:
        return [_step(_EQUAL, number, no=1), _step(_ANSWER, rule.action)]
    body: list[bytes] = []
    left = 2 * len(rule.tests)
    for test in rule.tests:
        body.append(_step(_LOAD, _ARGUMENTS + 8 * test.argument + 4 * test.upper))
        left -= 2
        # Behind the remaining tests and the answer, where the number is loaded again.
        body.append(_jump(test, left + 1))
    body += [_step(_ANSWER, rule.action), _step(_LOAD, _NUMBER)]
    return [_step(_EQUAL, number, no=len(body)), *body]


def _jump(test: _Test, away: int) -> bytes:
    match test.kind:
        case "is":
            return _step(_EQUAL, test.value, no=away)
        case "is not":
            return _step(_EQUAL, test.value, yes=away)
        case "has":
            return _step(_SET, test.value, no=away)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


@dataclass(frozen=True, slots=True)
class _Machine:
    architecture: int
    """As the kernel's audit names it."""
    calls: dict[str, int]


def _named(text: str) -> dict[str, int]:
    words = text.split()
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}


_SINCE_424 = (
    "io_uring_setup 425 io_uring_enter 426 io_uring_register 427 open_tree 428 move_mount 429 "
    "fsopen 430 fsconfig 431 fsmount 432 fspick 433 clone3 435 openat2 437 pidfd_getfd 438 "
    "process_madvise 440 mount_setattr 442 quotactl_fd 443 memfd_secret 447 process_mrelease 448 "
    "fchmodat2 452 "
    "statmount 457 listmount 458 setxattrat 463 getxattrat 464 listxattrat 465 removexattrat 466 "
    "open_tree_attr 467 file_getattr 468 file_setattr 469 "
)
"""The same on all machines."""

MACHINES = {
    "x86_64": _Machine(0xC000003E, _named(
        _SINCE_424 +
        "io_setup 206 "
        "open 2 ioctl 16 shmget 29 shmat 30 shmctl 31 socket 41 socketpair 53 clone 56 semget 64 "
        "semop 65 semctl 66 shmdt 67 msgget 68 msgsnd 69 msgrcv 70 msgctl 71 fcntl 72 creat 85 "
        "chmod 90 fchmod 91 chown 92 fchown 93 lchown 94 ptrace 101 syslog 103 utime 132 mknod 133 "
        "setpriority 141 capget 125 "
        "sched_setparam 142 sched_setscheduler 144 pivot_root 155 chroot 161 acct 163 mount 165 "
        "umount2 166 swapon 167 swapoff 168 reboot 169 iopl 172 ioperm 173 init_module 175 "
        "delete_module 176 quotactl 179 nfsservctl 180 setxattr 188 lsetxattr 189 fsetxattr 190 "
        "getxattr 191 lgetxattr 192 fgetxattr 193 listxattr 194 llistxattr 195 flistxattr 196 "
        "removexattr 197 lremovexattr 198 fremovexattr 199 sched_setaffinity 203 "
        "lookup_dcookie 212 semtimedop 220 utimes 235 mq_open 240 mq_unlink 241 mq_timedsend 242 "
        "mq_timedreceive 243 mq_notify 244 mq_getsetattr 245 kexec_load 246 add_key 248 "
        "request_key 249 keyctl 250 ioprio_set 251 inotify_init 253 inotify_add_watch 254 migrate_pages 256 "
        "openat 257 mknodat 259 fchownat 260 futimesat 261 fchmodat 268 unshare 272 "
        "get_robust_list 274 move_pages 279 utimensat 280 inotify_init1 294 perf_event_open 298 "
        "fanotify_init 300 "
        "fanotify_mark 301 prlimit64 302 name_to_handle_at 303 open_by_handle_at 304 setns 308 "
        "process_vm_readv 310 process_vm_writev 311 kcmp 312 finit_module 313 sched_setattr 314 "
        "memfd_create 319 kexec_file_load 320 bpf 321 userfaultfd 323 execve 59 execveat 322"
    )),
    "aarch64": _Machine(0xC00000B7, _named(
        _SINCE_424 +
        "io_setup 0 setxattr 5 lsetxattr 6 fsetxattr 7 getxattr 8 lgetxattr 9 fgetxattr 10 listxattr 11 "
        "llistxattr 12 flistxattr 13 removexattr 14 lremovexattr 15 fremovexattr 16 "
        "lookup_dcookie 18 fcntl 25 inotify_init1 26 inotify_add_watch 27 ioctl 29 ioprio_set 30 mknodat 33 "
        "umount2 39 "
        "mount 40 pivot_root 41 nfsservctl 42 chroot 51 fchmod 52 fchmodat 53 fchownat 54 "
        "fchown 55 openat 56 quotactl 60 utimensat 88 acct 89 capget 90 unshare 97 get_robust_list 100 "
        "kexec_load 104 init_module 105 delete_module 106 syslog 116 ptrace 117 "
        "sched_setparam 118 sched_setscheduler 119 sched_setaffinity 122 setpriority 140 "
        "reboot 142 mq_open 180 mq_unlink 181 mq_timedsend 182 mq_timedreceive 183 mq_notify 184 "
        "mq_getsetattr 185 msgget 186 msgctl 187 msgrcv 188 msgsnd 189 semget 190 semctl 191 "
        "semtimedop 192 semop 193 shmget 194 shmctl 195 shmat 196 shmdt 197 socket 198 socketpair 199 "
        "add_key 217 request_key 218 keyctl 219 clone 220 swapon 224 swapoff 225 "
        "migrate_pages 238 move_pages 239 perf_event_open 241 prlimit64 261 fanotify_init 262 "
        "fanotify_mark 263 name_to_handle_at 264 open_by_handle_at 265 setns 268 "
        "process_vm_readv 270 process_vm_writev 271 kcmp 272 finit_module 273 sched_setattr 274 "
        "memfd_create 279 bpf 280 userfaultfd 282 kexec_file_load 294 execve 221 execveat 281"
    )),
}  # fmt: skip
"""The calls that a rule is about, by machine."""
