"""`toolwright worker` and `toolwright tasks`."""

import json as json_text
import signal
from collections.abc import Sequence
from typing import Annotated, Any

import anyio
from cyclopts import Parameter
from rich.console import Console
from rich.live import Live
from rich.table import Table

from toolwright.cli import _exit as exits
from toolwright.cli._options import JsonOption
from toolwright.errors import UsageError
from toolwright.kits import import_object
from toolwright.messages import encode_event
from toolwright.tasks import Orchestrator, Task, TaskStatus

__all__ = [
    "open_orchestrator",
    "tasks_cancel",
    "tasks_complete",
    "tasks_list",
    "tasks_retry",
    "tasks_show",
    "tasks_steer",
    "tasks_watch",
    "worker",
]

Where = Annotated[
    str,
    Parameter(
        name="--from",
        env_var="TOOLWRIGHT_TASKS",
        help="MODULE:ORCHESTRATOR, or a database address.",
    ),
]
_DEFAULT = "sqlite:///tasks.db"


def open_orchestrator(where: str) -> Orchestrator:
    """The orchestrator that is named, or one for a database address."""
    if "://" in where:
        return Orchestrator(where)
    found = import_object(where)
    if not isinstance(found, Orchestrator):
        raise UsageError(f"{where!r} is {found!r}; wanted an Orchestrator.")
    return found


def worker(orchestrator: str, /) -> int:
    """Work on tasks until interrupted; then what is running is finished first.

    Parameters
    ----------
    orchestrator
        MODULE:ORCHESTRATOR, with its agents registered.
    """

    async def main() -> None:
        found = open_orchestrator(orchestrator)
        working = found.worker()
        print(f"{working.name} works for {', '.join(found.agents)}; Ctrl-C drains it", flush=True)

        async def drain_on_signal(scope: anyio.CancelScope) -> None:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                await anext(signals)
                print("draining: nothing new is taken; again to give back what runs", flush=True)
                working.drain()
                await anext(signals)
                scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(drain_on_signal, group.cancel_scope)
            await working.run()
            group.cancel_scope.cancel()
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_list(
    *,
    where: Where = _DEFAULT,
    status: TaskStatus | None = None,
    agent: str | None = None,
    owner: str | None = None,
    limit: int = 50,
    json: JsonOption = False,
) -> int:
    """List tasks, newest first."""

    async def main() -> None:
        found = open_orchestrator(where)
        for task in await found.list(status=status, agent=agent, owner_id=owner, limit=limit):
            print(json_text.dumps(_row(task)) if json else _line(task))
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_show(task_id: str, /, *, where: Where = _DEFAULT, json: JsonOption = False) -> int:
    """Show a task, what it waits for, and with --json all its events."""

    async def main() -> None:
        found = open_orchestrator(where)
        task = await found.status(task_id)
        print(json_text.dumps(_row(task), indent=None if json else 2))
        for _, pending in await found.pending(task_id):
            print(f"waits: {pending.call_id} {pending.name} ({pending.kind}) {pending.hint}")
        if json:
            for event in await found.stored_events(task_id):
                print(encode_event(event))
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_cancel(task_id: str, /, *, where: Where = _DEFAULT) -> int:
    """Cancel a task."""
    return _do(where, lambda found: found.cancel(task_id), "cancelled", "it had ended already")


def tasks_retry(task_id: str, /, *, where: Where = _DEFAULT) -> int:
    """Go on with a failed or cancelled task where it stopped."""
    return _do(where, lambda found: found.retry(task_id), "queued again", "it has not failed")


def tasks_steer(task_id: str, message: str, /, *, where: Where = _DEFAULT) -> int:
    """Put a message into a task."""
    return _do(where, lambda found: found.steer(task_id, message), "sent", "")


def tasks_complete(task_id: str, call_id: str, result: str, /, *, where: Where = _DEFAULT) -> int:
    """Answer a call that a task waits for.

    Parameters
    ----------
    result
        JSON, or text as it is.
    """
    try:
        value: Any = json_text.loads(result)
    except ValueError:
        value = result

    async def main() -> int:
        found = open_orchestrator(where)
        answered = await found.complete_deferred_tool(
            task_id=task_id, tool_call_id=call_id, result=value
        )
        print(answered)
        await found.close()
        return exits.DONE if answered == "accepted" else exits.FAILED

    return anyio.run(main)


def tasks_watch(*, where: Where = _DEFAULT) -> int:
    """Watch the queue live; Ctrl-C leaves."""

    async def main() -> None:
        found = open_orchestrator(where)
        async with anyio.create_task_group() as group:
            group.start_soon(_leave_on_interrupt, group.cancel_scope)
            with Live(console=Console(), refresh_per_second=4) as live:
                while True:
                    live.update(_table(await found.queue.counts(), await found.list(limit=15)))
                    await found.changed(1.0)
        await found.close()

    anyio.run(main)
    return exits.CANCELLED


async def _leave_on_interrupt(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


def _do(where: str, act: Any, yes: str, no: str) -> int:
    async def main() -> int:
        found = open_orchestrator(where)
        done = await act(found)
        print(yes if done else no)
        await found.close()
        return exits.DONE if done else exits.FAILED

    return anyio.run(main)


def _row(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in task.__dataclass_fields__}


def _line(task: Task) -> str:
    said = (task.text or task.reason).splitlines()
    return f"{task.id}  {task.status:<22} {task.agent:<16} {task.owner_id:<12} {said[0][:60] if said else ''}"


def _table(counts: dict[tuple[str, str], int], tasks: Sequence[Task]) -> Table:
    total = "  ".join(
        f"{agent} {status}: {count}" for (agent, status), count in sorted(counts.items())
    )
    table = Table(title=total or "no tasks", title_justify="left")
    table.add_column("task", no_wrap=True)
    for column in ("status", "agent", "owner", "said"):
        table.add_column(column)
    for task in tasks:
        table.add_row(
            task.id, task.status, task.agent, task.owner_id, (task.text or task.reason)[:50]
        )
    return table
