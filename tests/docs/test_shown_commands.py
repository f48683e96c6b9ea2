"""Every command line that the documentation shows is one that the program takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import CycloptsError, MissingArgumentError
from tests.docs._snippets import ROOT

from toolwright.cli._app import make_app
from toolwright.cli._main import _with_stdin
from toolwright.cli._table import COMMANDS
from toolwright.kits import default_agent
from toolwright.testing import ScriptedModel

# Without what is made from the program's own help, and what was true of older versions.
PAGES = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if page.name not in ("commands.md", "CHANGELOG.md")
]
_INLINE = re.compile(r"`([^`\n]+)`")
_NEXT = re.compile(r"\s(?:\||&&|;)\s")
_APP = make_app()


def shown(text: str) -> Iterator[tuple[str, bool]]:
    """The command lines of a page, and whether each is whole: a sentence may name only its beginning."""
    in_block = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif not in_block:
            yield from ((command, False) for command in named(line))
        else:
            for command in _NEXT.split(line.strip().removeprefix("$ ")):
                if command.startswith("toolwright "):
                    yield command, True


def named(line: str) -> Iterator[str]:
    """The commands in a sentence, which may leave out the program's name."""
    for span in _INLINE.findall(line):
        first, *rest = span.split()
        if first == "toolwright" and rest:
            yield span
        elif rest and (f"{first} {rest[0]}" in COMMANDS or is_option(first, rest[0])):
            yield f"toolwright {span}"


def is_option(first: str, second: str) -> bool:
    """Whether this is a command's option, and not a minus in some code."""
    return first in COMMANDS and second.startswith("-")


def problem_of(command: str, *, whole: bool) -> str | None:
    """What the program would say of it."""
    _, *words = shlex.split(command, comments=True)
    redirected = next((n for n, word in enumerate(words) if word in ("<", ">")), len(words))
    try:
        taken = _with_stdin(words[:redirected])
        _APP.parse_args(taken, exit_on_error=False, print_error=False)
    except MissingArgumentError as error:
        return str(error) if whole else None
    except CycloptsError as error:
        return str(error)
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_that_a_page_shows_exist_with_their_options(page: Path) -> None:
    found = {
        command: problem_of(command, whole=whole) for command, whole in shown(page.read_text())
    }
    assert {command: problem for command, problem in found.items() if problem} == {}


def test_the_tools_that_a_page_calls_are_those_of_the_default_agent() -> None:
    named = {
        words[3]
        for page in PAGES
        for command, whole in shown(page.read_text())
        if whole and (words := command.split())[1:3] in (["tools", "call"], ["policy", "explain"])
    }
    assert named - {tool.name for tool in default_agent(ScriptedModel()).shelf.tools} == set()
    assert named != set()


def test_a_wrong_command_is_found_wherever_it_stands() -> None:
    page = """
See `toolwright chats`, `run --lout` and `tasks show --now`, or `toolwright serve --verbose`.

```sh
$ toolwright run --loud x  # no
git diff | toolwright run "Review this" > x.txt
cat x | toolwright tools show
```
"""
    wrong = [command for command, whole in shown(page) if problem_of(command, whole=whole)]
    assert [command.split()[1] for command in wrong] == ["chats", "run", "tasks", "run", "tools"]
