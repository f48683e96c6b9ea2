"""`toolwright config`."""

import json

from toolwright.cli import _exit as exits
from toolwright.cli._out import say
from toolwright.kits import AgentFile, load_agent_file

__all__ = ["config_check", "config_schema"]


def config_schema() -> int:
    """Print the JSON Schema of agent.yaml, for editors."""
    say(json.dumps(AgentFile.model_json_schema(), indent=2))
    return exits.DONE


def config_check(path: str = "agent.yaml", /) -> int:
    """Check an agent file without running anything."""
    loaded = load_agent_file(path)
    say(f"{path}: agent {loaded.agent.name!r} is fine")
    return exits.DONE
