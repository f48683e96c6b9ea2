"""Set up a scratch folder, start the server on embedded defaults, print one address."""

import argparse
import shutil
import socket
import tempfile
from pathlib import Path

from starlette.applications import Starlette

from examples.tour._model import TourModel
from examples.tour._project import write_project
from examples.tour._story import CHAPTERS, NOTICE, OTHERWISE, SUGGESTIONS
from examples.tour._tools import workshop_tools
from toolwright import Agent, Runner, UsageError
from toolwright.backends import DirectoryArtifacts
from toolwright.backends.files import FilesystemBackend
from toolwright.cli._models import choose_model
from toolwright.models import Model
from toolwright.serve import ServeSettings, Welcome, create_app, serve_app
from toolwright.tasks import Orchestrator

__all__ = ["main", "make_app"]

_INSTRUCTIONS = (
    "You look after a small shop's software in the current folder. Keep a plan with write_todos, "
    "read before you edit, and run the tests with `python -m unittest`."
)


def main() -> None:
    """Serve the tour until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m examples.tour", description=__doc__)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--recorded", action="store_true", help="never use a real model")
    chosen = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="toolwright-tour-"))
    settings = ServeSettings(port=_free_or_any(chosen.port), work=True)
    model = _recording() if chosen.recorded else _model()
    try:
        serve_app(lambda final: make_app(scratch, model, final), settings)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _free_or_any(port: int) -> int:
    """The port, unless something else has it already: then any free one."""
    with socket.socket() as probe:
        return 0 if probe.connect_ex(("127.0.0.1", port)) == 0 else port


def make_app(scratch: Path, model: Model, settings: ServeSettings) -> Starlette:
    """The tour's server: sessions, tasks, artifacts and the project all below `scratch`."""
    folder = scratch / "till"
    write_project(folder)
    agent = Agent(
        name="workshop",
        description="Looks after the cash till of a small shop: reads, tests, fixes, releases.",
        model=model,
        instructions=_INSTRUCTIONS,
        tools=workshop_tools(folder),
    )
    artifacts = DirectoryArtifacts(scratch / "artifacts")
    store = f"sqlite:///{scratch}/sessions.db"
    tasks = Orchestrator(f"sqlite:///{scratch}/tasks.db")
    tasks.register(agent, artifacts=artifacts)
    recorded = isinstance(model, TourModel)
    return create_app(
        Runner(agent, app_name="workshop", store=store, artifacts=artifacts),
        settings=settings,
        files=FilesystemBackend(folder),
        tasks=tasks,
        welcome=Welcome(notice=NOTICE if recorded else "", suggestions=SUGGESTIONS),
    )


def _model() -> Model:
    """A real model where a key or a local server is found, the recording elsewhere."""
    try:
        return choose_model(None, None)
    except UsageError:
        return _recording()


def _recording() -> TourModel:
    return TourModel(CHAPTERS, OTHERWISE)


if __name__ == "__main__":
    main()
