"""Run Python on Monty and hand over what it made, measured and as text. A program of its own.

Monty's interpreter has a process of its own already, but its client turns what the code made into
Python objects, and that alone can take for ever: a mapping hashes its keys. So the client runs
here, where time and memory end with the process, and only text leaves.

The argument is one object of JSON; messages are those of `_repl.py`. A request has, besides, the
limits of the code and, for code whose calls are answered outside, the settings of a fresh session.
"""

import base64
import builtins
import json
import os
import re
import select
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

FAILED, GAP, LATE = 1, 3, 124
"""Exit codes: an error; something that other interpreters of Python know; out of time."""
_SHOW_LESS = "Show a part of it."
_CALLS = b'{"calls":[%s]}\n'
_GRACE = 0.5
"""Seconds after which an interpreter that did not end by its own clock is ended by its client."""


def main() -> None:
    """Answer requests until the socket is closed, or nobody asks any more."""
    started = json.loads(sys.argv[1])
    connection = socket.socket(fileno=started["socket"])
    connection.set_inheritable(False)
    _limit_memory(started["memory"])
    sys.path += started["library"]
    _stand_in_for_packages(Path(started["package"]))
    outside = _Outside(connection)
    interpreter = _Interpreter(started, outside)
    errors = _own_errors()
    while (request := outside.request(started["idle"])) is not None:
        outside.most_bytes = request["most_bytes"]
        answer, problem = interpreter.answer(request, errors)
        line = outside.line(answer)
        if line is None:
            answer, problem = {"exit_code": FAILED}, f"The last value is too large. {_SHOW_LESS}"
        _write(errors, problem and f"{problem[: max(request['output'] - 1, 0)]}\n")
        outside.send(line or outside.line(answer))
        interpreter.rest(request)


def _limit_memory(most: int | None) -> None:
    """For this process and the interpreter's, each."""
    if most is not None and sys.platform == "linux":
        import resource  # noqa: PLC0415  (not on Windows, where this file is imported all the same)

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _stand_in_for_packages(package_place: Path) -> None:
    """Empty packages: their front doors would load the framework, ten times what is used here."""
    name, place = "", package_place.parent
    for part in ("toolwright", "backends", "sandboxes"):
        name, place = f"{name}.{part}".lstrip("."), place / part
        package = ModuleType(name)
        package.__path__ = [str(place)]
        sys.modules[name] = package


def _own_errors() -> int:
    """Where errors of the code go. What libraries write there themselves, when they break, has
    places of this machine in it and is nobody's to read."""
    errors, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return errors


