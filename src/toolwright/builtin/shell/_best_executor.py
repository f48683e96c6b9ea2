"""Where commands run when nobody said where: in the best sandbox that works on this machine."""

import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Self

import anyio

from toolwright._sealed import Sealed
from toolwright._temporary import keep_out_of, passing_directory
from toolwright.backends._own_paths import check_writable
from toolwright.backends.executors import (
    Capabilities,
    Command,
    Executor,
    Finished,
    Job,
    Limits,
    LocalExecutor,
    OnOutput,
    demand,
)
from toolwright.backends.sandboxes import open_executor, open_sandbox
from toolwright.backends.sandboxes._bwrap_binary import NotNow
from toolwright.backends.sandboxes._open import warn_of_no_walls
from toolwright.concurrency import close_all
from toolwright.errors import StoreError, UsageError

__all__ = ["BestExecutor"]


class BestExecutor(Sealed):
    """Runs each command in the best sandbox that works here, and on this machine where none does.

    In the sandbox a command can write to `workspace` only, reads that and the system's programs, and
    has no network but the hosts in `allow_hosts`. `capabilities` says which of the two it is, and a
    warning is logged where there is none. `StoreError` where the machine is too busy to tell.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] = ".",
        *,
        env: Mapping[str, str] | None = None,
        allow_hosts: Sequence[str] = (),
        limits: Limits | None = None,
        require: Sequence[str] = (),
    ) -> None:
        """`require` names `Capabilities` without which it is not made."""
        self.workspace = Path(workspace).absolute()
        self.limits = limits or Limits()
        self.capabilities = _capabilities()
        demand(self, *require)
        # Once: commands of another sandbox could make it a link later.
        self._directory = self.workspace.resolve()
        if self.is_sandbox:  # Told now rather than at the first command.
            check_writable([self._directory], "the sandbox", holds_below=True)
        else:
            warn_of_no_walls(self.capabilities.notes[-1])
        self._env = dict(env or {})
        self._allow_hosts = tuple(allow_hosts)
        self._opened: list[Executor] = []
        self._jobs: list[_PlacedJob] = []
        self._closed = False
        # Between commands, too: who keeps records there is told when that begins.
        places = [self._directory] if self.is_sandbox else []
        self._let_go = weakref.finalize(self, keep_out_of(places))

    @property
    def is_sandbox(self) -> bool:
        """Whether commands run behind walls."""
        return self.capabilities.filesystem_confined

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
        """Run a command to its end; nothing it started is left running."""
        async with self._passing_place() as place:
            return await place.run(
                command,
                stdin=stdin,
                cwd=cwd,
                env=env,
                limits=limits,
                merge=merge,
                on_output=on_output,
                spill=spill,
            )

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Job:
        """Run a command in the background until this executor is closed."""
        await self._leave_ended()
        place = await self._place()
        try:
            job = await place.start(command, cwd=cwd, env=env, limits=limits)
        except BaseException:
            await self._leave(place)
            raise
        self._jobs.append(_PlacedJob(job, partial(self._leave, place)))
        return self._jobs[-1]

    async def read_file(self, path: str) -> bytes:
        """A file's content, as a command here would read it."""
        async with self._passing_place() as place:
            return await place.read_file(path)

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file and the directories above it, as a command here would."""
        async with self._passing_place() as place:
            await place.write_file(path, data)

    async def close(self) -> None:
        """End what runs, in the background or not."""
        self._closed = True
        opened, self._opened = self._opened, []
        try:
            await close_all([place.close for place in opened])
        finally:
            self._let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _place(self) -> Executor:
        """Where one command runs; never on the machine if this was said to be a sandbox."""
        self._check_open()
        place = await open_executor(
            self._directory,
            env=self._env,
            allow_hosts=self._allow_hosts,
            allow_unsandboxed=not self.is_sandbox,
            limits=self.limits,
        )
        if self._closed:  # While this was opened, so that nobody else would close it.
            await close_all([place.close])
        self._check_open()
        self._opened.append(place)
        return place

    @asynccontextmanager
    async def _passing_place(self) -> AsyncIterator[Executor]:
        """The same, for as long as the context."""
        place = await self._place()
        try:
            yield place
        finally:
            await self._leave(place)

    async def _leave_ended(self) -> None:
        """Close the places of background commands that have ended by themselves."""
        ended = [job for job in self._jobs if job.poll() is not None]
        self._jobs = [job for job in self._jobs if job not in ended]
        await close_all([job.leave for job in ended])

    async def _leave(self, place: Executor) -> None:
        """Close a place, cancelled or not."""
        self._opened = [other for other in self._opened if other is not place]
        await close_all([place.close])

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("This executor is closed; make another one.")


class _PlacedJob:
    """A background command that has a place of its own, which is closed with it."""

    def __init__(self, job: Job, leave: Callable[[], Awaitable[None]]) -> None:
        self.id = job.id
        self._job = job
        self.leave = leave

    def read(self) -> str:
        return self._job.read()

    def poll(self) -> Finished | None:
        return self._job.poll()

    async def wait(self) -> Finished:
        finished = await self._job.wait()
        await self.leave()
        return finished

    async def stop(self) -> Finished:
        try:
            return await self._job.stop()
        finally:
            await self.leave()


@cache
def _capabilities() -> Capabilities:
    """What the best sandbox enforces: found out once, by opening it."""
    # In a thread, since this one may have a loop that runs.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(anyio.run, _found_out).result()


async def _found_out() -> Capabilities:
    try:
        with passing_directory() as empty:
            async with await open_sandbox(empty) as sandbox:
                return sandbox.capabilities
    except NotNow:
        raise
    except StoreError as error:
        local = LocalExecutor().capabilities
        return replace(local, notes=(*local.notes, str(error)))
