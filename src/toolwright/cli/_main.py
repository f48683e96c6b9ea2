"""The table of commands; each loads its own file when it is used."""

import logging
from importlib.metadata import version

from toolwright.cli import _exit as exits
from toolwright.errors import ToolwrightError, UsageError

try:
    from cyclopts import App
    from rich.console import Console
except ImportError as error:
    raise SystemExit("The command line needs an extra: pip install 'toolwright[cli]'") from error

__all__ = ["app", "main"]

_UNIT = "toolwright.cli"

app = App(
    name="toolwright",
    help="Hands for AI agents: run, watch, try and serve them and their tools.",
    version=version("toolwright"),
)
_GROUPS = {
    "tools": "List, show and call tools from the shell.",
    "config": "Agent files.",
    "tasks": "Durable tasks: list, show, answer, cancel, retry.",
    "mcp": "Serve tools and agents over MCP.",
    "plugin": "Plugin executables.",
}
_COMMANDS = {
    "run": ("_run:run", "Run a task and print the answer."),
    "chat": ("_run:chat", "Talk to an agent; watch and approve its calls."),
    "check": ("_tool_commands:check", "Look for what makes tools hard to use."),
    "tools list": ("_tool_commands:tools_list", "List the agent's tools and their cost."),
    "tools show": ("_tool_commands:tools_show", "Show one tool as the model is told of it."),
    "tools call": ("_tool_commands:tools_call", "Call a tool as a model would."),
    "config schema": ("_config:config_schema", "Print the JSON Schema of agent.yaml."),
    "config check": ("_config:config_check", "Check an agent file."),
    "serve": ("_serve:serve", "Serve an agent over HTTP, with the web workbench."),
    "worker": ("_tasks:worker", "Work on durable tasks until interrupted."),
    "tasks list": ("_tasks:tasks_list", "List tasks."),
    "tasks show": ("_tasks:tasks_show", "Show a task and what it waits for."),
    "tasks watch": ("_tasks:tasks_watch", "Watch the queue live."),
    "tasks cancel": ("_tasks:tasks_cancel", "Cancel a task."),
    "tasks retry": ("_tasks:tasks_retry", "Go on with a failed or cancelled task."),
    "tasks steer": ("_tasks:tasks_steer", "Put a message into a task."),
    "tasks complete": ("_tasks:tasks_complete", "Answer a call that a task waits for."),
    "mcp serve": ("_mcp:mcp_serve", "Serve tools over MCP."),
    "plugin test": ("_plugin:plugin_test", "Run the conformance suite against a plugin."),
}


def _register() -> None:
    groups = {name: App(name=name, help=text) for name, text in _GROUPS.items()}
    for group in groups.values():
        app.command(group)
    for words, (place, help_text) in _COMMANDS.items():
        group, _, name = words.rpartition(" ")
        (groups[group] if group else app).command(f"{_UNIT}.{place}", name=name, help=help_text)
    app.register_install_completion_command()


_register()


def main() -> None:
    """Run a command; mistakes are told in one message, without a traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("toolwright").setLevel(logging.CRITICAL)
    try:
        code = app(result_action="return_value")
    except (KeyboardInterrupt, EOFError):
        code = exits.CANCELLED
    except (ToolwrightError, ImportError) as error:
        _tell(str(error))
        code = exits.USAGE if isinstance(error, UsageError | ImportError) else exits.FAILED
    raise SystemExit(code if isinstance(code, int) else exits.DONE)


def _tell(text: str) -> None:
    console = Console(stderr=True, highlight=False)
    console.print(text, markup=False, style="red", soft_wrap=True)
