"""`toolwright tasks`: list, show, watch, answer, cancel, retry and steer durable tasks; dead letters."""

import json as json_text
import re
import shlex
import signal
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

import anyio
from cyclopts import Parameter
from rich.table import Table

from toolwright.cli import _exit as exits
from toolwright.cli._answer import RejectOption, answer_value
from toolwright.cli._go import LOST
from toolwright.cli._options import JsonOption, unless_blank
from toolwright.cli._out import note, say, say_line
from toolwright.cli._parts import named_files
from toolwright.cli._state import has_tables
from toolwright.cli._terminal import Terminal, make_table
from toolwright.cli._trust import import_trusted
from toolwright.cli._words import find_call, how_to_answer, question, quoted_id
from toolwright.errors import UsageError
from toolwright.messages import Approve, ModelReplied, Pending, encode_event, jsonable
from toolwright.tasks import Orchestrator, Task, TaskStatus

__all__ = [
    "DEFAULT",
    "Where",
    "existing",
    "open_orchestrator",
    "tasks_answer",
    "tasks_cancel",
    "tasks_dead",
    "tasks_list",
    "tasks_prune",
    "tasks_retry",
    "tasks_show",
    "tasks_steer",
    "tasks_watch",
]

Where = Annotated[
    str,
    Parameter(
        name="--from",
        env_var="TOOLWRIGHT_TASKS",
        env_var_split=unless_blank,
        help="MODULE:ORCHESTRATOR, or a database address.",
    ),
]
DEFAULT = "sqlite:///tasks.db"
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_CHECKED_LATER = (
    "The arguments fit the schema; the tool itself checks them when the task goes on, and asks again "
    "if they do not fit. With --from MODULE:ORCHESTRATOR it checks them at once."
)


_NAMED = 5
"""How many ids a message names."""
_SHORTEST = 4
"""How much of an id is enough to mean it, if no other begins so."""


def open_orchestrator(where: str) -> Orchestrator:
    """The orchestrator that is named, or one for a database address."""
    if "://" in where:
        return Orchestrator(where)
    found = import_trusted(where)
    if not isinstance(found, Orchestrator):
        raise UsageError(f"{where!r} is {found!r}; wanted an Orchestrator.")
    return found


def existing(where: str) -> Orchestrator:
    """`open_orchestrator`, for commands that have nothing to do where there are no tasks."""
    found = open_orchestrator(where)
    if not has_tables(found.database_url, "tasks"):
        raise UsageError(
            f"There is no database with tasks at {found.store.database}; --from says where it is."
        )
    return found


async def _find(found: Orchestrator, task_id: str) -> Task:
    """The task with this id, or the only one whose id begins so; `UsageError` names several."""
    short = len(task_id) < _SHORTEST
    near = [] if short else await found.queue.beginning_with(task_id, _NAMED + 1)
    if len(near) > 1 and task_id not in near:
        more = ", …" if len(near) > _NAMED else ""
        ids = ", ".join(near[:_NAMED])
        raise UsageError(f"Several tasks have ids that begin with {task_id!r}: {ids}{more}.")
    return await found.status(near[0] if len(near) == 1 else task_id)


def tasks_list(
    *,
    where: Where = DEFAULT,
    status: TaskStatus | None = None,
    agent: str | None = None,
    owner: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    text: str | None = None,
    younger: str | None = None,
    after: str | None = None,
    limit: int = 50,
    json: JsonOption = False,
) -> int:
    """List tasks, newest first.

    Parameters
    ----------
    text
        Words of the prompt; of the last one, its beginning is enough.
    younger
        Enqueued no longer ago than this: 30d, 12h, 90m, 45s or 2w.
    after
        The id of the last task of the page before.
    """
    since = None if younger is None else time.time() - _age("--younger", younger).total_seconds()

    async def main() -> None:
        found = existing(where)
        tasks = await found.list(
            status=status, agent=agent, owner_id=owner, queue=queue, tag=tag, text=text, since=since,
            after=after, limit=limit,
        )  # fmt: skip
        if not tasks:
            note("no tasks" if not status else f"no tasks are {status}")
        for task in tasks:
            say_line(json_text.dumps(_row(task)) if json else _line(task))
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_show(task_id: str, /, *, where: Where = DEFAULT, json: JsonOption = False) -> int:
    """Show a task, what it waits for, and with --json all its events."""

    async def main() -> None:
        found = existing(where)
        task = await _find(found, task_id)
        waiting = [pending for _, pending in await found.pending(task.id)]
        if json:
            say(json_text.dumps({**_row(task), "pending": jsonable(waiting)}))
            for event in await found.stored_events(task.id):
                say_line(encode_event(event))
        else:
            say(json_text.dumps(_row(task), indent=2))
            for file in await _files_of(found, task):
                say_line(file)
            for pending in waiting:
                say(_waits(task.id, pending, where))
        await found.close()

    anyio.run(main)
    return exits.DONE


async def _files_of(found: Orchestrator, task: Task) -> list[str]:
    """The pictures and files of the final message, of which its text says nothing."""
    if task.status != "COMPLETED":
        return []
    events = await found.stored_events(task.id)
    replies = [e.message for e in events if isinstance(e, ModelReplied)]
    # Of a workflow whose last step is no agent, the last message is not the answer.
    final = replies[-1:] if replies and replies[-1].text == task.text else []
    return [file for message in final for file in named_files(message.parts)]


