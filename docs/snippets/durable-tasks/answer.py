import anyio
from bank import orchestrator

from toolwright.tasks import Task


async def main() -> Task:
    task_id = await orchestrator.enqueue(
        "bank", "Pay 50 to Ada", owner_id="u1", idempotency_key="invoice-7"
    )
    worker = orchestrator.worker()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)  # elsewhere: toolwright worker bank:orchestrator
        async for event in orchestrator.events(task_id):
            if event.type == "pending_opened":
                break
        [(_, pending)] = await orchestrator.pending(task_id)
        said = await orchestrator.complete_deferred_tool(
            task_id=task_id, tool_call_id=pending.call_id, result={"status": "approved"}
        )
        print(said)  # accepted
        task = await orchestrator.wait(task_id, timeout=60)
        worker.drain()
    await orchestrator.close()
    return task


if __name__ == "__main__":
    print(anyio.run(main).text)
