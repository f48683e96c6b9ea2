"""`toolwright config`."""

import json
from pathlib import Path

import anyio

from toolwright.agent import Agent, Runner, agents_inside
from toolwright.cli import _exit as exits
from toolwright.cli._options import USER
from toolwright.cli._out import say, say_line
from toolwright.cli._trust import is_trusted_file, trusted_file
from toolwright.kits import AgentFile, load_agent_file, read_agent_file

__all__ = ["config_check", "config_schema"]


def config_schema() -> int:
    """Print the JSON Schema of agent.yaml, for editors."""
    say(json.dumps(AgentFile.model_json_schema(), indent=2))
    return exits.DONE


def config_check(path: str = "agent.yaml", /) -> int:
    """Check an agent file; none of its tools is run.

    Its servers are started only if its approvals name a tool that nothing else has.
    Of a file that stands in a directory that is not trusted, or is a link into one, nothing that it
    names is imported or opened.
    """
    if not is_trusted_file(Path(path)):
        name = read_agent_file(path).name
        say(f"{path}: agent {name!r} is fine, as far as the file itself can say")
        say("What it names was not looked at: its directory is not trusted (toolwright trust).")
        return exits.DONE
    loaded = load_agent_file(trusted_file(Path(path)))
    unchecked = anyio.run(_check_rules, loaded.agent)
    say(f"{path}: agent {loaded.agent.name!r} is fine")
    for text in unchecked:
        say_line(f"warning: {text}")
    return exits.DONE


async def _check_rules(agent: Agent) -> list[str]:
    """Check the names that no tool which is known by now has; what cannot be checked, in words."""
    if not any(guard.unchecked for inner in agents_inside(agent) for guard in inner.guards):
        return []
    async with Runner(agent) as runner:
        return await runner.check_rules(user_id=USER)
