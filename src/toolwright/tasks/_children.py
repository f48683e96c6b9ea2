"""Tasks that a task starts and waits for."""

from collections.abc import Sequence
from typing import Any

from toolwright.backends import Store
from toolwright.errors import ToolError
from toolwright.messages import PendingRequest
from toolwright.tasks._bell import Bell
from toolwright.tasks._queue import Queue
from toolwright.tasks._task import NewTask, Task
from toolwright.tools import FunctionTool, Output, Tool, ToolContext

__all__ = ["CHILDREN", "child_tasks_tool", "report_to_parent"]

CHILDREN = "child tasks"
"""The payload of a pending call that waits for child tasks."""


def child_tasks_tool(queue: Queue, bell: Bell, agent: str, name: str, description: str) -> Tool:
    """A tool that starts one task of `agent` per prompt and waits until all have ended."""

    async def start(prompts: list[str], tool_context: ToolContext) -> Output:
        """Start tasks.

        Args:
            prompts: What each task should do.
        """
        if not prompts:
            raise ToolError("Give at least one prompt.")
        if tool_context.task_id is None:
            raise ToolError("Child tasks can only be started by a task.")
        request = PendingRequest(kind="result", payload=CHILDREN)
        await tool_context.run.open_pending(tool_context, request)
        await queue.enqueue(_children(agent, prompts, tool_context))
        bell.ring("work")
        return Output(status="pending", request=request)

    # Repeating it is safe: each child has a key, so it is enqueued once.
    return FunctionTool(start, name=name, description=description, idempotent=True)


def _children(agent: str, prompts: Sequence[str], ctx: ToolContext) -> list[NewTask]:
    return [
        NewTask(
            agent=agent,
            prompt=prompt,
            owner_id=ctx.owner_id,
            idempotency_key=f"{ctx.idempotency_key}:{index}",
            parent_id=ctx.task_id,
            parent_call=ctx.function_call_id,
        )
        for index, prompt in enumerate(prompts)
    ]


async def report_to_parent(queue: Queue, store: Store, bell: Bell, task: Task) -> None:
    """Tell the parent, when this was the last of its children to end, how each ended."""
    children = await queue.family(task.id)
    if not children or not all(child.ended for _, child in children):
        return
    call = children[0][0]
    parent_id = children[0][1].parent_id or ""
    ends: list[dict[str, Any]] = [
        {"task_id": child.id, "status": child.status, "text": child.text or child.reason}
        for _, child in children
    ]
    await store.answer("tasks", parent_id, call, ends)
    if await queue.wake(parent_id):
        bell.ring("work")
