"""Tasks that a task starts and waits for."""

from collections.abc import Awaitable, Callable, Sequence

from toolwright.errors import ToolError
from toolwright.tasks._queue import Queue
from toolwright.tasks._store import CHILDREN
from toolwright.tasks._task import ASKED, COST, RULES, UNDER, UNRULED, NewTask, ParentClose
from toolwright.tools import FunctionTool, Output, Tool, ToolContext

__all__ = ["child_tasks_tool"]


def child_tasks_tool(
    queue: Queue,
    wake: Callable[[Sequence[str]], Awaitable[None]],
    agent: str,
    *,
    name: str,
    description: str,
    parent_close: ParentClose,
    where: str | None,
) -> Tool:
    """A tool that starts one task of `agent` per prompt and waits until all have ended.

    They wait in the queue `where`, or in that of the task that starts them.
    """

    async def start(prompts: list[str], tool_context: ToolContext) -> Output:
        """Start tasks.

        Args:
            prompts: What each task should do.
        """
        if not prompts:
            raise ToolError("Give at least one prompt.")
        if tool_context.task_id is None:
            raise ToolError("Child tasks can only be started by a task.")
        await wake(
            await queue.enqueue(_children(agent, prompts, tool_context, parent_close, where))
        )
        return Output.pending(kind="result", payload=CHILDREN)

    # Repeating it is safe: each child has a key, so it is enqueued once.
    # What a child has read is known to its own session alone.
    return FunctionTool(
        start, name=name, description=description, idempotent=True, trust="untrusted"
    )


def _children(
    agent: str,
    prompts: Sequence[str],
    ctx: ToolContext,
    parent_close: ParentClose,
    where: str | None = None,
) -> list[NewTask]:
    # Delegating is no way around a rule: the child's worker needs to know whose rules hold, and
    # the child's own rules may be about who is on the path and what the person asked for. A rule
    # on cost counts what was spent on the way here.
    run = ctx.run
    path = {UNDER: list(run.names), UNRULED: list(run.unruled), RULES: run.rule_records}
    inherited = {**path, ASKED: run.asked, COST: run.cost}
    return [
        NewTask(
            agent=agent,
            prompt=prompt,
            owner_id=ctx.owner_id,
            idempotency_key=f"{ctx.idempotency_key}:{index}",
            parent_id=ctx.task_id,
            parent_call=ctx.function_call_id,
            parent_close=parent_close,
            queue=where,
            inherited=inherited,
        )
        for index, prompt in enumerate(prompts)
    ]
