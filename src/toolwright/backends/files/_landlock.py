"""Start a program that can read nothing but what it is given, on kernels that have Landlock.

A check before a program opens a path can be outrun by whoever swaps a directory for a link. The
kernel's own check cannot. Landlock binds the thread that asks for it and what that thread starts,
so each program is started by a thread of its own.
"""

import ctypes
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from threading import Thread
from typing import Any

__all__ = ["is_confining", "start_confined"]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIRECTORY = 1 << 2, 1 << 3
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_NEEDED = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
              "/etc/ld.so.preload", "/dev/null")  # fmt: skip
"""What any program opens when it starts; there are no secrets in these."""


def start_confined(
    command: Sequence[str], readable: Iterable[str], **settings: Any
) -> subprocess.Popen[bytes]:
    """`subprocess.Popen(command, **settings)`, which can open only what is below `readable`.

    Where the kernel cannot do this, the program is started without it.
    """
    paths = (*readable, command[0], *_NEEDED) if is_confining(command[0]) else None
    return _start(command, paths, settings)


@cache
def is_confining(program: str) -> bool:
    """Whether this kernel confines, and lets this program start nevertheless."""
    if not sys.platform.startswith("linux"):
        return False
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        process = _start([program, "--version"], (program, *_NEEDED), quiet)
    except OSError:
        return False
    return process.wait() == 0


def _start(
    command: Sequence[str], readable: Iterable[str] | None, settings: dict[str, Any]
) -> subprocess.Popen[bytes]:
    outcome: list[subprocess.Popen[bytes] | OSError] = []

    def work() -> None:
        try:
            if readable is not None:
                _confine_this_thread(readable)
            outcome.append(subprocess.Popen(command, **settings))
        except OSError as error:
            outcome.append(error)

    thread = Thread(target=work, name="toolwright-confined-start")
    thread.start()
    thread.join()
    if isinstance(outcome[0], OSError):
        raise outcome[0]
    return outcome[0]


def _confine_this_thread(readable: Iterable[str]) -> None:
    ruleset = _call(_CREATE_RULESET, struct.pack("=Q", _READ_FILE | _READ_DIRECTORY), 8, 0)
    try:
        for path in readable:
            _allow(ruleset, path)
        _checked(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        access = _READ_FILE | _READ_DIRECTORY if is_directory else _READ_FILE
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: int | bytes) -> int:
    return _checked(_libc().syscall(ctypes.c_long(number), *arguments))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refused")
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
