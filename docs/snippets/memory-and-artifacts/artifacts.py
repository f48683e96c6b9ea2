from toolwright import Agent, BlobPart, Runner, ToolContext, load_artifacts, tool
from toolwright.backends import DirectoryArtifacts
from toolwright.testing import ScriptedModel, call


@tool
async def draw_chart(tool_context: ToolContext) -> str:
    """Draw the chart of ships per harbour."""
    svg = BlobPart(media_type="image/svg+xml", data=b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    version = await tool_context.save_artifact("chart.svg", svg, {"source": "port authority"})
    return f"chart.svg, version {version}"


model = ScriptedModel(call("draw_chart"), call("load_artifacts"), "Here is the chart.")
agent = Agent(name="artist", model=model, tools=[draw_chart, load_artifacts])
runner = Runner(agent, artifacts=DirectoryArtifacts("files"))
result = runner.run_sync("Draw the ships")
print(result.history[-2])
