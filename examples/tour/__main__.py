"""Open the tour's folder, start the server on embedded defaults, print one address."""

import argparse
import logging
import socket
from dataclasses import replace
from pathlib import Path

import anyio
from starlette.applications import Starlette

from examples.tour._home import open_home, tour_folder
from examples.tour._models import offered_models
from examples.tour._story import SUGGESTIONS
from examples.tour._tools import workshop_tools
from toolwright import Agent, Runner
from toolwright.backends import DirectoryArtifacts, open_sandbox, sqlite_address
from toolwright.backends.executors import Executor
from toolwright.backends.files import FilesystemBackend
from toolwright.cli._log import log_lines
from toolwright.errors import StoreError, UsageError
from toolwright.serve import ModelChoice, ServeSettings, Welcome, create_app, serve_app
from toolwright.tasks import Orchestrator

__all__ = ["main", "make_app"]

_INSTRUCTIONS = (
    "You look after a small shop's software in the current folder. Keep a plan with write_todos, "
    "read before you edit, and run the tests with `python3 -m unittest`."
)
_WITHOUT_SHELL = (
    "You look after a small shop's software in the current folder. Keep a plan with write_todos and "
    "read before you edit. There is no shell on this machine; say so when one is needed."
)


def main() -> None:
    """Serve the tour until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m examples.tour", description=__doc__)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--recorded", action="store_true", help="offer no real model")
    parser.add_argument("--afresh", action="store_true", help="forget all that was done before")
    chosen = parser.parse_args()
    log_lines(logging.WARNING, verbose=False)
    try:
        settings = ServeSettings(port=chosen.port, work=True)
        settings = replace(settings, port=_free_or_any(settings.port))
        with open_home(tour_folder(), afresh=chosen.afresh) as home:
            _serve(home, settings, recorded_only=chosen.recorded)
    except UsageError as error:
        raise SystemExit(str(error)) from error


def _serve(home: Path, settings: ServeSettings, *, recorded_only: bool) -> None:
    shell = open_shell(home / "till")
    models = offered_models(home / "till", shell=shell is not None, recorded_only=recorded_only)
    try:
        serve_app(lambda final: make_app(home, models, shell, final), settings)
    finally:
        if shell is not None:
            anyio.run(shell.close)


def open_shell(folder: Path) -> Executor | None:
    """A sandbox around the folder; None, and no shell at all, where none works."""

    async def opened() -> Executor:
        return await open_sandbox(folder)

    try:
        return anyio.run(opened)
    except StoreError as error:
        logging.getLogger(__name__).warning("The tour has no shell: %s", error)
        return None


def _free_or_any(port: int) -> int:
    """The port, unless something else has it already: then any free one."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return port
    except OSError:
        return 0


def make_app(
    home: Path, models: ModelChoice, shell: Executor | None, settings: ServeSettings
) -> Starlette:
    """The tour's server: sessions, tasks, artifacts and the project all below `home`."""
    folder = home / "till"
    agent = Agent(
        name="workshop",
        description="Looks after the cash till of a small shop: reads, tests, fixes, releases.",
        model=models,
        instructions=_INSTRUCTIONS if shell else _WITHOUT_SHELL,
        tools=workshop_tools(folder, shell),
    )
    artifacts = DirectoryArtifacts(home / "artifacts")
    store = sqlite_address(home / "sessions.db")
    tasks = Orchestrator(sqlite_address(home / "tasks.db"))
    tasks.register(agent, artifacts=artifacts)
    return create_app(
        Runner(agent, app_name="workshop", store=store, artifacts=artifacts),
        settings=settings,
        files=FilesystemBackend(folder),
        tasks=tasks,
        models=models,
        welcome=Welcome(suggestions=SUGGESTIONS),
    )


if __name__ == "__main__":
    main()
