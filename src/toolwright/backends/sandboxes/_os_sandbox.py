"""A sandbox of the operating system around real bash and real CPython."""

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Self

import anyio

from toolwright._sealed import Sealed
from toolwright._temporary import (
    keep_out_of,
    passing_directory,
    remove_tree,
    temporary_directory,
)
from toolwright.backends._own_paths import (
    PYTHON,
    check_writable,
    make_directory_of_records,
    own_below,
    rely_on,
)
from toolwright.backends.executors import (
    Capabilities,
    Command,
    Finished,
    Job,
    Limits,
    LocalExecutor,
    OnOutput,
    clean_environment,
    require_runnable,
    shell_argv,
)
from toolwright.backends.executors._capture import Capture
from toolwright.backends.executors._process import Process, ProcessSpec, Running
from toolwright.backends.sandboxes._allowed_hosts import AllowedHosts
from toolwright.backends.sandboxes._packages import (
    check_pip_settings,
    checked_packages,
    pip_command,
    pip_environment,
    pip_readable,
)
from toolwright.backends.sandboxes._proxy import HostProxy
from toolwright.backends.sandboxes._secrets import HostSecret
from toolwright.backends.sandboxes._trust import TRUST_VARIABLES, known_authorities
from toolwright.backends.sandboxes._walls import (
    Room,
    Walls,
    check_ways,
    open_ends,
    settled,
    system_paths,
)
from toolwright.backends.sandboxes._warm_python import REPL, AnswerCalls, WarmPython
from toolwright.concurrency import close_all, in_io_thread, wait_in_thread
from toolwright.errors import StoreError, ToolError, UsageError

__all__ = ["OsSandbox"]

_READ_LIMIT = 64 * 1024 * 1024
_LOADER = re.compile(r"LD_|DYLD_|GLIBC_|GCONV_PATH|LOCPATH|MALLOC_")
"""Variables that make a program load code: they would act on those in front of the walls, too."""
_REFUSALS = ("Read-only file system", "Device or resource busy", "EROFS", "EBUSY")
"""What the system, and Node, say of files that are held, hidden or on the way to one."""
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'


