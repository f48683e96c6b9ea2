import json
import sys
from pathlib import Path

from toolwright import Agent
from toolwright.sources import mcp_toolsets
from toolwright.testing import ScriptedModel, call

servers = {
    "clock": {"command": sys.executable, "args": ["-m", "mcp_server_time"]},
    "tracker": {
        "url": "https://${TRACKER_HOST:-tracker.example}/mcp",
        "headers": {"Authorization": "Bearer ${TRACKER_TOKEN:-none}"},
        "disabled": True,
    },
}
Path("mcp.json").write_text(json.dumps({"mcpServers": servers}))

model = ScriptedModel(call("clock_get_current_time", timezone="UTC"), "Done.")
agent = Agent(name="helper", model=model, tools=mcp_toolsets("mcp.json"))
result = agent.run_sync("What time is it?")
