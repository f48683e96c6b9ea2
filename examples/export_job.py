"""An export in the background: progress can be asked for, and its end reaches the conversation."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
from anyio.abc import TaskGroup

from toolwright import Agent, LongRunningFunctionTool, Result, Runner, ToolContext
from toolwright.testing import ScriptedModel, call


@dataclass
class Exports:
    """Exports that are running, in a task group that outlives the calls which start them."""

    tasks: TaskGroup
    on_done: Callable[[str, dict[str, Any]], Any]
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    go_on: anyio.Event = field(default_factory=anyio.Event)

    def start(self, job_id: str, call_id: str) -> None:
        """Begin an export in the background."""
        self.jobs[job_id] = {"status": "pending", "pct": 0}
        self.tasks.start_soon(self._export, job_id, call_id)

    async def _export(self, job_id: str, call_id: str) -> None:
        self.jobs[job_id]["pct"] = 50
        await self.go_on.wait()
        done = {"status": "done", "download_url": f"https://files.example.com/{job_id}"}
        self.jobs[job_id] = done
        await self.on_done(call_id, done)


async def export_dataset(
    dataset_id: str,
    format: Literal["csv", "json", "parquet"],  # noqa: A002
    tool_context: ToolContext,
) -> dict[str, Any]:
    """Export a dataset; answers at once with a job id.

    Args:
        dataset_id: The dataset.
        format: The format of the file.
    """
    job_id = f"exp-{dataset_id}-{format}"
    tool_context.deps.start(job_id, tool_context.pending_id)
    return {"status": "pending", "job_id": job_id, "eta_seconds": 30}


async def get_export_status(job_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Say how far an export is.

    Args:
        job_id: The job id that export_dataset gave.
    """
    return tool_context.deps.jobs.get(job_id) or {"error": f"There is no job {job_id!r}."}


async def export() -> list[Result]:
    """Start an export, ask how far it is, and hear of its end."""
    model = ScriptedModel(
        call("export_dataset", dataset_id="ships", format="csv"),
        "The export has begun.",
        [call("get_export_status", job_id="exp-ships-csv"), call("get_export_status", job_id="x")],
        "Half of it is done.",
        "Here it is: https://files.example.com/exp-ships-csv",
    )
    tools = [LongRunningFunctionTool(export_dataset), get_export_status]
    runner = Runner(Agent(name="exporter", model=model, tools=tools))
    async with anyio.create_task_group() as tasks:

        async def on_done(call_id: str, outcome: dict[str, Any]) -> None:
            await runner.answer("s1", call_id, outcome)

        exports = Exports(tasks, on_done)
        begun = await runner.run("Export the ships as CSV", session_id="s1", deps=exports)
        asked = await runner.run("How far is it?", session_id="s1", deps=exports)
        exports.go_on.set()
    told = await runner.resume("s1")
    for result in (begun, asked, told):
        print(result.text)
    return [begun, asked, told]


def main() -> list[Result]:
    """Run the story."""
    return asyncio.run(export())


if __name__ == "__main__":
    main()
