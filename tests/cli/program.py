"""The program as a shell would run it, and agents for it to run."""

import gc
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from tests._loaded import run_loaded

from toolwright.cli import main

__all__ = ["DESK", "TRUST", "clean_environment", "here", "toolwright"]

TRUST = "TOOLWRIGHT_TRUST"
"""Of the environment: directories from which things may run."""
_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
)

DESK = '''\
from pydantic import BaseModel

from toolwright import Agent, FunctionTool, ask_user, get_user_choice
from toolwright.builtin import ask_user_for
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage


class Says:
    """Calls what a message like `wipe {"scope": "x"}` names, and repeats everything else."""

    name = "says"

    async def respond(self, request, on_delta=None):
        last = request.history[-1]
        if isinstance(last, ToolMessage):
            return self.say("results: " + "; ".join(r.text for r in last.results))
        tool, _, arguments = last.text.partition(" ")
        if tool not in {spec.name for spec in request.tools}:
            return self.say(f"read: {last.text}")
        call = ToolCall(call_id=f"c{len(request.history)}", name=tool, arguments=arguments)
        return ModelMessage(parts=(call,), model=self.name, finish_reason="calls")

    def say(self, text):
        return ModelMessage(parts=(TextPart(text),), model=self.name)


def wipe(scope: str, count: int = 1) -> str:
    """Wipe a scope."""
    return f"wiped {scope} {count} times"


class Booking(BaseModel):
    guests: int
    terrace: bool = False
    note: str = ""


form = ask_user_for(Booking, name="book", description="Ask what to book.")
tools = [form, FunctionTool(wipe, require_confirmation=True), ask_user, get_user_choice]
agent = Agent(name="desk", model=Says(), tools=tools)
bare = Agent(name="bare", tools=tools)
team = Agent(name="team", model=Says(), sub_agents=[Agent(name="helper", description="Helps.")])
'''


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what would choose a model."""
    known = {k: v for k, v in os.environ.items() if k not in _KEYS}
    kept = {k: v for k, v in known.items() if not k.startswith("TOOLWRIGHT") or k == TRUST}
    return kept | more


def _trusting(cwd: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of a person who trusts the directory, unless it says something about that."""
    return clean_environment(**{TRUST: str(cwd), **environment})


def toolwright(
    *words: str, cwd: Path, stdin: str = "", check: int = 0, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end in a process of its own, with `stdin` piped in; it must exit with
    `check`."""
    command = [sys.executable, "-m", "toolwright.cli", *words]
    done = run_loaded(command, cwd=cwd, env=_trusting(cwd, environment), input=stdin)
    assert done.returncode == check, done
    return done


def here(
    *words: str, cwd: Path, check: int | None = 0, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """`toolwright` without input, in this process: the same, but quicker. None is any exit code."""
    out, err, code = io.StringIO(), io.StringIO(), None
    with _as_a_program(cwd, ["toolwright", *words], _trusting(cwd, environment)):
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    done = subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
    assert check in (None, done.returncode), done
    return done


@contextmanager
def _as_a_program(cwd: Path, words: list[str], environment: dict[str, str]) -> Iterator[None]:
    """What a program finds and changes in its process, put back as it was."""
    modules, level = set(sys.modules), logging.getLogger("toolwright").level
    handlers, thresholds = list(logging.getLogger().handlers), gc.get_threshold()
    with (
        chdir(cwd),
        patch.object(sys, "argv", words),
        patch.object(sys, "stdin", io.StringIO()),
        patch.object(sys, "path", list(sys.path)),
        patch.dict(os.environ, environment, clear=True),
        _fresh_loggers(),
    ):
        try:
            yield
        finally:
            gc.set_threshold(*thresholds)
            logging.getLogger("toolwright").setLevel(level)
            logging.getLogger().handlers[:] = handlers
            for name in set(sys.modules) - modules:
                if str(cwd) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]


@contextmanager
def _fresh_loggers() -> Iterator[None]:
    """No logger writes for itself, as in a new process: other tests' servers have set theirs up."""
    loggers = [x for x in logging.root.manager.loggerDict.values() if isinstance(x, logging.Logger)]
    found = [(logger, logger.handlers, logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [], True
    try:
        yield
    finally:
        for logger, logger.handlers, logger.propagate, level in found:
            if logger.level != level:  # Setting one looks at every logger there is.
                logger.setLevel(level)
