"""With the `cli` extra alone every command works, or says in one line what to install."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests._loaded import run_loaded
from tests.docs._snippets import ROOT
from tests.packaging.test_wheel import UV

from toolwright.cli._table import COMMANDS

pytestmark = pytest.mark.xdist_group("packaging")

SHOP = '''
from toolwright import Agent, tool
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel


@tool
def add(first: int, second: int) -> int:
    """Add two numbers, as a cash till does."""
    return first + second


work = Orchestrator("sqlite:///tasks.db")
work.register(Agent(name="till", model=ScriptedModel(["done"]), tools=[add]))
'''


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("cli") / "venv"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, str(home)], check=True)
    install = [UV, "pip", "install", "-q", "--python", str(home)]
    locked = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*install, *locked, f"{ROOT}[cli]"], check=True)
    return home / "bin" / "toolwright"


class Shell:
    """Runs commands in a folder of their own, without keys; the person is the model."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TOOLWRIGHT_MODEL": "me",
            "TOOLWRIGHT_TRUST": str(folder),
        }  # fmt: skip

    def run(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        command = [self.program.with_name("python"), self.program, *words]
        return run_loaded(command, cwd=self.folder, env=self.environment, input=typed)

    def does(self, *words: str, typed: str = "", code: int = 0) -> str:
        done = self.run(*words, typed=typed)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout

    def refuses(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert done.stdout == ""
        return done.stderr


@pytest.fixture
def shell(program: Path, tmp_path: Path) -> Shell:
    (tmp_path / "shop.py").write_text(SHOP)
    return Shell(program, tmp_path)


def test_a_task_is_run_with_the_coding_tools(shell: Shell) -> None:
    (shell.folder / "note.txt").write_text("milk")
    assert shell.does("run", "hi", typed="/read path=note.txt\nhello\n").endswith("hello\n")
    [listed] = shell.does("sessions", "list").splitlines()
    assert "milk" in shell.does("sessions", "show", listed.split()[0])
    shell.does("sessions", "delete", listed.split()[0])
    assert "session" in shell.does("chat")


def test_tools_are_listed_shown_called_and_checked(shell: Shell) -> None:
    listed = shell.does("tools", "list").splitlines()
    assert [line.split()[0] for line in listed] == ["read", "bash", "edit", "write"]
    assert "path" in shell.does("tools", "show", "read")
    assert "shop.py" in shell.does("tools", "call", "bash", "command=ls", "--yes")
    assert "0 findings" in shell.does("check")
    assert "5" in shell.does("tools", "call", "add", "first=2", "second=3", "--agent", "shop:add")


def test_agent_files_are_checked(shell: Shell) -> None:
    (shell.folder / "agent.yaml").write_text("tools: {preset: all}\n")
    assert '"preset"' in shell.does("config", "schema")
    needed = "Web access needs an extra: pip install 'toolwright[web]'\n"
    for words in (["config", "check"], ["run", "hi"], ["tools", "list"], ["check"]):
        assert shell.refuses(*words) == needed
    (shell.folder / "agent.yaml").write_text("tools: {preset: readonly}\n")
    assert "is fine" in shell.does("config", "check")
    assert "shop.py" in shell.does("tools", "call", "grep", "pattern=Orchestrator")


@pytest.mark.parametrize(
    ("described", "extra"),
    [("mcp: [{command: x}]", "mcp"), ("openapi: [{source: x.json}]", "openapi")],
)
def test_a_source_that_a_file_asks_for_names_its_extra(
    shell: Shell, described: str, extra: str
) -> None:
    (shell.folder / "agent.yaml").write_text(f"tools:\n  preset: none\n  {described}\n")
    told = shell.refuses("tools", "list")
    assert f"pip install 'toolwright[{extra}]'" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "ollama"])
def test_a_model_names_its_extra(shell: Shell, provider: str) -> None:
    extra = {"ollama": "openai"}.get(provider, provider)
    told = shell.refuses("run", "hi", "--model", f"{provider}:some")
    assert f"pip install 'toolwright[{extra}]'" in told
    assert told.count("\n") == 1


def test_tasks_are_listed_where_a_worker_works(shell: Shell) -> None:
    assert "no database with tasks" in shell.refuses("tasks", "list")
    command = [shell.program, "worker", "shop:work"]
    with subprocess.Popen(
        command, cwd=shell.folder, env=shell.environment, stderr=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stderr is not None
        started = worker.stderr.readline()
        worker.send_signal(signal.SIGINT)
        assert worker.wait(30) == 0, started
    shell.does("tasks", "list", "--from", "shop:work")


def test_servers_name_their_extras(shell: Shell) -> None:
    serve = "The server needs an extra: pip install 'toolwright[serve]'\n"
    assert shell.refuses("serve") == shell.refuses("serve", "--help") == serve
    assert shell.refuses("mcp", "serve") == "MCP needs an extra: pip install 'toolwright[mcp]'\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_how_it_is_used_or_what_it_needs(shell: Shell, command: str) -> None:
    done = shell.run(*command.split(), "--help")
    told = done.stdout + done.stderr
    if command in ("serve", "mcp serve"):
        assert "pip install 'toolwright[" in told
        assert told.count("\n") == 1
    else:
        assert done.returncode == 0
        assert f"Usage: toolwright {command}" in told
