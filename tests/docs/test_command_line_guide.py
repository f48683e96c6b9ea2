"""The page on the command line says what the program itself says."""

from scripts.command_line_page import TARGET, commands
from tests.docs._snippets import ROOT

from toolwright.cli import _exit as exits


def test_the_commands_on_the_page_are_the_programs_help() -> None:
    assert TARGET.read_text() == commands(), "run: python scripts/command_line_page.py"


def test_the_page_names_every_exit_code() -> None:
    page = (ROOT / "docs" / "guides" / "command-line.md").read_text()
    codes = [exits.DONE, exits.FAILED, exits.USAGE, exits.PAUSED, exits.STOPPED, exits.CANCELLED]
    codes.append(exits.BROKEN_PIPE)
    assert [code for code in codes if f"| {code} |" not in page] == []
