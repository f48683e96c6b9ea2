"""Replace a piece of a file and leave every other byte as it is."""

import re
from dataclasses import dataclass

from toolwright.backends.files._locate import Located, Span, locate
from toolwright.backends.files._nearest import nearest
from toolwright.backends.files._text import is_binary, read_text
from toolwright.errors import ToolError

__all__ = ["Edit", "Edited", "apply_edit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What to replace with what; the names are the tool's own, for its messages."""

    old: str
    new: str
    replace_all: bool = False
    old_name: str = "old_string"
    new_name: str = "new_string"
    all_name: str = ""
    """The parameter that asks for all places, where the tool has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file's new bytes, how many places were replaced, and how they were found."""

    data: bytes
    occurrences: int
    how: str = "exact"
    first_line: int = 1


def apply_edit(data: bytes, edit: Edit) -> Edited:
    """Make an edit, or raise a `ToolError` that helps to make a better one.

    Encoding, byte order mark, line endings and everything outside the replaced places stay.
    """
    if edit.old == edit.new:
        raise ToolError(f"{edit.old_name} and {edit.new_name} are identical")
    if not edit.old:
        raise ToolError(f"{edit.old_name} is empty; give the text to replace.")
    if is_binary(data):
        raise ToolError("The file is binary and cannot be edited as text.")
    known = read_text(data)
    located = locate(known.text, edit.old)
    spans = _chosen(known.text, located, edit)
    text = _spliced(known.text, spans, edit.new)
    first_line = known.text.count("\n", 0, spans[0].start) + 1
    return Edited(
        data=known.to_bytes(text), occurrences=len(spans), how=located.how, first_line=first_line
    )


def _chosen(text: str, located: Located, edit: Edit) -> list[Span]:
    """The spans to replace: exactly one, or all that do not overlap."""
    if not located.spans:
        raise ToolError(_not_found(text, edit))
    if len(located.spans) > 1 and not edit.replace_all:
        lines = ", ".join(str(text.count("\n", 0, span.start) + 1) for span in located.spans[:10])
        cure = f", or set {edit.all_name}=True" if edit.all_name else ""
        raise ToolError(
            f"{edit.old_name} appears {len(located.spans)} times. "
            f"Provide more context to make it unique{cure}. It begins on lines {lines}."
        )
    chosen: list[Span] = []
    for span in located.spans:
        if not chosen or span.start >= chosen[-1].end:
            chosen.append(span)
    return chosen


def _not_found(text: str, edit: Edit) -> str:
    message = f"{edit.old_name} not found in file content"
    like = nearest(text, edit.old)
    if not like:
        return f"{message}. Read the file to see what it has now."
    return f"{message}. The nearest text (spaces at the ends of lines shown as ·, tabs as →) is:\n{like}"


def _spliced(text: str, spans: list[Span], new: str) -> str:
    pieces: list[str] = []
    done = 0
    for span in spans:
        pieces += [text[done : span.start], _fitted(text, span, new)]
        done = span.end
    return "".join([*pieces, text[done:]])


def _fitted(text: str, span: Span, new: str) -> str:
    """The replacement, indented as the place is, with the line ending that is used there."""
    if span.indent or span.outdent:
        new = "\n".join(_reindented(line, span) for line in new.split("\n"))
    newline = _newline_at(text, span)
    return new if "\r" in new or newline == "\n" else new.replace("\n", newline)


def _reindented(line: str, span: Span) -> str:
    if not line.strip():
        return line
    return span.indent + line.removeprefix(span.outdent)


def _newline_at(text: str, span: Span) -> str:
    """The line ending in the replaced text, else the nearest one after it, else before it."""
    after = re.compile(r"\r\n|\r|\n").search(text, span.start)
    if after:
        return after.group()
    before = re.findall(r"\r\n|\r|\n", text[: span.start])
    return before[-1] if before else "\n"
