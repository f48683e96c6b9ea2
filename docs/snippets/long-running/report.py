import asyncio

from toolwright import Agent, LongRunningFunctionTool, Result, Runner
from toolwright.testing import ScriptedModel, call


def start_report(project: str) -> dict[str, str]:
    """Start to make a report."""
    return {"status": "pending", "job_id": f"job-{project}"}  # from your queue


async def main() -> list[Result]:
    model = ScriptedModel(
        call("start_report", project="harbour"),
        "It is being made; I will tell you.",
        "Your report is ready: gs://reports/harbour.pdf",
    )
    tools = [LongRunningFunctionTool(start_report)]
    runner = Runner(Agent(name="reporter", model=model, tools=tools))
    queued = await runner.run("Report on the harbour", session_id="s1")

    # Later, wherever the job ended:
    [pending] = await runner.pending("s1")
    print(pending.payload["job_id"])
    outcome = {"status": "done", "url": "gs://reports/harbour.pdf"}
    await runner.answer("s1", pending.call_id, outcome)
    told = await runner.resume("s1")
    return [queued, told]


results = asyncio.run(main())
