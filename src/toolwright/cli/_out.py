"""All that the program prints without colours: nothing reaches a terminal unseen.

Foreign text comes from everywhere (tools, models, servers, files, other people), so no text is
trusted: what is printed goes through here or through `_terminal`, and both make it visible.
"""

import sys

from toolwright.messages import visible

__all__ = ["note", "note_line", "prompt", "say", "say_exactly", "say_line"]


def say(text: str) -> None:
    """Print lines on standard output. JSON made visible is the same JSON, so this is for it too."""
    sys.stdout.write(f"{visible(text)}\n")


def say_line(text: str) -> None:
    """Print one line on standard output, whatever newlines are in it."""
    sys.stdout.write(f"{visible(text, lines=False)}\n")


def say_exactly(text: str) -> None:
    """Print an answer on standard output: to a program or a file exactly as it is."""
    if sys.stdout.isatty():
        text = visible(text)
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """Print lines on standard error."""
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()


def note_line(text: str) -> None:
    """Print one line on standard error, whatever newlines are in it."""
    note(visible(text, lines=False))


def prompt(text: str) -> None:
    """Begin a line on standard error that a person is to end."""
    sys.stderr.write(visible(text, lines=False))
    sys.stderr.flush()
