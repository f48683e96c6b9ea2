"""`toolwright tasks schedule`, `schedules` and `unschedule`: tasks that start by the clock."""

import json as json_text
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import anyio
from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._options import JsonOption
from toolwright.cli._out import note, say, say_line
from toolwright.cli._tasks import DEFAULT, Where, existing, open_orchestrator
from toolwright.tasks import Schedule

__all__ = ["tasks_schedule", "tasks_schedules", "tasks_unschedule"]


def tasks_schedule(
    agent: str,
    prompt: str,
    /,
    *,
    cron: str,
    timezone: str = "UTC",
    name: str = "",
    missed: Literal["run", "skip"] = "run",
    overlap: Literal["allow", "skip"] = "allow",
    owner: str = "owner",
    queue: str | None = None,
    elsewhere: Annotated[bool, Parameter(negative=())] = False,
    where: Where = DEFAULT,
) -> int:
    """Start a task at the times that --cron names, each once; replaces the schedule of that name.

    Parameters
    ----------
    agent
        Whose task it is.
    prompt
        What each task should do.
    cron
        Minute, hour, day of month, month and day of week: '30 7 * * 1-5'.
    timezone
        By whose clocks: 'Europe/Berlin'.
    name
        By which it is known; the agent's unless given.
    missed
        Whether the last time at which no worker was there is made up for.
    overlap
        Whether a task starts while the one before has not ended.
    elsewhere
        The agent, or the queue, is one that no worker knows yet.
    """

    async def main() -> None:
        found = open_orchestrator(where)
        made = await found.schedule(
            agent, prompt, cron=cron, timezone=timezone, name=name, missed=missed, overlap=overlap,
            owner_id=owner, queue=queue, elsewhere=elsewhere,
        )  # fmt: skip
        say(f"{made.name} starts next at {_when(made.next_at, made.timezone)}")
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_schedules(*, where: Where = DEFAULT, json: JsonOption = False) -> int:
    """List what starts by the clock, the next first."""

    async def main() -> None:
        found = existing(where)
        schedules = await found.schedules()
        if not schedules:
            note("nothing is scheduled")
        for schedule in schedules:
            say_line(json_text.dumps(asdict(schedule)) if json else _line(schedule))
        await found.close()

    anyio.run(main)
    return exits.DONE


def tasks_unschedule(name: str, /, *, where: Where = DEFAULT) -> int:
    """Start nothing more by a schedule; tasks that it has started go on."""

    async def main() -> bool:
        found = existing(where)
        gone = await found.unschedule(name)
        await found.close()
        return gone

    gone = anyio.run(main)
    say("it starts nothing more" if gone else f"there is no schedule {name!r}")
    return exits.DONE if gone else exits.FAILED


def _line(schedule: Schedule) -> str:
    when = _when(schedule.next_at, schedule.timezone)
    times = f"{schedule.cron} {schedule.timezone}"
    problem = f"  last time: {' '.join(schedule.problem.split())}" if schedule.problem else ""
    return f"{schedule.name:<20} {schedule.agent:<16} {times:<32} next {when}{problem}"


def _when(moment: float, timezone: str) -> str:
    return datetime.fromtimestamp(moment, ZoneInfo(timezone)).strftime("%Y-%m-%d %H:%M %Z")
