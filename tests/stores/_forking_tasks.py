"""A program that has listened for its tasks and forks; its children listen too, at the same time."""

import asyncio
import os
import sys

from toolwright import Agent
from toolwright.tasks import Orchestrator
from toolwright.tasks._bell import LocalBell
from toolwright.testing import ScriptedModel

made, opened = Orchestrator(sys.argv[1]), Orchestrator(sys.argv[1])
made.register(Agent(name="a", model=ScriptedModel(*["done"] * 9)))


async def begin() -> str:
    await opened.open()
    return await made.enqueue("a", "go")


async def wait(listening: int) -> None:
    await made.open()
    await opened.open()
    os.write(listening, b"x")
    for orchestrator in (made, opened):
        assert (await orchestrator.wait(task_id, timeout=20)).status == "COMPLETED"
        await orchestrator.close()


async def work() -> None:
    worker = made.worker()
    running = asyncio.create_task(worker.run())
    assert (await made.wait(task_id, timeout=20)).status == "COMPLETED"
    worker.drain()
    await running


def in_a_child() -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.close(reading)
        asyncio.run(wait(writing))
    except BaseException as error:
        print(type(error).__name__, error, file=sys.stderr)
        os._exit(1)
    os._exit(0)


task_id = asyncio.run(begin())
socket = opened.bell._path if isinstance(opened.bell, LocalBell) else None
reading, writing = os.pipe()
children = [in_a_child(), in_a_child()]
os.close(writing)
heard = os.read(reading, 1) + os.read(reading, 1)
asyncio.run(work())
ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
assert (ends, heard) == ([0, 0], b"xx"), (ends, heard)
assert socket is None or socket.exists()
