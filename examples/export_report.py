"""Tools that export files with versions and metadata, read them back, and list them."""

import asyncio
import csv
import io
from typing import Any, Literal

from toolwright import Agent, BlobPart, Result, Runner, ToolContext
from toolwright.backends import MemoryArtifacts
from toolwright.testing import ScriptedModel, call

Format = Literal["csv", "html"]
ROWS = [("harbour", "ships"), ("Bergen", "14"), ("Oslo", "9")]
MEDIA_TYPES = {"csv": "text/csv", "html": "text/html"}


async def export_report(format: Format, tool_context: ToolContext) -> dict[str, Any]:  # noqa: A002
    """Export the current analysis as a file.

    Args:
        format: The file's format.
    """
    name = f"report.{format}"
    part = BlobPart(media_type=MEDIA_TYPES[format], data=_report(format).encode())
    made_by = {"generated_by": "export_report"}
    version = await tool_context.save_artifact(
        filename=name, artifact=part, custom_metadata=made_by
    )
    tool_context.actions.skip_summarization = True
    return {"filename": name, "version": version}


async def read_report(format: Format, tool_context: ToolContext) -> dict[str, Any]:  # noqa: A002
    """Say what is known about a report that was exported before.

    Args:
        format: The file's format.
    """
    known = await tool_context.get_artifact_version(f"report.{format}")
    if known is None:
        return {"error": "no report found"}
    return {"version": known.version, "size": known.size, "made_by": known.custom_metadata}


async def list_reports(tool_context: ToolContext) -> list[str]:
    """List the names of all exported reports."""
    return await tool_context.list_artifacts()


def _report(kind: Format) -> str:
    if kind == "html":
        cells = "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in ROWS)
        return f"<table>{cells}</table>"
    text = io.StringIO()
    csv.writer(text).writerows(ROWS)
    return text.getvalue()


async def export_twice() -> list[Result]:
    """Export, export again, then ask what there is."""
    model = ScriptedModel(
        call("export_report", format="csv"),
        call("export_report", format="csv"),
        [
            call("read_report", format="csv"),
            call("read_report", format="html"),
            call("list_reports"),
        ],
        "There is report.csv, in two versions.",
    )
    tools = [export_report, read_report, list_reports]
    runner = Runner(Agent(name="reporter", model=model, tools=tools), artifacts=MemoryArtifacts())
    questions = ("Export it", "Again, please", "What do I have?")
    results = [await runner.run(question, session_id="s1") for question in questions]
    await runner.close()
    return results


def main() -> list[Result]:
    """Run it and show what the person reads."""
    results = asyncio.run(export_twice())
    for result in results:
        print(result.text)
    return results


if __name__ == "__main__":
    main()
