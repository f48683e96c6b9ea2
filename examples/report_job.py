"""A job that takes a while: the model is told at once that it is queued, and later that it is done."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from toolwright import Agent, LongRunningFunctionTool, Result, Runner, ToolContext
from toolwright.testing import ScriptedModel, call


@dataclass
class ReportService:
    """Stands for a queue somewhere else."""

    jobs: dict[str, dict[str, str]] = field(default_factory=dict)

    async def submit(self, project_id: str) -> str:
        """Queue a report; its job id."""
        job_id = f"job-{len(self.jobs) + 1}"
        self.jobs[job_id] = {"status": "pending"}
        return job_id

    def finish(self, job_id: str) -> dict[str, str]:
        """What the service's workers do when they are done."""
        self.jobs[job_id] = {"status": "done", "url": f"gs://reports/{job_id}.pdf"}
        return self.jobs[job_id]


async def start_report_job(project_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Start to make a report about a project.

    Args:
        project_id: The project.
    """
    job_id = await tool_context.deps.submit(project_id)
    tool_context.state["report_job_id"] = job_id
    return {"status": "pending", "job_id": job_id, "message": "Queued; ask again in 30 seconds."}


async def check_report_status(tool_context: ToolContext) -> dict[str, Any]:
    """Look how the report is getting on."""
    job_id = tool_context.state.get("report_job_id")
    if not job_id:
        return {"error": "No report was started."}
    return tool_context.deps.jobs[job_id]


async def report() -> list[Result]:
    """Start a report, ask how it is going, and hear that it is done."""
    model = ScriptedModel(
        call("start_report_job", project_id="harbour"),
        "Your report is queued.",
        call("check_report_status"),
        "It is still being made.",
        "Your report is ready: gs://reports/job-1.pdf",
    )
    service = ReportService()
    tools = [LongRunningFunctionTool(start_report_job), check_report_status]
    runner = Runner(Agent(name="reporter", model=model, tools=tools), deps=service)

    started = await runner.run("Report on the harbour, please", session_id="s1")
    asked = await runner.run("How is it going?", session_id="s1")

    # The service calls back when it is done: a webhook, a queue, another process.
    [pending] = await runner.pending("s1")
    await runner.answer("s1", pending.call_id, service.finish(pending.payload["job_id"]))
    told = await runner.resume("s1")
    for result in (started, asked, told):
        print(result.text)
    return [started, asked, told]


def main() -> list[Result]:
    """Run the story."""
    return asyncio.run(report())


if __name__ == "__main__":
    main()
