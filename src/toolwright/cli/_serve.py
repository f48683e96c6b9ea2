"""`toolwright serve`."""

from toolwright.cli import _exit as exits
from toolwright.cli._options import ModelOption, StoreOption
from toolwright.cli._target import open_runner
from toolwright.serve import ServeSettings, create_app, serve_app

__all__ = ["serve"]


def serve(
    target: str | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    model: ModelOption = None,
    store: StoreOption = None,
) -> int:
    """Serve an agent over HTTP, with the web workbench.

    Parameters
    ----------
    target
        An agent.yaml, or MODULE:OBJECT; ./agent.yaml if not given.
    """
    runner = open_runner(target, model, store)
    serve_app(
        lambda settings: create_app(runner, settings=settings), ServeSettings(host=host, port=port)
    )
    return exits.DONE
