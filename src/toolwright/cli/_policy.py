"""`toolwright policy explain`, `toolwright lock` and what `toolwright check --locked` compares."""

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from toolwright._private import read_plain_file, write_plain_file
from toolwright.agent import Explanation, Runner, lock_of, moved_since
from toolwright.cli import _exit as exits
from toolwright.cli._json import read_json
from toolwright.cli._options import USER, AgentOption, JsonOption
from toolwright.cli._out import say
from toolwright.cli._target import read_tools
from toolwright.cli._tools import parse_pairs
from toolwright.errors import UsageError

__all__ = ["LOCK_FILE", "FileOption", "lock", "moved", "policy_explain"]

LOCK_FILE = "toolwright.lock"
_MOST_BYTES = 100_000_000
FileOption = Annotated[Path, Parameter(name="--file", help="The lock file.")]
UserOption = Annotated[str, Parameter(name="--user", help="Whose call it would be.")]


def policy_explain(
    name: str,
    /,
    *arguments: str,
    agent: AgentOption = None,
    user: UserOption = USER,
    json: JsonOption = False,
) -> int:
    """Say which rule decides about a call, and why. Nothing runs.

    Parameters
    ----------
    name
        The tool; HELPER/TOOL for a call of an agent below, or inside a tool.
    arguments
        key=value words; a value that reads as JSON is taken as JSON.
    """

    async def main() -> Explanation:
        async with read_tools(agent) as runner:
            await runner.check_rules(user_id=user)
            return await runner.explain(name, parse_pairs(arguments), user_id=user)

    found = anyio.run(main)
    say(json_text.dumps(_row(found), ensure_ascii=False) if json else _words(found))
    return exits.DONE


def _row(found: Explanation) -> dict[str, Any]:
    said = [{"verdict": d.verdict, "rule": d.rule, "reason": d.reason} for d in found.decisions]
    decided = found.decided
    return {
        "tool": found.tool,
        "verdict": found.verdict,
        "rule": "" if decided is None else decided.rule,
        "reason": "" if decided is None else decided.reason,
        "decisions": said,
    }


def _words(found: Explanation) -> str:
    words = {"allow": "runs without a question", "ask": "is asked about", "deny": "is denied"}
    lines = [f"{found.tool}: {words[found.verdict]}"]
    if not found.decisions:
        lines.append("  nobody has a rule about it")
    for decision in found.decisions:
        mark = "*" if decision is found.decided else " "
        reason = f": {decision.reason}" if decision.reason else ""
        lines.append(f"{mark} {decision.verdict:<5} {decision.rule}{reason}")
    return "\n".join(lines)


def lock(agent: AgentOption = None, *, file: FileOption = Path(LOCK_FILE)) -> int:
    """Write down how all tools from outside are: of MCP servers, OpenAPI documents, plugins, skills.

    `toolwright check --locked` fails when something has moved since.
    """

    async def main() -> dict[str, Any]:
        async with read_tools(agent) as runner:
            return await lock_of(runner.agent)

    found = anyio.run(main)
    text = json_text.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
    try:
        # As JSON escapes it: half of a pair, which a server may write, has no other form in a file.
        write_plain_file(file, f"{text}\n".encode(errors="backslashreplace"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be written: {_why(error)}.") from error
    say(f"{file}: {len(found['sources'])} sources")
    return exits.DONE


async def moved(runner: Runner, file: Path) -> list[str]:
    """What is not as the lock file says."""
    locked = _read(file)
    now = await lock_of(runner.agent)
    try:
        return moved_since(locked, now)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error


def _read(file: Path) -> Any:
    try:
        return read_json(read_plain_file(file, _MOST_BYTES).decode())
    except OSError as error:
        told = f"{file} cannot be read ({_why(error)}); write it with `toolwright lock`."
        raise UsageError(told) from error
    except ValueError as error:
        raise UsageError(f"{file} is no lock file: {error}.") from error


def _why(error: OSError | ValueError) -> str:
    return str(error.strerror if isinstance(error, OSError) else error)