class _Outside:
    """The other end: requests come from it, and calls are answered by it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self.most_bytes = 0

    def request(self, idle: float | None) -> Any:
        """The next request; None when there will be none, or none has come for so long."""
        # Nothing of it has been read yet: each side waits for the other's answer.
        found, _, _ = select.select([self._connection], [], [], idle)
        return self.receive() if found else None

    def receive(self) -> Any:
        line = self._lines.readline()
        return json.loads(line) if line else None

    def line(self, message: dict[str, Any]) -> bytes | None:
        """The message as it is sent; None when it is too long."""
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        return line if len(line) <= self.most_bytes else None

    def send(self, line: bytes | None) -> None:
        if line is not None:
            self._connection.sendall(line)

    def call(self, calls: list[bytes]) -> list[dict[str, Any]]:
        """The results of calls; `ValueError` when they are more than is read outside."""
        from toolwright.backends.sandboxes._guest_json import check_guest_json  # noqa: PLC0415

        line = _CALLS % b",".join(calls)
        check_guest_json(line)
        self.send(line)
        results: list[dict[str, Any]] = self.receive()["results"]
        return results


class _Refused(Exception):
    """The value of the last expression does not leave; the text says why."""


class _Interpreter:
    """A session that stays, for code without functions; a fresh one for each that has some."""

    def __init__(self, started: dict[str, Any], outside: _Outside) -> None:
        import pydantic_monty  # noqa: PLC0415  (found only now)

        self._monty: Any = pydantic_monty
        self._binary = started["binary"]
        self._mount = self._mounted(started["mount"])
        self._outside = outside
        self._stack = ExitStack()
        self._session: Any = None
        self._limits: Any = None
        self._held = 0
        self._end()

    def answer(self, request: dict[str, Any], errors: int) -> tuple[dict[str, Any], str]:
        """Run the code; gives the answer, and what went wrong."""
        monty = self._monty
        try:
            return {"exit_code": 0, "value": self._run(request, errors)}, ""
        except _Refused as error:
            code, text = FAILED, str(error)
        except monty.MontyTypingError as error:
            text = f"The code was not run; it does not fit the tools:\n{error}"
            code = GAP if _only_lacks(str(error)) else FAILED
        except (monty.MontyRuntimeError, monty.MontySyntaxError) as error:
            raised, text = error.exception(), error.display()
            code = _exit_code(raised)
            if isinstance(raised, PermissionError) and request["session"] is not None:
                code = GAP  # There are no files at all.
            if isinstance(raised, TimeoutError | MemoryError):
                self._end()
        except BaseException as error:  # noqa: BLE001  (whatever it was, the next code can run)
            code = LATE if getattr(error, "timed_out", False) else FAILED
            text = f"The interpreter failed: {str(error) or type(error).__name__}"
            self._end()
        return {"exit_code": code}, text

    def rest(self, request: dict[str, Any]) -> None:
        """After an answer: the interpreter for the next fresh session starts while nobody waits."""
        if request["session"] is not None:
            self._end()

    def _run(self, request: dict[str, Any], errors: int) -> str | None:
        fresh = request["session"]
        if fresh is None:

            def show(stream: str, text: str) -> None:
                _write(errors if stream == "stderr" else 1, text)

            output = self._kept(request).feed_run(
                request["code"], print_callback=show, mount=self._mount
            )
            return None if output is None else _shown(output, request["output"])
        session = self._open(request, fresh)
        snapshot = session.feed_start(request["code"], print_callback=_show_merged)
        waiting: dict[int, bytes] = {}
        while not isinstance(snapshot, self._monty.MontyComplete):
            snapshot = self._go_on(snapshot, waiting, request["functions"])
        return None if snapshot.output is None else _handed_over(snapshot.output)

    def _kept(self, request: dict[str, Any]) -> Any:
        if self._session is None or self._limits != request["limits"]:
            self._end()
            self._session, self._limits = self._open(request, {}), request["limits"]
        return self._session

    def _open(self, request: dict[str, Any], settings: dict[str, Any]) -> Any:
        policy = settings.pop("os_policy", None)
        if policy and "datetime" in policy:
            import datetime  # noqa: PLC0415

            policy["datetime"] = datetime.datetime.fromisoformat(policy["datetime"])
        limits = self._monty.ResourceLimits(**request["limits"])
        checkout = self._pool.checkout(limits=limits, os_policy=policy, **settings)
        return self._stack.enter_context(checkout)

    def _mounted(self, place: dict[str, str] | None) -> Any:
        return None if place is None else self._monty.MountDir(mode="read-write", **place)

    def _end(self) -> None:
        """End the session and its process, and start the process of the next."""
        self._held = 0
        self._stack.close()
        self._session = None
        pool = self._monty.Monty(
            binary_path=self._binary, max_processes=1, feed_duration_limit_grace=_GRACE
        )
        self._pool = self._stack.enter_context(pool)

    def _go_on(self, snapshot: Any, waiting: dict[int, bytes], functions: list[str]) -> Any:
        """Calls are collected until all the code waits, then answered together."""
        monty = self._monty
        match snapshot:
            case monty.FunctionSnapshot(is_os_function=True):
                return snapshot.resume_not_handled()
            case monty.FunctionSnapshot():
                if (name := snapshot.function_name) not in functions:
                    return snapshot.resume(_error(f"name {name!r} is not defined", "NameError"))
                try:
                    waiting[snapshot.call_id] = self._hold(_written_call(snapshot))
                except ValueError as error:
                    problem = f"The arguments of {name}() cannot be handed over: {error}."
                    return snapshot.resume(_error(f"{problem} Ask for less."))
                return snapshot.resume({"future": ...})
            case monty.FutureSnapshot():
                ids = [number for number in snapshot.pending_call_ids if number in waiting]
                calls = [waiting.pop(number) for number in ids]
                self._held -= sum(map(len, calls)) + len(calls)
                return snapshot.resume(self._results(ids, calls))
            case _:
                return snapshot.resume()  # A name nobody knows: the code gets its NameError.

    def _hold(self, call: bytes) -> bytes:
        """Count a call that waits to be sent with others; `ValueError` if that were too much."""
        from toolwright.backends.sandboxes._guest_json import check_guest_json  # noqa: PLC0415

        most = self._outside.most_bytes - len(_CALLS)
        if self._held + len(call) >= most:
            raise ValueError(f"it has more than {most:,} bytes, with the calls that wait")
        check_guest_json(_CALLS % call)
        self._held += len(call) + 1
        return call

    def _results(self, ids: list[int], calls: list[bytes]) -> dict[int, Any]:
        try:
            results = self._outside.call(calls)
        except ValueError as error:
            problem = f"The arguments of these calls cannot be handed over together: {error}."
            return dict.fromkeys(ids, _error(f"{problem} Make fewer at a time."))
        return {
            number: _error(result["error"])
            if "error" in result
            else {"return_value": result["value"]}
            for number, result in zip(ids, results, strict=True)
        }


def _exit_code(raised: BaseException) -> int:
    if isinstance(raised, TimeoutError):
        return LATE
    return GAP if isinstance(raised, NotImplementedError | ModuleNotFoundError) else FAILED


def _only_lacks(problems: str) -> bool:
    """Whether all that is wrong are modules and names that Python has, and Monty has not."""
    kinds = set(re.findall(r"error\[([\w-]+)\]", problems))
    names = re.findall(r"Name `(\w+)` used when not defined", problems)
    return (
        bool(kinds)
        and kinds <= {"unresolved-import", "unresolved-reference"}
        and all(hasattr(builtins, name) for name in names)
    )


def _error(message: str, kind: str = "RuntimeError") -> Any:
    return {"exc_type": kind, "message": message}


def _shown(output: Any, most: int) -> str:
    """The value as Python writes it."""
    from toolwright.backends.sandboxes._guest_value import check_guest_value  # noqa: PLC0415

    try:
        check_guest_value(output, most)
    except ValueError as error:
        problem = f"The value of the last expression cannot be shown: {error}. {_SHOW_LESS}"
        raise _Refused(problem) from error
    return repr(output)


def _handed_over(output: Any) -> str:
    """The value as JSON."""
    try:
        return _as_json(output).decode()
    except ValueError as error:
        problem = f"The value of the last expression cannot be handed over: {error}. {_SHOW_LESS}"
        raise _Refused(problem) from error


def _written_call(snapshot: Any) -> bytes:
    return _as_json(
        {"name": snapshot.function_name, "args": snapshot.args, "kwargs": snapshot.kwargs}
    )


def _as_json(value: Any) -> bytes:
    """As `jsonable` does; `ValueError` for what would be too much."""
    from pydantic_core import to_json  # noqa: PLC0415

    from toolwright.backends.sandboxes._guest_value import check_guest_value  # noqa: PLC0415

    check_guest_value(value)
    return to_json(_without_bytes(value), fallback=repr, inf_nan_mode="strings")


def _without_bytes(value: Any) -> Any:
    """The value with standard base64 in place of bytes. It was measured: it is not deep."""
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {_without_bytes(key): _without_bytes(item) for key, item in value.items()}
        case tuple():
            return tuple(map(_without_bytes, value))
        case list() | set() | frozenset():
            return list(map(_without_bytes, value))
        case _:
            return value


def _show_merged(_: str, text: str) -> None:
    _write(1, text)


def _write(descriptor: int, text: str) -> None:
    unwritten = memoryview(text.encode("utf-8", "replace"))
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


if __name__ == "__main__":
    main()
