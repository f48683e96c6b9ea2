"""Processes that run one session, forked from one that has everything imported.

Each line of its input, `[URL, LEDGER, TELL, HABIT, LEASE, WAIT]`, starts one. Its tool writes what it
did to LEDGER; what becomes of its run it writes to the pipe at TELL.
"""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from toolwright import Agent, Runner, tool
from toolwright.backends import SqlStore
from toolwright.errors import StoreConflict
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage
from toolwright.models import ModelRequest, OnDelta

HANG = "hang"
"""In its first call it pays and never comes back."""
STOP = "stop"
"""It stops itself between its first call and its second."""


class Model:
    """Wants `a` to be paid, then `b`."""

    name = "scripted:held"

    def __init__(self, before_second: Any) -> None:
        self._before_second = before_second

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        turn = sum(isinstance(message, ToolMessage) for message in request.history)
        if turn == 2:
            return ModelMessage(parts=(TextPart("paid"),))
        if turn == 1:
            self._before_second()
        call = ToolCall(
            call_id=f"c{turn}", name="pay", arguments=json.dumps({"invoice": "ab"[turn]})
        )
        return ModelMessage(parts=(call,), finish_reason="calls")


async def work(url: str, ledger: str, tell: str, habit: str, lease: float, wait: float) -> None:
    """Run the session, and say what came of it."""
    pipe = Path(tell).open("w", buffering=1)  # noqa: ASYNC230, SIM115 - until the process ends

    store = SqlStore(url, lease=lease)

    def stop() -> None:
        if habit != STOP:
            return
        heartbeat = store._holds._heartbeat
        assert heartbeat is not None
        # Not in the middle of a beat: SQLite would stay locked for everybody.
        with heartbeat._busy:
            print("stops", file=pipe)
            os.kill(os.getpid(), signal.SIGSTOP)

    @tool
    async def pay(invoice: str) -> str:
        """Pay; must never happen twice."""
        with Path(ledger).open("a") as file:  # noqa: ASYNC230 - it must be there when it is killed
            file.write(f"{invoice} by {os.getpid()}\n")
        if habit == HANG:
            print("pays", file=pipe)
            await anyio.sleep_forever()
        return f"paid {invoice}"

    agent = Agent(name="payer", model=Model(stop), tools=[pay])
    runner = Runner(agent, store=store, wait_if_held=wait)
    try:
        result = await runner.begin_or_resume("go", user_id="ada", session_id="s")
    except StoreConflict as error:
        print(f"{type(error).__name__}: {error}", file=pipe)
        return
    texts = [r.text for m in result.history if isinstance(m, ToolMessage) for r in m.results]
    print(f"{result.status}: {'; '.join(texts)}", file=pipe)


def main() -> None:
    """Fork a process for each line."""
    # Children are not waited for: they vanish when they die, as with any init.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            anyio.run(partial(work, *json.loads(line)))
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
