"""Run one script on bashkit, then exit as it did. Runs as a program of its own.

Nothing that the script does to the interpreter, however it ends, happens to the program that
started this. The request is one object of JSON on stdin; its `op` is `run` (a script), `read` or
`write` (a file of the workspace). What a script prints goes to stdout and stderr as it comes.
"""

import base64
import ctypes
import json
import os
import struct
import sys
from typing import Any

_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
REFUSED = 3
"""The exit code of a file operation that the file system refused; stderr has the reason."""


def main() -> None:
    """Do what the request says."""
    request = json.loads(sys.stdin.buffer.read())
    sys.path.append(request["library"])
    from bashkit import FileSystem  # noqa: PLC0415  (found only now)

    if request["filter"]:
        _give_up_rights(bytes.fromhex(request["filter"]))
    files = FileSystem.real(request["directory"], writable=True)
    if request["op"] == "run":
        _exit(_run(request, files))
    try:
        _move(request, files)
    except (OSError, RuntimeError, ValueError) as error:
        os.write(2, str(error).encode("utf-8", "replace"))
        _exit(REFUSED)
    _exit(0)


def _give_up_rights(program: bytes) -> None:
    """No programs, no special files: a mistake in the interpreter must not be a way out either."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, header, 0, 0):
        _write(2, f"sandbox: seccomp: {os.strerror(ctypes.get_errno())}\n")
        _exit(125)


def _run(request: dict[str, Any], files: Any) -> int:
    from bashkit import Bash  # noqa: PLC0415

    bash = Bash(**request["settings"])
    bash.mount(request["settings"]["cwd"], files)
    result = bash.execute_sync(request["script"], on_output=_show)
    if result.error:
        _write(2, f"{result.error}\n")
    return result.exit_code


def _move(request: dict[str, Any], files: Any) -> None:
    path = request["path"]
    if request["op"] == "read":
        _write_bytes(1, files.read_file(path))
        return
    files.mkdir(os.path.dirname(path), True)
    files.write_file(path, base64.b64decode(request["data"]))


def _show(stdout: str, stderr: str) -> None:
    _write(1, stdout)
    _write(2, stderr)


def _write(descriptor: int, text: str) -> None:
    _write_bytes(descriptor, text.encode("utf-8", "replace"))


def _write_bytes(descriptor: int, data: bytes) -> None:
    unwritten = memoryview(data)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


def _exit(code: int) -> None:
    # At once: threads of the interpreter may be in the middle of something.
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