def _waits(task_id: str, pending: Pending, where: str) -> str:
    there = "" if where == DEFAULT else f" --from {shlex.quote(where)}"
    command = f"toolwright tasks answer {task_id} {quoted_id(pending)}{there}"
    return f"\n{question(pending)}\n{how_to_answer(pending, command)}"


def tasks_cancel(task_id: str, /, *, where: Where = DEFAULT) -> int:
    """Cancel a task."""
    return _do(where, task_id, Orchestrator.cancel, "cancelled", "it had ended already")


def tasks_dead(
    *,
    where: Where = DEFAULT,
    agent: str | None = None,
    owner: str | None = None,
    limit: int = 50,
    json: JsonOption = False,
) -> int:
    """List failed tasks and why each failed, the latest failure first."""

    async def main() -> None:
        found = existing(where)
        tasks = await found.dead_letters(agent=agent, owner_id=owner, limit=limit)
        if not tasks:
            note("no tasks have failed")
        for task in tasks:
            reason = " ".join(task.reason.split())
            line = f"{task.id}  {task.agent:<16} {task.owner_id:<12} {reason}"
            say_line(json_text.dumps(_row(task)) if json else line)
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_retry(
    task_id: str | None = None,
    /,
    *,
    dead: Annotated[bool, Parameter(negative=(), help="All that `tasks dead` lists.")] = False,
    agent: str | None = None,
    owner: str | None = None,
    where: Where = DEFAULT,
) -> int:
    """Go on with a failed or cancelled task where it stopped, or with all that have failed.

    Parameters
    ----------
    task_id
        The task's id.
    agent
        With --dead: only this agent's.
    owner
        With --dead: only this owner's.
    """
    if (task_id is None) != dead:
        raise UsageError("tasks retry takes the id of a task, or --dead for all that have failed.")
    if task_id is not None:
        if agent is not None or owner is not None:
            raise UsageError("--agent and --owner choose among --dead; give either them or an id.")
        return _do(where, task_id, Orchestrator.retry, "queued again", "it has not failed")

    async def main() -> None:
        found = existing(where)
        say(f"queued again: {await found.retry_dead_letters(agent=agent, owner_id=owner)}")
        await found.close()

    anyio.run(main)
    return exits.DONE


def _age(option: str, words: str) -> timedelta:
    found = _AGE.fullmatch(words.strip())
    if found is None:
        raise UsageError(f"{option} is a number with s, m, h, d or w, such as 30d; got {words!r}.")
    return timedelta(**{_UNITS[found[2]]: float(found[1])})


def tasks_prune(
    *,
    older: str,
    agent: str | None = None,
    status: Literal["COMPLETED", "FAILED", "CANCELLED"] | None = None,
    where: Where = DEFAULT,
) -> int:
    """Forget tasks that ended long ago, with their journals.

    Parameters
    ----------
    older
        How long ago: 30d, 12h, 90m, 45s or 2w.
    agent
        Only this agent's. Artifacts are deleted where --from is MODULE:ORCHESTRATOR with the agent.
    status
        Only those that ended so.
    """
    age = _age("--older", older)

    async def main() -> None:
        orchestrator = existing(where)
        say(f"pruned: {await orchestrator.prune(age, agent=agent, status=status)}")
        await orchestrator.close()

    anyio.run(main)
    return exits.DONE


def tasks_steer(task_id: str, message: str, /, *, where: Where = DEFAULT) -> int:
    """Put a message into a task."""
    return _do(where, task_id, lambda found, task: found.steer(task, message), "sent", "")


def tasks_answer(
    task_id: str,
    call: str,
    /,
    *answer: str,
    reject: RejectOption = None,
    where: Where = DEFAULT,
) -> int:
    """Answer a call that a task waits for; a worker then goes on with it.

    Parameters
    ----------
    task_id
        The task's id.
    call
        The call's id; `toolwright tasks show` has it.
    answer
        approve, reject REASON, always [WHAT] or edit '{…}' for a confirmation; for other calls the value,
        as JSON or as text.
    """

    async def main() -> int:
        found = existing(where)
        task = await _find(found, task_id)
        waiting = [pending for _, pending in await found.pending(task.id)]
        pending = find_call(waiting, call)
        if pending is None:
            known = ", ".join(pending.call_id for pending in waiting)
            these = f"; these do: {known}" if known else ""
            raise UsageError(
                f"Call {call!r} of task {task.id} ({task.status}) does not wait{these}."
            )
        value = await answer_value(pending, answer, reject)
        outcome = await found.answer(task_id=task.id, tool_call_id=pending.call_id, result=value)
        await found.close()
        if outcome == "accepted":
            say("accepted")
            edited = isinstance(value, Approve) and value.arguments is not None
            if edited and task.agent not in found.agents:
                note(_CHECKED_LATER)
            return exits.DONE
        note(LOST.get(outcome, outcome))
        return exits.FAILED

    return anyio.run(main)


def tasks_watch(*, where: Where = DEFAULT) -> int:
    """Watch the queue live; Ctrl-C leaves."""

    async def main() -> None:
        found = existing(where)
        async with anyio.create_task_group() as group:
            group.start_soon(_leave_on_interrupt, group.cancel_scope)
            with Terminal().live() as live:
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


def _do(where: str, task_id: str, act: Any, yes: str, no: str) -> int:
    async def main() -> int:
        found = existing(where)
        done = await act(found, (await _find(found, task_id)).id)
        say(yes if done else no)
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
    rows = [
        [task.id, task.status, task.agent, task.owner_id, (task.text or task.reason)[:50]]
        for task in tasks
    ]
    return make_table(total or "no tasks", ["task", "status", "agent", "owner", "said"], rows)
