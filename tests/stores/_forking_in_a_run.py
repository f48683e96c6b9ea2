"""A program that forks while a run is going; for its child that run is another process's."""

import asyncio
import os
import sys
import threading
import traceback

import pytest

from toolwright import Agent, Runner, tool
from toolwright.backends import SqlStore
from toolwright.errors import SessionHeld
from toolwright.testing import ScriptedModel, call

statuses: list[int] = []


async def in_child() -> None:
    assert not runner.is_going("s")
    assert not runner.cancel("s")
    assert await runner.steer("s", "hello") is False
    with pytest.raises(SessionHeld, match=f"process {os.getppid()} on"):
        await runner.run("mine", session_id="s")
    assert (await runner.run("mine", session_id="own")).text == "end"


def child() -> None:
    try:
        asyncio.run(asyncio.wait_for(in_child(), 20))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


@tool
async def fork() -> str:
    """Fork."""
    pid = os.fork()
    if not pid:
        thread = threading.Thread(target=child)
        thread.start()
        thread.join()
    _, status = await asyncio.to_thread(os.waitpid, pid, 0)
    statuses.append(os.waitstatus_to_exitcode(status))
    assert runner.is_going("s")
    return "forked"


model = ScriptedModel(call("fork"), "end", "next")
runner = Runner(Agent(name="a", model=model, tools=[fork]), store=SqlStore(sys.argv[1]))
assert asyncio.run(runner.run("x", session_id="s")).text == "end"
assert asyncio.run(runner.run("y", session_id="s")).text == "next"
sys.exit(statuses[0])
