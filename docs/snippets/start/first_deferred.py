"""A first deferred tool: the task waits for a webhook, and costs nothing while it does."""

import asyncio

import anyio

from toolwright import Agent, ToolContext, deferred_tool
from toolwright.tasks import Orchestrator, Task
from toolwright.testing import ScriptedModel, call


@deferred_tool(timeout=3600)
async def request_payment(amount: int, ctx: ToolContext) -> None:
    """Ask the bank for a payment; its webhook brings the result."""
    print(f"asked the bank for {amount}: task {ctx.task_id}, call {ctx.pending_id}")


async def main() -> Task:
    model = ScriptedModel(call("request_payment", amount=50), "Ada has been paid.")
    orchestrator = Orchestrator("sqlite:///tasks.db")
    orchestrator.register(Agent(name="bank", model=model, tools=[request_payment]), workers=10)
    worker = orchestrator.worker()

    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        task_id = await orchestrator.enqueue("bank", "Pay 50 to Ada", idempotency_key="invoice-7")
        while not (task := await orchestrator.status(task_id)).ended:
            for _, pending in await orchestrator.pending(task_id):
                answered = await orchestrator.complete_deferred_tool(  # what the webhook does
                    task_id=task_id, tool_call_id=pending.call_id, result={"status": "approved"}
                )
                print(answered)
            await orchestrator.changed(1.0)
        print(task.status, task.text)
        worker.drain()
    await orchestrator.close()
    return task


if __name__ == "__main__":
    asyncio.run(main())
