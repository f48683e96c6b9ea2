"""Run pieces of Python one after another in one namespace. Runs inside a sandbox, as a program.

Each message is one line of JSON on the socket whose descriptor is the argument: a request with
`code` comes in, `{"exit_code": …, "value": …}` goes out, with the value as Python writes it. Functions
that a request names are answered outside: while the code runs, `{"calls": …}` goes out and `{"results":
…}` comes in; the value is then JSON. No message is longer than the request says. What the code prints
goes where it would go anyway.
"""

import ast
import contextlib
import json
import linecache
import os
import socket
import sys
import tokenize  # noqa: F401  a traceback looks for it, when the workspace may have one
import traceback
from collections.abc import Awaitable, Callable
from types import CodeType, ModuleType
from typing import Any

_CO_COROUTINE = 0x80
# asyncio is imported where it is needed: that takes as long as the rest of this program's start.


def main() -> None:
    """Answer requests until the socket is closed."""
    # Inheritable no longer: a program that the code starts must not hold or use the socket.
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    sys.argv = [""]
    # From here on: what this program needs must not be looked for among the code's own modules.
    sys.path.insert(0, "")
    namespace = _main_module().__dict__
    outside = Outside(connection)
    for number, request in enumerate(iter(outside.receive, None), start=1):
        outside.most_bytes = request["most_bytes"]
        functions = request["functions"]
        namespace.update({name: outside.function(name) for name in functions})
        answer = _answer(
            request["code"], f"<code {number}>", namespace, _json if functions else repr
        )
        if outside.is_elsewhere:
            # A process that the code has made, which has come to the end of the code.
            _flush()
            os._exit(answer["exit_code"])
        message = outside.written(answer)
        if message is None:
            sys.stderr.write("The value of the last expression is too large; show a part of it.\n")
            message = outside.written({"exit_code": 1})
        _flush()
        outside.send(message)


def _main_module() -> ModuleType:
    """An empty module as `__main__`, where unittest, doctest, pickle and others look for the code."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    return module


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The code may have put anything in their place.
        with contextlib.suppress(Exception):
            stream.flush()


class Outside:
    """The other end: requests come from it, and calls to functions are answered by it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._waiting: list[tuple[dict[str, Any], Any]] = []
        self._process = os.getpid()
        self.most_bytes = 0
        # One process talks to the other end: what the code forks has no part in it.
        os.register_at_fork(after_in_child=lambda: os.close(connection.detach()))

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is no longer the process that talks to the other end."""
        return os.getpid() != self._process

    def written(self, message: dict[str, Any]) -> bytes | None:
        """The message as it is sent; None when it is too long. Halves of characters are lost."""
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        return line if len(line) <= self.most_bytes else None

    def send(self, line: bytes | None) -> None:
        if line is not None:
            self._connection.sendall(line)

    def receive(self) -> Any:
        line = self._lines.readline()
        return json.loads(line) if line else None

    def function(self, name: str) -> Callable[..., Awaitable[Any]]:
        """An async function whose calls are answered outside."""

        async def call(*args: Any, **kwargs: Any) -> Any:
            from asyncio import get_running_loop  # noqa: PLC0415

            if self.is_elsewhere:
                raise RuntimeError(f"{name} can be called in the first process only")
            loop = get_running_loop()
            answer = loop.create_future()
            if not self._waiting:
                # After all tasks have had their turn, so that calls made together go together.
                loop.call_later(0, self._ask)
            self._waiting.append(({"name": name, "args": args, "kwargs": kwargs}, answer))
            return await answer

        return call

    def _ask(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            line = self.written({"calls": [call for call, _ in waiting]})
            if line is None:
                raise ValueError(f"arguments may have {self.most_bytes} bytes together; give less")
        except (TypeError, ValueError, RecursionError) as error:
            for _, answer in waiting:
                answer.set_exception(error)
            return
        self.send(line)
        for (_, answer), result in zip(waiting, self.receive()["results"], strict=True):
            if answer.cancelled():
                continue
            if "error" in result:
                answer.set_exception(RuntimeError(result["error"]))
            else:
                answer.set_result(result["value"])


def _answer(
    code: str, filename: str, namespace: dict[str, Any], write: Callable[[Any], str]
) -> dict[str, Any]:
    linecache.cache[filename] = (len(code), None, code.splitlines(True), filename)
    try:
        value = _run(code, filename, namespace)
        return {"exit_code": 0, "value": None if value is None else write(value)}
    except SystemExit as ending:
        return {"exit_code": _exit_code(ending.code)}
    except BaseException as error:  # noqa: BLE001  (whatever the code raises, the next one can run)
        traceback.print_exception(type(error), error, _own_frames(error, filename))
        return {"exit_code": 1}


def _exit_code(code: Any) -> int:
    """What the process would end with if it were Python's own: a text is an error that is shown."""
    if code is None:
        return 0
    if isinstance(code, int):
        return int.__and__(code, 0xFF)  # A plain number, also of a bool.
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{code}\n")
    return 1


def _json(value: Any) -> str:
    """What JSON has no form for is written as Python does."""
    try:
        return json.dumps(value, default=_listed_or_shown)
    except (TypeError, ValueError):
        return json.dumps(repr(value))


def _listed_or_shown(value: Any) -> Any:
    return list(value) if isinstance(value, (set, frozenset)) else repr(value)


def _run(code: str, filename: str, namespace: dict[str, Any]) -> Any:
    tree = ast.parse(code, filename)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
        _execute(_compiled(tree, filename, "exec"), namespace)
        return _execute(_compiled(ast.Expression(last.value), filename, "eval"), namespace)
    return _execute(_compiled(tree, filename, "exec"), namespace)


def _compiled(tree: ast.Module | ast.Expression, filename: str, mode: str) -> CodeType:
    return compile(tree, filename, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _execute(compiled: CodeType, namespace: dict[str, Any]) -> Any:
    value = eval(compiled, namespace)
    if compiled.co_flags & _CO_COROUTINE:
        from asyncio import run  # noqa: PLC0415

        return run(value)
    return value


def _own_frames(error: BaseException, filename: str) -> Any:
    """The traceback from the first line of the code on, without the frames of this file."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != filename:
        frame = frame.tb_next
    return frame


if __name__ == "__main__":
    main()
