"""Any MCP sandbox as an executor: commands go through its `execute_bash` tool."""

import base64
import re
import shlex
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Self

import anyio

try:
    from mcp import Client
except ImportError as error:
    raise ImportError("MCP needs an extra: pip install 'toolwright[mcp]'") from error

from toolwright._sealed import Sealed
from toolwright.backends import Capabilities, Command, Finished, Job, Limits, OnOutput
from toolwright.backends.executors import require_runnable
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.sources._reopening import Unavailable
from toolwright.sources.mcp._connections import Connections
from toolwright.sources.mcp._params import ConnectionParams, connection_params_of
from toolwright.sources.mcp._questions import Questions

__all__ = ["McpSandbox"]

_READ_LIMIT = 64 * 1024 * 1024


class McpSandbox(Sealed):
    """Runs commands with a tool of an MCP server that takes a bash command and answers with text.

    What the server enforces is not known here, so nothing is claimed. Output comes when a command
    has ended; a command that takes too long is given up, and whether it goes on is up to the server.
    """

    def __init__(
        self,
        connection_params: ConnectionParams | Any,
        *,
        tool: str = "execute_bash",
        argument: str = "command",
        limits: Limits | None = None,
    ) -> None:
        params = connection_params_of(connection_params)
        self.limits = limits or Limits()
        self._tool = tool
        self._argument = argument
        label = f"MCP sandbox {params.label!r}"
        self._connections = Connections(params, label, lambda: Questions(label, False, ()))
        self._closed = False

    @property
    def capabilities(self) -> Capabilities:
        """Unknown, so none."""
        return Capabilities(notes=("What the MCP server enforces is not known here.",))

    async def run(
        self,
        command: Command,
        *,
        stdin: str | bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        merge: bool = False,
        on_output: OnOutput | None = None,
        spill: Path | None = None,
    ) -> Finished:
        """Run a command there; its streams and exit code are told apart by a mark."""
        bounds = limits or self.limits
        mark = f"@{uuid.uuid4().hex}"
        script = _script(command, stdin, cwd, env or {}, mark, merge)
        started = time.monotonic()
        answer = None
        with anyio.move_on_after(bounds.timeout):
            answer = await self._call(script)
        seconds = time.monotonic() - started
        if answer is None:
            return Finished(exit_code=-1, stdout="", ended="timeout", seconds=seconds)
        finished = _finished(answer, mark, bounds.output, seconds)
        if on_output is not None:
            for name, text in (("stdout", finished.stdout), ("stderr", finished.stderr)):
                if text:
                    on_output("stdout" if name == "stdout" else "stderr", text)
        return finished

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Job:
        """Not possible over MCP."""
        raise UsageError("An MCP sandbox has no background jobs; open an OS sandbox instead.")

    async def read_file(self, path: str) -> bytes:
        """Read a file there, as a command would."""
        whole = replace(self.limits, output=_READ_LIMIT)
        done = await self.run(f"base64 < {shlex.quote(path)}", limits=whole)
        if not done.ok:
            raise ToolError(f"Cannot read {path!r}: {done.stderr.strip() or done.ended}.")
        try:
            return base64.b64decode("".join(done.stdout.split()), validate=True)
        except ValueError as error:
            raise ToolError(
                f"Cannot read {path!r}: it did not arrive whole; read a part of it by a command."
            ) from error

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file there and the directories above it, as a command would."""
        content = base64.b64encode(data.encode() if isinstance(data, str) else data).decode()
        target, parent = shlex.quote(path), shlex.quote(str(PurePosixPath(path).parent))
        done = await self.run(f"mkdir -p {parent} && base64 -d > {target}", stdin=content)
        if not done.ok:
            raise ToolError(f"Cannot write {path!r}: {done.stderr.strip()}.")

    async def close(self) -> None:
        """End the connection, and the server if it was started by us."""
        self._closed = True
        await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _call(self, script: str) -> str:
        if self._closed:
            raise UsageError("This McpSandbox is closed; open another one.")
        try:
            link = await self._connections.get(None)
        except Unavailable as error:
            raise StoreError(f"The MCP sandbox cannot be reached: {error}") from error
        client: Client = link.client
        request = client.call_tool(self._tool, {self._argument: script})
        result = await link.ask(request, f"{self._tool!r} was called")
        return "\n".join(part.text for part in result.content if part.type == "text")


def _script(
    command: Command,
    stdin: str | bytes | None,
    cwd: str | None,
    env: Mapping[str, str],
    mark: str,
    merge: bool,
) -> str:
    """The command with its streams in files, which are then shown one after the other."""
    require_runnable(command)
    body = command if isinstance(command, str) else shlex.join(command)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in env.items()]
    lines += [f"cd {shlex.quote(cwd)} || exit 1"] if cwd else []
    data = stdin.encode() if isinstance(stdin, str) else stdin
    feed = "< /dev/null" if data is None else f"< /tmp/{mark}.in"
    write = (
        ""
        if data is None
        else f"printf %s {base64.b64encode(data).decode()!r} | base64 -d > /tmp/{mark}.in\n"
    )
    errors = "2>&1" if merge else f"2> /tmp/{mark}.err"
    # Read apart from the rest, which an unfinished quote or here-document would take in.
    inner = "\n".join([*lines, f"eval {shlex.quote(body)}"])
    return (
        f"{write}(\n{inner}\n) {feed} > /tmp/{mark}.out {errors}\n"
        f"code=$?\ncat /tmp/{mark}.out\nprintf '\\n%s\\n' {mark}\n"
        f"cat /tmp/{mark}.err 2> /dev/null\nprintf '\\n%s %s\\n' {mark} $code\n"
        f"rm -f /tmp/{mark}.in /tmp/{mark}.out /tmp/{mark}.err"
    )


def _finished(answer: str, mark: str, room: int, seconds: float) -> Finished:
    found = re.search(rf"(.*)\n{mark}\n(.*)\n{mark} (\d+)", answer, re.S)
    if found is None:
        raise StoreError(f"The MCP sandbox answered something unexpected: {answer[:300]!r}.")
    stdout, stderr = found[1], found[2]
    truncated = len(stdout) > room or len(stderr) > room
    return Finished(
        exit_code=int(found[3]),
        stdout=_both_ends(stdout, room),
        stderr=_both_ends(stderr, room),
        truncated=truncated,
        seconds=seconds,
    )


def _both_ends(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return (
        f"{text[: room // 2]}\n[… {len(text) - room} characters left out …]\n{text[-room // 2 :]}"
    )
