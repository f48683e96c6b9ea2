"""Worker processes for the chaos tests, forked from one that has everything imported.

Each line of its input, `[URL, LOG, KILL_AT]`, starts a worker on a task whose tools write what
they did to LOG. It kills itself before (even numbers) or after (odd numbers) the KILL_AT-th time
that the journal is written.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio

from toolwright import Agent, ToolContext, deferred_tool, tool
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.tasks import Orchestrator
from toolwright.tasks._store import TaskStore

LEASE = 0.5
STOP = "stop"
BLOCK = "block"
DIE = "die"
"""Instead of a number: in the middle of a tool the process is stopped, its event loop held up, or it
dies."""
END = "charged, looked up, approved and sent"


class Model:
    """Says the same at the same point of the conversation, whatever the results were."""

    name = "scripted:story"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        turn = sum(isinstance(message, ToolMessage) for message in request.history)
        calls: Sequence[tuple[str, str]] = (
            [("charge", "a"), ("look_up", "b")], [("approve", "c")], [("send", "d")], []
        )[turn]  # fmt: skip
        if not calls:
            return ModelMessage(parts=(TextPart(END),))
        parts = tuple(ToolCall(call_id=call_id, name=name) for name, call_id in calls)
        return ModelMessage(parts=parts, finish_reason="calls")


def tools(log: Path, habit: str = "") -> list[Any]:
    def note(what: str) -> None:
        with log.open("a") as file:
            file.write(f"{what}\n")
            file.flush()
            os.fsync(file.fileno())

    @tool
    async def charge() -> str:
        """Take money; must never happen twice."""
        note("charge")
        if habit == STOP:
            os.kill(os.getpid(), signal.SIGSTOP)
        if habit == BLOCK:
            time.sleep(3 * LEASE)  # noqa: ASYNC251 - what badly written tools do
        return "charged"

    @tool(effects="read")
    async def look_up() -> str:
        """Only reads."""
        note("look_up")
        if habit == DIE:
            os.kill(os.getpid(), signal.SIGKILL)
        return "found"

    @deferred_tool(timeout=60)
    async def approve(ctx: ToolContext) -> None:
        """Ask somebody."""
        note("approve")

    @tool(idempotent=True)
    async def send(tool_context: ToolContext) -> str:
        """Send under a key, so that it may be repeated."""
        note(f"send {tool_context.idempotency_key}")
        return "sent"

    return [charge, look_up, approve, send]


def orchestrator(url: str, log: Path, habit: str = "") -> Orchestrator:
    made = Orchestrator(url, lease=LEASE)
    made.register(Agent(name="shop", model=Model(), tools=tools(log, habit)), workers=2)
    return made


def kill_at_append(store: TaskStore, kill_at: int) -> None:
    """Have the process killed before or after a given append."""
    append, left, after = store.append, kill_at // 2, kill_at % 2 == 1

    async def kill(scope: Any, events: Any, hold: Any = None, **settings: Any) -> None:
        nonlocal left
        last = left == 0
        left -= 1
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        await append(scope, events, hold, **settings)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    store.append = kill  # type: ignore[method-assign]


async def work(url: str, log: str, kill_at: str = "") -> None:
    made = orchestrator(url, Path(log), kill_at)
    if kill_at.isdigit():
        kill_at_append(made.store, int(kill_at))
    await made.worker().run()


def main() -> None:
    # Children are not waited for: they vanish when they die, as with any init.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        words = json.loads(line)
        if words[0].startswith("temporal:"):
            import_module("toolwright.tasks._temporal")  # once, not in each of them
        pid = os.fork()
        if pid == 0:
            anyio.run(partial(work, *words))
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
