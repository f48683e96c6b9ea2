from pathlib import Path

from starlette.applications import Starlette

from toolwright import Agent, Runner
from toolwright.backends import sqlite_address
from toolwright.serve import ServeSettings, create_app
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel


def make_app(folder: Path) -> Starlette:
    agent = Agent(name="clerk", model=ScriptedModel("Filed."))
    orchestrator = Orchestrator(sqlite_address(folder / "tasks.db"))
    orchestrator.register(agent, workers=4)
    runner = Runner(agent, app_name="clerk", store=sqlite_address(folder / "sessions.db"))
    # work=True works on tasks here; leave it out when `toolwright worker` runs elsewhere.
    return create_app(runner, settings=ServeSettings(work=True), tasks=orchestrator)
