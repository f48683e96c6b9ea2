"""Open the best sandbox this machine allows, or none at all."""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from toolwright.backends.executors import Executor, Limits, LocalExecutor, demand
from toolwright.backends.sandboxes._bubblewrap import Bubblewrap
from toolwright.backends.sandboxes._bwrap_binary import NotNow
from toolwright.backends.sandboxes._landlock import Landlock
from toolwright.backends.sandboxes._os_sandbox import OsSandbox
from toolwright.backends.sandboxes._seatbelt import Seatbelt
from toolwright.backends.sandboxes._walls import Walls
from toolwright.errors import StoreError, UsageError

__all__ = ["open_executor", "open_sandbox", "standing_walls", "warn_of_no_walls"]

_log = logging.getLogger("toolwright")


async def open_sandbox(
    workspace: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    network: bool = False,
    allow_hosts: Sequence[str] = (),
    readable: Sequence[str | Path] = (),
    require: Sequence[str] = (),
    limits: Limits | None = None,
    walls: Walls | Sequence[Walls] = (),
) -> OsSandbox:
    """A sandbox around real bash and CPython: bubblewrap on Linux, Seatbelt on macOS.

    `network` opens the whole network, `allow_hosts` only these hosts (`"pypi.org"`,
    `"*.example.com"`). `readable` are paths outside that may be read, such as tools in `/opt`, under
    the same names. `require` names `Capabilities` it must have. `walls` are tried in this order
    instead: `[Bubblewrap(), Landlock()]` is for containers that forbid namespaces, as Landlock shows
    which files outside exist. Raises `StoreError` when no sandbox works on this machine, and
    `UsageError` when none has what is required.
    """
    if network and allow_hosts:
        raise UsageError("Give network=True or allow_hosts=[…], not both.")
    sandbox = await OsSandbox.open(
        workspace,
        await standing_walls(walls),
        env=env,
        network=network,
        allow_hosts=allow_hosts,
        readable=readable,
        limits=limits,
    )
    try:
        demand(sandbox, *require)
    except UsageError:
        await sandbox.close()
        raise
    return sandbox


async def open_executor(
    workspace: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    network: bool = False,
    allow_hosts: Sequence[str] = (),
    allow_unsandboxed: bool = False,
    limits: Limits | None = None,
    walls: Walls | Sequence[Walls] = (),
) -> Executor:
    """A sandbox; where none works, this machine itself, but only with `allow_unsandboxed`."""
    try:
        return await open_sandbox(
            workspace, env=env, network=network, allow_hosts=allow_hosts, limits=limits, walls=walls
        )
    except NotNow:
        raise
    except StoreError as error:
        if allow_unsandboxed:
            warn_of_no_walls(str(error))
            return LocalExecutor(workspace, env=env, limits=limits)
        raise StoreError(
            f"{error} To run commands with no sandbox at all, say allow_unsandboxed=True."
        ) from error


@cache
def warn_of_no_walls(why: str) -> None:
    """Once for each reason, however many commands are run."""
    _log.warning(
        "Commands run on this machine, with the rights of this program and without a sandbox: %s",
        why,
    )


async def standing_walls(given: Walls | Sequence[Walls] = ()) -> Walls:
    """The first of these, or of those that show nothing of outside, that works on this machine."""
    chosen = tuple(given) if isinstance(given, Sequence) else (given,)
    problems: list[str] = []
    for walls in chosen or (Bubblewrap(), Seatbelt()):
        problem = await walls.probe()
        if problem is None:
            return walls
        problems.append(problem)
    if not chosen and await Landlock().probe() is None:
        problems.append(
            "Landlock works, but lets commands find out which files exist outside, and whose; "
            "to accept that, say walls=[Bubblewrap(), Landlock()]"
        )
    raise StoreError(f"No sandbox works on this machine: {'; '.join(problems)}.")
