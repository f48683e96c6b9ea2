"""`toolwright serve`."""

import logging
from typing import Annotated

from cyclopts import Parameter

from toolwright.backends.files import FilesystemBackend
from toolwright.cli import _exit as exits
from toolwright.cli._log import log_lines
from toolwright.cli._options import (
    USER,
    AgentOption,
    ModelOption,
    StoreOption,
    VerboseOption,
    refuse_empty,
    unless_blank,
)
from toolwright.cli._out import note
from toolwright.cli._target import Target, open_runner
from toolwright.cli._tasks import open_orchestrator
from toolwright.errors import UsageError
from toolwright.serve import ServeSettings, create_app, serve_app
from toolwright.tasks import current_task

__all__ = ["serve"]

Token = Annotated[
    str | None,
    Parameter(
        env_var="TOOLWRIGHT_TOKEN",
        env_var_split=unless_blank,
        help="Asked of every request; made if others can reach it.",
    ),
]
Tasks = Annotated[
    str | None, Parameter(help="MODULE:ORCHESTRATOR or a database address: also show its tasks.")
]
Files = Annotated[str | None, Parameter(help="Show the files of this directory.")]
Work = Annotated[bool, Parameter(negative=(), help="Also work on the tasks of --tasks.")]
AgUi = Annotated[bool, Parameter(name="--agui", negative=(), help="Also speak AG-UI, at /agui.")]


def serve(
    agent: AgentOption = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    model: ModelOption = None,
    store: StoreOption = None,
    token: Token = None,
    tasks: Tasks = None,
    files: Files = None,
    work: Work = False,
    agui: AgUi = False,
    verbose: VerboseOption = False,
) -> int:
    """Serve an agent over HTTP, with the web workbench.

    What goes wrong meanwhile is a line on standard error.
    """
    refuse_empty({"--host": host, "--tasks": tasks, "--files": files})
    if work and tasks is None:
        raise UsageError("--work works on the tasks of --tasks: add --tasks MODULE:ORCHESTRATOR.")
    settings = ServeSettings(host=host, port=port, token=token, work=work, agui=agui, user_id=USER)
    log_lines(logging.WARNING, verbose=verbose, task=current_task.get)
    runner = open_runner(Target(agent=agent, model=model, store=store))
    shown = None if files is None else FilesystemBackend(files)
    queue = None if tasks is None else open_orchestrator(tasks)
    serve_app(
        lambda final: create_app(runner, settings=final, files=shown, tasks=queue, close=True),
        settings,
        note,
    )
    return exits.DONE
