"""`toolwright config`."""

import json
from pathlib import Path

from toolwright.cli import _exit as exits
from toolwright.cli._out import say
from toolwright.cli._trust import is_trusted_file, trusted_file
from toolwright.kits import AgentFile, load_agent_file, read_agent_file

__all__ = ["config_check", "config_schema"]


def config_schema() -> int:
    """Print the JSON Schema of agent.yaml, for editors."""
    say(json.dumps(AgentFile.model_json_schema(), indent=2))
    return exits.DONE


def config_check(path: str = "agent.yaml", /) -> int:
    """Check an agent file without running anything.

    Of a file that stands in a directory that is not trusted, or is a link into one, nothing that it
    names is imported or opened.
    """
    if not is_trusted_file(Path(path)):
        name = read_agent_file(path).name
        say(f"{path}: agent {name!r} is fine, as far as the file itself can say")
        say("What it names was not looked at: its directory is not trusted (toolwright trust).")
        return exits.DONE
    loaded = load_agent_file(trusted_file(Path(path)))
    say(f"{path}: agent {loaded.agent.name!r} is fine")
    return exits.DONE
