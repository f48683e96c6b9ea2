"""All that the program prints with colours, for a person at a terminal: nothing reaches it unseen."""

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from toolwright.messages import visible

__all__ = ["Part", "Terminal", "make_table"]

Part = str | tuple[str, str]
"""A text, or a text and its style. Neither is read as markup."""
_REMEMBERED = 10


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise


class Terminal:
    """Prints text that may come from anywhere.

    Args:
        stderr: Print on standard error instead of standard output.
        console: What to print on instead of either.
    """

    def __init__(self, *, stderr: bool = False, console: Console | None = None) -> None:
        self._console = console or _Console(stderr=stderr, highlight=False, emoji=False)
        self._line = ""
        """The end of the line that is being written: what comes next may combine with it."""

    def say(self, *parts: Part, style: str = "", end: str = "\n") -> None:
        """Print the parts, one after the other; newlines in them stay."""
        text = Text.assemble(*[self._seen(part) for part in parts], style=style)
        self._console.print(text, end=end, soft_wrap=True)
        self._line = (self._line + end)[-_REMEMBERED:]

    def live(self) -> Live:
        """A view that is drawn again and again."""
        return Live(console=self._console, refresh_per_second=4)

    def _seen(self, part: Part) -> Part:
        text, style = (part, "") if isinstance(part, str) else part
        shown = visible(text, after=self._line)
        self._line = (self._line + text)[-_REMEMBERED:]
        return shown, style


def make_table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    """A table for the live view; each cell is one line, and the first column is never cut."""
    table = Table(title=_cell(title), title_justify="left")
    for at, column in enumerate(columns):
        table.add_column(column, no_wrap=at == 0)
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _cell(text: str) -> Text:
    return Text(visible(text, lines=False))
