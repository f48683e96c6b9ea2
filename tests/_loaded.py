"""Start Python programs in milliseconds: forked from a process that has loaded what they import."""

import functools
import os
import pty
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pexpect
from ptyprocess import PtyProcess

__all__ = ["LoadedProgram", "LoadedTerminal", "run_loaded"]

_SERVER = Path(__file__).with_name("_loading.py")
_SYSTEM_CALLS = {"x86_64", "aarch64"}
"""Machines on which the server can give its children to us."""


class LoadedProgram(subprocess.Popen[str]):
    """`subprocess.Popen` for `[python, "-m", module, *words]` or `[python, script, *words]`.

    The process is our child and has its own streams, directory, environment and signals, but not
    the interpreter's own start: what depends on that (`PYTHON…` variables, another locale, closed
    streams) is for `subprocess` itself.
    """

    def _execute_child(self, args: Any, *options: Any) -> None:
        if not _can_load():
            super()._execute_child(args, *options)  # type: ignore[missing-attribute]
            return
        cwd, env, pipes = options[4], options[5], options[9:15]
        ours = [
            mine if mine != -1 else stream
            for stream, mine in enumerate(pipes[i] for i in (0, 3, 5))
        ]
        python, *words = map(os.fspath, args)
        self.pid = _server(python).start(words, cwd, env, ours)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[missing-attribute]


def run_loaded(
    command: Sequence[str | Path], *, cwd: Path, env: dict[str, str], input: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end, with `input` piped in."""
    pipe = subprocess.PIPE
    with LoadedProgram(
        command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as program:
        try:
            out, err = program.communicate(input, timeout=60)
        except BaseException:
            program.kill()
            raise
    return subprocess.CompletedProcess(command, program.returncode, out, err)


class LoadedTerminal(pexpect.spawn):
    """`pexpect.spawn` of such a program, in a terminal of its own."""

    def _spawnpty(self, args: list[bytes], **options: Any) -> PtyProcess:
        if not _can_load():
            return super()._spawnpty(args, **options)  # type: ignore[missing-attribute]
        ours, theirs = pty.openpty()
        program = PtyProcess(0, ours)
        program.setwinsize(*options.get("dimensions", (24, 80)))
        python, *words = map(os.fsdecode, args)
        started = _server(python).start(
            words, options["cwd"], options["env"], [theirs] * 3, tty=True
        )
        program.pid = started
        os.close(theirs)
        return program


def _can_load() -> bool:
    return sys.platform == "linux" and os.uname().machine in _SYSTEM_CALLS


class _Server:
    """A Python with the command line's modules loaded, which ends with us."""

    def __init__(self, python: str) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [python, _SERVER, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def start(
        self,
        words: list[str],
        cwd: str | Path | None,
        env: dict[str, str] | None,
        streams: list[int],
        *,
        tty: bool = False,
    ) -> int:
        request = {
            "words": words, "cwd": os.fspath(cwd or os.getcwd()), "tty": tty,
            "env": dict(os.environ if env is None else env),
        }  # fmt: skip
        socket.send_fds(self._socket, [repr(request).encode()], streams)
        answer = self._socket.recv(8)
        assert answer, f"the server has ended with {self._process.wait(10)}"
        return struct.unpack("i", answer)[0]


@functools.cache
def _server(python: str) -> _Server:
    return _Server(python)
