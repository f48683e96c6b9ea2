"""Run one command as its reaper, so that nothing it starts outlives it.

A program of its own, started with `python -I -S`: it imports as little as it can, because its
start is part of the cost of every command. Its arguments are the descriptor of a socket, limits as
`name=number` separated by commas, and the command. When the socket is closed at the other end,
because the caller wants it or has died, everything ends. A `p` that comes through it pauses
everything below, unless an `r` follows soon, which resumes it. It writes to the socket why it ended the
command, if it did, and exits as the command did.
"""

import ctypes
import os
import resource
import select
import sys
import time

_LINUX = sys.platform == "linux"
_SIGKILL, _SIGPIPE, _SIGTERM, _SIGXFSZ = 9, 13, 15, 25
_SIGSTOP, _SIGCONT = (19, 18) if _LINUX else (17, 19)
_PR_SET_CHILD_SUBREAPER = 36
_RESOURCES = {
    "memory": resource.RLIMIT_AS,
    "file_size": resource.RLIMIT_FSIZE,
    "cpu_seconds": resource.RLIMIT_CPU,
    "open_files": resource.RLIMIT_NOFILE,
}
_STATE, _PARENT, _THREADS = 0, 1, 17
"""Fields of `/proc/PID/stat`, counted behind the program's name."""
_SWEEP_SECONDS = 5.0
_PAUSE_SECONDS = 0.05
"""How long after it was asked for a pause begins: calls that follow each other shall not wait."""
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Start the command, watch it, end what is left of it, and exit as it did."""
    control, limits, argv = int(sys.argv[1]), _limits(sys.argv[2]), sys.argv[3:]
    if _LINUX:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        os.close(control)
        _become(argv, limits)
    status, reason = _watch(child, control, limits)
    if reason in ("timeout", "stopped"):
        _ask_to_end(limits["grace"])
    _exit_as(_sweep(child, status), reason, control)


def _limits(text: str) -> dict[str, float]:
    pairs = (item.split("=") for item in text.split(",") if item)
    return {name: float(number) for name, number in pairs}


def _become(argv: list[str], limits: dict[str, float]) -> None:
    """In the child: a session of its own, its limits, and then the command."""
    os.setsid()
    # Python ignores these two, and what is ignored stays so in the programs it starts.
    _libc.signal(_SIGPIPE, None)
    _libc.signal(_SIGXFSZ, None)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, kind in _RESOURCES.items():
        if name in limits:
            _, ceiling = resource.getrlimit(kind)
            wanted = int(limits[name])
            wanted = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
            resource.setrlimit(kind, (wanted, wanted))
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(126 if isinstance(error, PermissionError) else 127)


def _watch(child: int, control: int, limits: dict[str, float]) -> tuple[int | None, str | None]:
    """Wait until the command ends or must be ended: its wait status or None, and the reason."""
    counted = "memory" in limits or "processes" in limits
    tick = 0.02 if counted else 0.5
    deadline = time.monotonic() + limits["timeout"] if "timeout" in limits else None
    pause = _Pause()
    poller = select.poll()
    poller.register(control, select.POLLIN)
    if _LINUX:
        poller.register(os.pidfd_open(child), select.POLLIN)
    else:
        tick = 0.01
    while True:
        status = _reap(child)
        if status is not None:
            return status, None
        left = tick if deadline is None else min(tick, deadline - time.monotonic())
        if left <= 0:
            return None, "timeout"
        ready = poller.poll(pause.soon(left) * 1000)
        if any(fd == control for fd, _ in ready) and not pause.was_told(os.read(control, 64)):
            return None, "stopped"
        reason = _over_limit(limits) if counted else None
        if reason:
            return None, reason


class _Pause:
    """Everything below this process stands still, or is about to."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._stopped: set[int] = set()

    def was_told(self, said: bytes) -> bool:
        """Take the caller's last word; False when there was none, because everything is to end: what
        stands still would not hear that.
        """
        self._at = time.monotonic() + _PAUSE_SECONDS if said.endswith(b"p") else None
        if self._at is None:
            _kill(self._stopped, _SIGCONT)
            self._stopped = set()
        return said != b""

    def soon(self, left: float) -> float:
        """Begin the pause if it is time; how long to wait for the next thing, `left` at most."""
        if self._at is None:
            return left
        until = self._at - time.monotonic()
        if until > 0:
            return min(left, until)
        self._at, self._stopped = None, _stop_all()
        return left


def _over_limit(limits: dict[str, float]) -> str | None:
    pids = _descendants()
    if len(pids) - 1 > limits.get("processes", len(pids)):
        return "processes"
    if "memory" in limits and sum(map(_resident, pids)) > limits["memory"]:
        return "memory"
    return None


def _reap(child: int) -> int | None:
    """Collect everything that has ended; the wait status of the command if it is among it."""
    found = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return found
            if pid == child:
                found = status
    except ChildProcessError:
        return found


def _ask_to_end(grace: float) -> None:
    _kill(_descendants(), _SIGTERM)
    until = time.monotonic() + grace
    while time.monotonic() < until:
        if not any(_signal(pid, 0) for pid in _descendants()):
            return
        time.sleep(0.01)


def _sweep(child: int, status: int | None) -> int:
    """Kill until nothing is left; returns the wait status of the command.

    The command's own group goes first: the kernel does that in one step, which no fork can outrun.
    """
    if status is not None and _is_childless():
        return status
    until = time.monotonic() + _SWEEP_SECONDS
    _signal_group(child, _SIGKILL)
    while time.monotonic() < until:
        pids = _stop_all()
        _kill(pids, _SIGKILL)
        ended = _reap(child)
        status = ended if ended is not None else status
        if not pids:
            break
        time.sleep(0.002)
    return _SIGKILL if status is None else status


def _is_childless() -> bool:
    """Whether nothing is left at all: what loses its parent becomes a child of this process."""
    if not _LINUX:
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _stop_all() -> set[int]:
    """Stop all descendants before any is killed: a process that forks cannot outrun this."""
    seen: set[int] = set()
    while True:
        new = set(_descendants()) - seen
        if not new:
            return seen
        _kill(new, _SIGSTOP)
        seen |= new


def _kill(pids: "list[int] | set[int]", number: int) -> None:
    for pid in pids:
        _signal(pid, number)


def _descendants() -> list[int]:
    """All processes below this one, whatever session, group or name they took."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found, queue = [], [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _parents() -> list[tuple[int, int]]:
    if not _LINUX:
        with os.popen("ps -axo pid=,ppid=") as lines:
            return [(int(pid), int(parent)) for pid, parent in map(str.split, lines)]
    pairs = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rsplit(b")", 1)[1].split()
            except OSError:
                continue
            # The state is that of the first thread: others may go on when that one has ended.
            if fields[_STATE] != b"Z" or int(fields[_THREADS]) > 1:
                pairs.append((int(name), int(fields[_PARENT])))
    return pairs


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except OSError:
        return  # All of it has ended.


def _signal(pid: int, number: int) -> bool:
    """Send a signal (0: only ask); False when there is no such process, or it is not ours."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def _resident(pid: int) -> int:
    """What its threads share; one that has ended shows none of it."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/statm", "rb") as file:
                if pages := int(file.read().split()[1]):
                    return pages * resource.getpagesize()
    except OSError:
        return 0
    return 0


def _exit_as(status: int, reason: str | None, control: int) -> None:
    if reason:
        try:
            os.write(control, reason.encode())
        except OSError:
            os._exit(1)  # Nobody is left to hear it.
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _libc.signal(number, None)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    main()
