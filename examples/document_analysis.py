"""A tool that reads a stored document, recalls what is known about it, and stores its analysis."""

import asyncio
from typing import Any

from toolwright import Agent, FunctionTool, MemoryEntry, Runner, TextPart, ToolContext
from toolwright.backends import MemoryArtifacts, SqlMemory
from toolwright.messages import Scope
from toolwright.testing import ScriptedModel, call

APP, USER, SESSION = "library", "ada", "s1"
REPORT = """Quarterly report
Revenue grew by 4 % in the second quarter.
Projections for the third quarter assume two new harbours.
Staff numbers stay the same."""


async def process_document(
    document_name: str, analysis_query: str, tool_context: ToolContext
) -> dict[str, Any]:
    """Analyze a document, with what is remembered about the subject.

    Args:
        document_name: The name of a stored document.
        analysis_query: What to look for in it.
    """
    document = await tool_context.load_artifact(document_name)
    if document is None or document.text is None:
        return {"status": "error", "message": f"There is no text named {document_name!r}."}
    remembered = await tool_context.search_memory(analysis_query)
    wanted = analysis_query.lower().split()
    lines = [line for line in document.text.splitlines() if any(w in line.lower() for w in wanted)]
    known = [entry.content for entry in remembered.memories]
    analysis = "\n".join([f"About {analysis_query}:", *lines, "Known from before:", *known])
    name = f"analysis_{document_name}"
    version = await tool_context.save_artifact(name, TextPart(analysis))
    return {"status": "success", "analysis_artifact": name, "version": version}


async def analyze() -> str:
    """Store a report and a memory, have the agent analyze the report, and read the analysis."""
    scope = Scope(app_name=APP, user_id=USER, session_id=SESSION)
    artifacts, memory = MemoryArtifacts(), SqlMemory("memory://")
    await artifacts.save(scope, "report.txt", TextPart(REPORT))
    await memory.add(scope, [MemoryEntry(content="Last year's projections were too hopeful.")])

    model = ScriptedModel(
        call("process_document", document_name="report.txt", analysis_query="projections"),
        "The analysis is in analysis_report.txt.",
    )
    agent = Agent(name="analyst", model=model, tools=[FunctionTool(func=process_document)])
    runner = Runner(agent, app_name=APP, artifacts=artifacts, memory=memory)
    result = await runner.run(
        "What does report.txt say about projections?", user_id=USER, session_id=SESSION
    )
    print(result.text)
    analysis = await artifacts.load(scope, "analysis_report.txt")
    await runner.close()
    await memory.close()
    return (analysis.text if analysis else None) or ""


def main() -> str:
    """Run it and show the analysis."""
    analysis = asyncio.run(analyze())
    print(analysis)
    return analysis


if __name__ == "__main__":
    main()