class OsSandbox(Sealed):
    """Runs commands behind `walls`; made by `open`, which makes sure that the walls stand."""

    def __init__(
        self,
        walls: Walls,
        workspace: Path,
        *,
        env: Mapping[str, str],
        network: bool,
        allow_hosts: Sequence[str] | AllowedHosts,
        readable: Sequence[str | Path],
        limits: Limits,
        writable: Sequence[str | Path] = (),
        secrets: Mapping[str, HostSecret] | None = None,
        open_ends: tuple[Path, ...] = (),
    ) -> None:
        self.walls = walls
        self.limits = limits
        # Walls that were written before there was this question cannot answer it.
        self._holds = getattr(walls, "holds_below", False)
        places = (workspace, *map(_real, writable))
        with ExitStack() as undo:  # Who is refused holds nothing.
            leave, rely_no_more = keep_out_of(places), rely_on(map(_real, readable))
            self._let_go = (leave, rely_no_more)
            undo.callback(rely_no_more)
            undo.callback(leave, refused=True)
            self._home = _new_home()
            undo.callback(remove_tree, self._home)
            self._packages = self._home / "packages"
            self._scratch = self._home / "scratch"
            for directory in (self._packages, self._scratch):
                directory.mkdir()
            hosts = _with_secrets(allow_hosts, secrets or {})
            self._room = Room(
                workspace=workspace,
                scratch=self._scratch,
                packages=self._packages,
                readable=tuple(Path(path).absolute() for path in readable),
                open_ends=open_ends,
                writable=places[1:],
                network=network,
                proxy=self._home / "proxy" if hosts.all else None,
            )
            self._proxy = HostProxy(self._room.proxy, hosts) if self._room.proxy else None
            if self._proxy:
                undo.callback(self._proxy.close)
            packages = walls.packages(self._room)
            self._env = {
                **walls.environment(self._room),
                "PATH": f"{PYTHON.parent}:{packages}/bin:/usr/local/bin:/usr/bin:/bin",
                "PYTHONPATH": packages,
                "PYTHONDONTWRITEBYTECODE": "1",
                **self._stand_ins(secrets or {}),
                **_harmless(env),
            }
            undo.pop_all()
        self._local = LocalExecutor(workspace, limits=limits)
        self._running = Running()
        self._python = WarmPython(self._start_python, pauses=True)
        self._calling: set[WarmPython] = set()
        self._bash = shutil.which("bash", path="/usr/bin:/bin") or "/bin/sh"
        self._closed = False
        self._closing = anyio.Lock()
        self._is_gone = False

    @classmethod
    async def open(
        cls,
        workspace: str | Path,
        walls: Walls,
        *,
        env: Mapping[str, str] | None = None,
        network: bool = False,
        allow_hosts: Sequence[str] | AllowedHosts = (),
        readable: Sequence[str | Path] = (),
        limits: Limits | None = None,
        writable: Sequence[str | Path] = (),
        secrets: Mapping[str, HostSecret] | None = None,
    ) -> Self:
        """Try the walls and put a sandbox behind them; `StoreError` when they do not hold here.

        `secrets` are variables whose value inside is a placeholder, for which the sandbox's proxy
        puts the secret in requests to its hosts.
        """
        await in_io_thread(check_ways, [workspace, *writable])
        directory = await in_io_thread(Path(workspace).resolve)
        if not await anyio.Path(directory).is_dir():
            raise UsageError(f"The workspace {str(workspace)!r} is not a directory; make it first.")
        outside = (*readable, *writable)
        if missing := [str(path) for path in outside if not await anyio.Path(path).exists()]:
            raise UsageError(f"These paths cannot be made readable, they are not there: {missing}.")
        if (allow_hosts or secrets) and not walls.opens_hosts:
            raise UsageError(
                f"{walls.name} cannot open single hosts, only all of the network or none."
            )
        if (problem := await walls.probe()) is not None:
            raise StoreError(f"The sandbox does not work on this machine: {problem}.")
        readable = await in_io_thread(settled, readable, directory, writable)
        places = [directory, *(Path(path) for path in writable)]
        holds = getattr(walls, "holds_below", False)
        await in_io_thread(
            partial(
                check_writable,
                places,
                walls.name,
                holds_below=holds,
                readable=(*map(Path, readable), *system_paths()),
            )
        )
        apart = [path for path in readable if path != directory]
        return cls(
            walls,
            directory,
            env=env or {},
            network=network,
            allow_hosts=allow_hosts,
            readable=readable,
            limits=limits or Limits(),
            writable=writable,
            secrets=secrets,
            open_ends=await in_io_thread(open_ends, apart),
        )

    @property
    def workspace(self) -> str:
        """The workspace's path as commands see it."""
        return self.walls.inside(self._room)

    @property
    def capabilities(self) -> Capabilities:
        """What these walls enforce."""
        return self.walls.capabilities(self._room)

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
        """Run a command behind the walls to its end; nothing it started is left running."""
        done = await self._local.run(
            self._walled(command, cwd, self._room),
            stdin=stdin,
            env={**self._env, **_harmless(env or {})},
            limits=self.walls.limits(limits or self.limits),
            merge=merge,
            on_output=on_output,
            spill=spill,
        )
        note = self._why_refused(done)
        if merge:
            return replace(done, stdout=f"{done.stdout}{note}") if note else done
        return replace(done, stderr=f"{done.stderr}{note}") if note else done

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Job:
        """Run a command behind the walls, in the background."""
        unhurried = replace(self.limits, timeout=None)
        return await self._local.start(
            self._walled(command, cwd, self._room),
            env={**self._env, **_harmless(env or {})},
            limits=self.walls.limits(limits or unhurried),
        )

    def behind_walls(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """The command line and environment that run `argv` behind the walls.

        For callers that start processes themselves; they also have to end them before `close`.
        """
        inside = {**self._env, **_harmless(env or {})}
        return self._walled(argv, None, self._room), clean_environment(inside)

    async def run_code(self, code: str, *, limits: Limits | None = None) -> Finished:
        """Run Python; names stay from call to call, as long as the limits, time aside, do."""
        self._check_open()
        bounds = limits or self.limits
        return _shortened(await self._python.run(code, bounds), bounds.output)

    async def run_calling(
        self,
        code: str,
        functions: Sequence[str],
        answer_calls: AnswerCalls,
        *,
        limits: Limits | None = None,
    ) -> Finished:
        """Run Python in a fresh interpreter that has async `functions`, answered out here.

        The value of a last expression is JSON, to be read with `read_guest_json`.
        """
        self._check_open()
        python = WarmPython(self._start_python, pauses=True)
        self._calling.add(python)
        try:
            return await python.run(code, limits or self.limits, functions, answer_calls)
        finally:
            self._calling.discard(python)
            await python.close()

    async def install(self, packages: Sequence[str]) -> Finished:
        """Install packages with pip, itself confined; commands and code can read, not change them."""
        self._check_open()
        wanted = checked_packages(packages)
        await in_io_thread(check_pip_settings)
        with passing_directory() as home:
            done = await self._pip(wanted, home)
        # Modules that were missing before would stay missing in an interpreter that looked for them.
        await self.run_code("import importlib; importlib.invalidate_caches()")
        return done

    async def _pip(self, packages: Sequence[str], home: Path) -> Finished:
        """pip reads settings in its home, and starts what they name: it never is that of commands."""
        room = replace(
            self._room,
            workspace=self._packages,
            scratch=home,
            readable=pip_readable(),
            writable=(),
            network=True,
            proxy=None,
        )
        # Not where packages are: Python and pip look for programs and modules where they start.
        command = self.walls.around(pip_command(packages, self.walls.inside(room)), "/", room)
        env = {**self.walls.environment(room), **pip_environment()}
        return await self._local.run(command, env=env, limits=replace(self.limits, timeout=600))

    async def read_file(self, path: str) -> bytes:
        """Read a file behind the walls, so that no link in the workspace leads outside."""
        limits = replace(self.limits, output=_READ_LIMIT)
        process = self._process(["cat", "--", self._inside(path)], limits)
        done = await self._running.communicate(process)
        if not done.ok:
            raise ToolError(f"Cannot read {path!r}: {done.stderr.strip() or done.ended}.")
        if done.truncated:
            raise ToolError(f"Cannot read {path!r}: it is larger than {_READ_LIMIT} bytes.")
        return process.stdout_bytes()

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file behind the walls, and the directories above it."""
        command = ["/bin/sh", "-c", _WRITE, "sh", self._inside(path)]
        done = await self.run(command, stdin=data)
        if not done.ok:
            raise ToolError(f"Cannot write {path!r}: {done.stderr.strip() or done.ended}.")

    async def close(self) -> None:
        """End everything, and remove what was installed and written outside the workspace."""
        self._closed = True
        # Whoever closes it, too, waits until it is.
        async with self._closing:
            if self._is_gone:
                return
            self._is_gone = True
            proxy = [] if self._proxy is None else [partial(wait_in_thread, self._proxy.close)]
            remove = partial(in_io_thread, remove_tree, self._home)
            pythons = [python.close for python in (self._python, *self._calling)]
            try:
                await close_all([remove, *proxy, self._running.close, self._local.close, *pythons])
            finally:
                self._release()

    def _release(self) -> None:
        for let_go in self._let_go:
            let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _stand_ins(self, secrets: Mapping[str, HostSecret]) -> dict[str, str]:
        """Variables with placeholders, and those that make programs trust whom this one trusts."""
        if self._proxy is None:
            return {}
        trusted = known_authorities()
        trusted += self._proxy.authority.pem if self._proxy.authority else ""
        exchange = self._proxy.exchange
        placeholders = {name: exchange.placeholder(secret) for name, secret in secrets.items()}
        if not trusted:
            return placeholders
        file = self._home / "trusted.pem"
        file.write_text(trusted, encoding="utf-8")
        self._room = replace(self._room, readable=(*self._room.readable, file))
        return {**dict.fromkeys(TRUST_VARIABLES, str(file)), **placeholders}

    def _walled(self, command: Command, cwd: str | None, room: Room) -> list[str]:
        self._check_open()
        require_runnable(command)
        argv = shell_argv(self._bash, command) if isinstance(command, str) else list(command)
        return self.walls.around(argv, self._inside(cwd or "."), self._as_it_is_now(room))

    def _as_it_is_now(self, room: Room) -> Room:
        """With what this program runs from and keeps by now, and nothing that was made a link."""
        places = (room.workspace, *room.writable)
        check_ways((*places, *room.readable))
        seen = (*room.readable, *system_paths())
        own = own_below(places, seen, self.walls.name, holds_below=self._holds)
        for path in own.hidden:
            make_directory_of_records(path)  # Nobody else makes it first.
        return replace(room, held=own.held, hidden=own.hidden, pinned=own.pinned)

    def _why_refused(self, done: Finished) -> str:
        """What programs that cannot change what is ours do not say: why, and what to do instead."""
        # Whatever the exit code: that of `… | tail -1` or `…; ls` is another command's.
        if not any(text in f"{done.stdout}{done.stderr}" for text in _REFUSALS):
            return ""
        room = self._as_it_is_now(self._room)
        kept = _some([*room.held, *room.hidden], room.workspace)
        pinned = _some(room.pinned, room.workspace)
        notes = []
        if kept:
            notes.append(
                f"Commands here cannot change {kept}: the program that runs this sandbox runs from there "
                "or keeps its records there. For packages of your own, make another environment, like: "
                "python3 -m venv .venv-agent"
            )
        if pinned:
            notes.append(
                f"Commands here cannot rename or remove {pinned}: another sandbox of the program uses it; "
                "what is in it can be changed"
            )
        return "".join(f"\n[{note}]\n" for note in notes)

    def _inside(self, path: str) -> str:
        return str(PurePosixPath(self.workspace) / path)

    def _process(
        self, argv: Sequence[str], limits: Limits, pass_fds: tuple[int, ...] = ()
    ) -> Process:
        return Process(
            ProcessSpec(
                argv=self._walled(argv, None, self._room),
                cwd=str(self._room.workspace),
                env=clean_environment(self._env),
                limits=self.walls.limits(limits),
                pass_fds=pass_fds,
            )
        )

    def _start_python(self, descriptor: int, limits: Limits) -> Process:
        return self._process(
            [str(PYTHON), "-P", "-u", "-c", REPL, str(descriptor)], limits, pass_fds=(descriptor,)
        )

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("This sandbox is closed; open another one.")


def _real(path: str | Path) -> Path:
    return Path(path).resolve()


def _new_home() -> Path:
    try:
        return temporary_directory()
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error


def _some(paths: Sequence[Path], workspace: Path) -> str:
    """The first few of the paths in a workspace, by their names there."""
    names = [str(path.relative_to(workspace)) for path in paths if workspace in path.parents]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(map(repr, names[:3]))}{more}"


def _shortened(done: Finished, room: int) -> Finished:
    """With no more of the value than an output may have."""
    if done.value is None:
        return done
    capture = Capture(room)
    capture.feed(done.value.encode("utf-8", "replace"))
    truncated = done.truncated or capture.truncated
    return replace(done, value=capture.text(), truncated=truncated) if truncated else done


def _with_secrets(
    allowed: Sequence[str] | AllowedHosts, secrets: Mapping[str, HostSecret]
) -> AllowedHosts:
    hosts = allowed if isinstance(allowed, AllowedHosts) else AllowedHosts(hosts=tuple(allowed))
    return replace(hosts, secrets=(*hosts.secrets, *secrets.values()))


def _harmless(env: Mapping[str, str]) -> Mapping[str, str]:
    for name in env:
        if _LOADER.match(name):
            raise UsageError(
                f"The variable {name!r} would act on the sandbox's own programs outside its walls; "
                f"set it in the command: env {name}=… program."
            )
    return env
