"""One of several servers over one store, as a process that can be killed: `… FOLDER` prints its address.

Its agent wipes staging, if a person lets it, and then speaks its last sentence once `FOLDER/go` is there.
"""

import os
import sys
from pathlib import Path

import anyio

from toolwright import Agent, Runner, tool
from toolwright.messages import ModelMessage, ToolMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.serve import ServeSettings, _background, create_app, serve_app
from toolwright.testing import ScriptedModel, call

FOLDER = Path(sys.argv[1])


def print_now(text: str) -> None:
    print(text, flush=True)


@tool(require_confirmation=True)
async def wipe(target: str) -> str:
    """Wipe a target for good."""
    with (FOLDER / "wiped").open("a") as ledger:
        ledger.write(f"{target} {os.getpid()}\n")
    return "wiped"


async def reply(request: ModelRequest) -> object:
    if not isinstance(request.history[-1], ToolMessage):
        return call("wipe", target="staging")
    while not (FOLDER / "go").exists():  # noqa: ASYNC110  another process makes it
        await anyio.sleep(0.01)
    return "Done."


class Model:
    """Says the same in every process."""

    name = "test:several"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        return await ScriptedModel(reply).respond(request, on_delta)


if __name__ == "__main__":
    _background._SUCCESSION_SECONDS = 0.1
    runner = Runner(
        Agent(name="cleaner", model=Model(), tools=[wipe]),
        app_name="test",
        store=f"sqlite:///{FOLDER}/s.db",
    )
    settings = ServeSettings(port=0, requests_per_second=0)
    serve_app(lambda made: create_app(runner, settings=made, close=True), settings, print_now)
