"""Load the command line's modules once, then fork a program from them for every request.

Run as a program, by any Python that has toolwright; its argument is the number of a socket.
"""

import ast
import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import os
import runpy
import signal
import socket
import struct
import sys
import tempfile
import termios
import threading
import time
import traceback
from collections.abc import Sequence
from typing import Any

_MODULES = (
    "anyio._backends._asyncio",
    "cyclopts.completion",
    "griffe",
    "prompt_toolkit",
    "rich.console",
    "toolwright.agent",
    "toolwright.backends.sql",
    "toolwright.builtin._human",
    "toolwright.cli._app",
    "toolwright.cli._chat",
    "toolwright.cli._run",
    "toolwright.cli._sessions",
    "toolwright.cli._tasks",
    "toolwright.cli._tool_commands",
    "toolwright.cli._worker",
    "toolwright.tasks",
    "toolwright.testing",
)
"""What most programs import; one that is not there is as missing as it is without us."""
_MORE = {
    "examples.tour": ("starlette.applications", "toolwright.serve._app", "uvicorn"),
    "uvicorn": ("fastapi", "toolwright.serve._app", "uvicorn"),
}
"""What certain programs import besides, loaded when one is asked for."""
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT = 0x8000


def _serve(server: socket.socket) -> None:
    while True:
        request, streams, _, _ = socket.recv_fds(server, 2**21, 3)
        if not request:
            return
        asked = ast.literal_eval(request.decode())
        _load(_MORE.get(asked["words"][1], ()))
        pid = _fork_sibling()
        if pid == 0:
            server.close()
            _become(asked, streams)
        for stream in set(streams):
            os.close(stream)
        server.send(struct.pack("i", pid))


def _fork_sibling() -> int:
    """`os.fork`, but the new process is a child of our parent, who can wait for it."""
    interpreter = ctypes.pythonapi  # holds the interpreter's lock, as `os.fork` does
    interpreter.PyOS_BeforeFork()
    flags = ctypes.c_long(_CLONE_PARENT | signal.SIGCHLD)
    pid = ctypes.PyDLL(None).syscall(ctypes.c_long(_CLONE[os.uname().machine]), flags, 0, 0, 0, 0)
    if pid == 0:
        interpreter.PyOS_AfterFork_Child()
    else:
        interpreter.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError("no process could be started")
    return pid


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Be the program, as if it had been started by itself; never returns."""
    code = 1
    try:
        _take_over(request, streams)
        atexit._clear()
        code = _run(request["words"], request["cwd"])
        threading._shutdown()  # type: ignore[missing-attribute]
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _take_over(request: dict[str, Any], streams: list[int]) -> None:
    if request["tty"]:
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    time.tzset()
    tempfile.tempdir = None
    os.chdir(request["cwd"])
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = sys.__stdin__ = _open(sys.stdin, "rb", at_once=False)
    sys.stdout = sys.__stdout__ = _open(sys.stdout, "wb", at_once)
    sys.stderr = sys.__stderr__ = _open(sys.stderr, "wb", at_once)


def _open(ours: Any, mode: str, at_once: bool) -> io.TextIOWrapper:
    """A standard stream as the interpreter opens it, with the encoding that it has given to us."""
    number = ours.fileno()
    raw: Any = open(number, mode, 0 if at_once else -1, closefd=False)  # noqa: SIM115 - to the end
    by_line = not at_once and (number == 2 or os.isatty(number))
    return io.TextIOWrapper(
        raw,
        encoding=ours.encoding,
        errors=ours.errors,
        line_buffering=by_line,
        write_through=at_once,
    )


def _run(words: list[str], cwd: str) -> int:
    """The exit code of a module or a script."""
    by_module = words[0] == "-m"
    name, arguments = (words[1], words[2:]) if by_module else (words[0], words[1:])
    sys.argv = [name, *arguments]
    sys.path[0] = cwd if by_module else os.path.dirname(os.path.abspath(name))
    try:
        if by_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    return 0


def _load(modules: Sequence[str]) -> None:
    gc.disable()
    sys.dont_write_bytecode = False
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    _load(_MODULES)
    assert threading.active_count() == 1, threading.enumerate()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _serve(socket.socket(fileno=int(sys.argv[1])))
