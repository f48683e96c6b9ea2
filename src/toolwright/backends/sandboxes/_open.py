"""Open the best sandbox this machine allows, or none at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolwright.backends.executors import Executor, Limits, LocalExecutor, demand
from toolwright.backends.sandboxes._bubblewrap import Bubblewrap
from toolwright.backends.sandboxes._landlock import Landlock
from toolwright.backends.sandboxes._os_sandbox import OsSandbox
from toolwright.backends.sandboxes._seatbelt import Seatbelt
from toolwright.backends.sandboxes._walls import Walls
from toolwright.errors import StoreError, UsageError

__all__ = ["open_executor", "open_sandbox"]


async def open_sandbox(
    workspace: str | Path,
    *,
    env: Mapping[str, str] | None = None,
    network: bool = False,
    allow_hosts: Sequence[str] = (),
    readable: Sequence[str | Path] = (),
    require: Sequence[str] = (),
    limits: Limits | None = None,
) -> OsSandbox:
    """A sandbox around real bash and CPython: bubblewrap, else Landlock, else macOS's own.

    `network` opens the whole network, `allow_hosts` only these hosts (`"pypi.org"`,
    `"*.example.com"`). `readable` are paths outside that may be read, such as tools in `/opt`, under
    the same names. `require` names `Capabilities` it must have. Raises `StoreError` when no
    sandbox works on this machine, and `UsageError` when none has what is required.
    """
    if network and allow_hosts:
        raise UsageError("Give network=True or allow_hosts=[…], not both.")
    walls = await _standing_walls()
    sandbox = await OsSandbox.open(
        workspace,
        walls,
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
) -> Executor:
    """A sandbox; where none works, this machine itself, but only with `allow_unsandboxed`."""
    try:
        return await open_sandbox(
            workspace, env=env, network=network, allow_hosts=allow_hosts, limits=limits
        )
    except StoreError as error:
        if allow_unsandboxed:
            return LocalExecutor(workspace, env=env, limits=limits)
        raise StoreError(
            f"{error} To run commands with no sandbox at all, say allow_unsandboxed=True."
        ) from error


async def _standing_walls() -> Walls:
    problems: list[str] = []
    for walls in (Bubblewrap(), Landlock(), Seatbelt()):
        problem = await walls.probe()
        if problem is None:
            return walls
        problems.append(problem)
    raise StoreError(f"No sandbox works on this machine: {'; '.join(problems)}.")
