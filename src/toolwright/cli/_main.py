"""The commands."""

import json
import logging
import sys
import uuid
from importlib.metadata import version
from typing import Annotated, Any

import anyio

from toolwright.cli import _exit as exits
from toolwright.errors import ToolwrightError, UsageError

try:
    from cyclopts import App, Parameter
    from rich.console import Console
except ImportError as error:
    raise SystemExit("The command line needs an extra: pip install 'toolwright[cli]'") from error

__all__ = ["app", "main"]

app = App(
    name="toolwright",
    help="Hands for AI agents: run, watch, try and serve them and their tools.",
    version=version("toolwright"),
)
tools_app = app.command(App(name="tools", help="List, show and call tools from the shell."))
config_app = app.command(App(name="config", help="Agent files."))

Model = Annotated[str | None, Parameter(name=["--model", "-m"], help="provider:name, or me.")]
Agent = Annotated[
    str | None, Parameter(name=["--agent", "-a"], help="An agent.yaml, or MODULE:OBJECT.")
]
Store = Annotated[str | None, Parameter(name="--store", help="Where sessions are kept.")]
Session = Annotated[
    str | None, Parameter(name=["--session", "-s"], help="Go on with this session.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="One JSON object a line.")]


@app.command
def run(
    task: str,
    /,
    *,
    agent: Agent = None,
    model: Model = None,
    store: Store = None,
    session: Session = None,
    json: Json = False,
) -> int:
    """Run a task and print the answer.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waits for an answer, 4 a limit was reached.

    Parameters
    ----------
    task
        What to do; '-' reads it from standard input.
    """
    from toolwright.cli._go import go, is_interactive
    from toolwright.cli._show import choose_show
    from toolwright.cli._target import open_runner

    async def main() -> int:
        async with open_runner(agent, model, store) as runner:
            text = sys.stdin.read() if task == "-" else task
            session_id = session or uuid.uuid4().hex[:8]
            result = await go(
                runner,
                session_id,
                text,
                choose_show(json=json),
                interactive=is_interactive() and not json,
            )
            if result.status == "paused":
                sys.stderr.write(f"waiting for an answer in session {session_id}\n")
            return exits.exit_code(result)

    return anyio.run(main)


@app.command
def chat(
    *, agent: Agent = None, model: Model = None, store: Store = None, session: Session = None
) -> int:
    """Talk to an agent; watch its calls as they run, and approve them."""
    from toolwright.cli._chat import chat_loop
    from toolwright.cli._target import open_runner

    async def main() -> None:
        async with open_runner(agent, model, store) as runner:
            await chat_loop(runner, session)

    anyio.run(main)
    return exits.DONE


@tools_app.command(name="list")
def tools_list(*, agent: Agent = None, json: Json = False) -> int:
    """List the agent's tools and what their definitions cost."""
    from toolwright.cli._check import token_cost
    from toolwright.cli._target import open_tools
    from toolwright.cli._tools import all_tools

    async def main() -> None:
        async with open_tools(agent) as runner:
            for tool in await all_tools(runner):
                row = {
                    "name": tool.name,
                    "description": tool.description,
                    "effects": tool.effects,
                    "tokens": token_cost(tool),
                }
                _print_row(row, json)

    anyio.run(main)
    return exits.DONE


def _print_row(row: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(row))
    else:
        first = (row["description"].splitlines() or [""])[0]
        print(f"{row['name']:<24} {row['effects']:<12} {row['tokens']:>5} tokens  {first}")


@tools_app.command(name="show")
def tools_show(name: str, /, *, agent: Agent = None) -> int:
    """Show one tool as the model is told of it."""
    from toolwright.cli._target import open_tools
    from toolwright.cli._tools import find_tool

    async def main() -> None:
        async with open_tools(agent) as runner:
            spec = (await find_tool(runner, name)).spec
            told = {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            }
            print(json.dumps(told, indent=2, ensure_ascii=False))

    anyio.run(main)
    return exits.DONE


@tools_app.command(name="call")
def tools_call(name: str, /, *arguments: str, agent: Agent = None) -> int:
    """Call a tool as a model would: same validation, same approvals, JSON out.

    Parameters
    ----------
    name
        The tool.
    arguments
        key=value words; a value that reads as JSON is taken as JSON.
    """
    from toolwright.cli._target import open_tools
    from toolwright.cli._tools import call_tool, parse_pairs

    async def main() -> int:
        async with open_tools(agent) as runner:
            return await call_tool(runner, name, parse_pairs(arguments))

    return anyio.run(main)


@app.command
def check(*, agent: Agent = None, json: Json = False) -> int:
    """Look for what makes tools hard to use: vague descriptions, name clashes, odd schemas, cost."""
    from toolwright.cli._check import check_tools, token_cost
    from toolwright.cli._target import open_tools
    from toolwright.cli._tools import all_tools

    async def main() -> int:
        async with open_tools(agent) as runner:
            tools = await all_tools(runner)
        findings = check_tools(tools)
        for finding in findings:
            print(
                _json_line(finding)
                if json
                else f"{finding.level}: {finding.tool}: {finding.message}"
            )
        if not json:
            total = sum(token_cost(tool) for tool in tools)
            print(
                f"{len(tools)} tools, about {total} tokens in every request, {len(findings)} findings"
            )
        return exits.FAILED if any(f.level == "error" for f in findings) else exits.DONE

    return anyio.run(main)


def _json_line(finding: Any) -> str:
    return json.dumps({"level": finding.level, "tool": finding.tool, "message": finding.message})


@config_app.command(name="schema")
def config_schema() -> int:
    """Print the JSON Schema of agent.yaml, for editors."""
    from toolwright.kits import AgentFile

    print(json.dumps(AgentFile.model_json_schema(), indent=2))
    return exits.DONE


@config_app.command(name="check")
def config_check(path: str = "agent.yaml", /) -> int:
    """Check an agent file without running anything."""
    from toolwright.kits import load_agent_file

    loaded = load_agent_file(path)
    print(f"{path}: agent {loaded.agent.name!r} is fine")
    return exits.DONE


def main() -> None:
    """Run a command; mistakes are told in one message, without a traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("toolwright").setLevel(logging.CRITICAL)
    try:
        code = app(result_action="return_value", exit_on_error=True)
    except KeyboardInterrupt:
        code = exits.CANCELLED
    except EOFError:
        code = exits.CANCELLED
    except (ToolwrightError, ImportError) as error:
        Console(stderr=True, highlight=False).print(
            str(error), markup=False, style="red", soft_wrap=True
        )
        code = exits.USAGE if isinstance(error, UsageError | ImportError) else exits.FAILED
    raise SystemExit(code if isinstance(code, int) else exits.DONE)
