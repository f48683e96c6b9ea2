"""Replace a piece of a file and leave every other byte as it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from toolwright.backends.files._locate import Located, Span, locate
from toolwright.backends.files._nearest import nearest
from toolwright.backends.files._rope import Rope, in_thread_if_long
from toolwright.backends.files._text import is_binary, read_text
from toolwright.errors import ToolError

__all__ = ["Edit", "Edited", "apply_edit", "edited"]

_SHOWN_PLACES = 10


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
    located = locate(known.rope, edit.old)
    spans = _chosen(known.rope, located, edit)
    text = _spliced(known.rope, spans, edit.new)
    first_line = _line_of(known.rope, spans[0])
    return Edited(
        data=known.to_bytes(text), occurrences=len(spans), how=located.how, first_line=first_line
    )


async def edited(data: bytes, edit: Edit) -> Edited:
    """`apply_edit` of a file of any length, without holding up the event loop."""
    return await in_thread_if_long(len(data), apply_edit, data, edit)


def _chosen(text: Rope, located: Located, edit: Edit) -> list[Span]:
    """The spans to replace: exactly one, or all that do not overlap."""
    some = _apart(located.spans) if edit.replace_all else islice(located.spans, _SHOWN_PLACES)
    chosen = list(some)
    if not chosen:
        raise ToolError(_not_found(text, edit))
    if len(chosen) > 1 and not edit.replace_all:
        lines = ", ".join(str(_line_of(text, span)) for span in chosen)
        count = len(chosen) + sum(1 for _ in located.spans)
        cure = f", or set {edit.all_name}=True" if edit.all_name else ""
        raise ToolError(
            f"{edit.old_name} appears {count} times. "
            f"Provide more context to make it unique{cure}. It begins on lines {lines}."
        )
    return chosen


def _apart(spans: Iterable[Span]) -> Iterable[Span]:
    """Each span that does not overlap the one before."""
    end = 0
    for span in spans:
        if span.start >= end:
            yield span
            end = span.end


def _line_of(text: Rope, span: Span) -> int:
    return text.newlines_before(span.start) + 1


def _not_found(text: Rope, edit: Edit) -> str:
    message = f"{edit.old_name} not found in file content"
    like = nearest(text, edit.old)
    if not like:
        return f"{message}. Read the file to see what it has now."
    return f"{message}. The nearest text (spaces at the ends of lines shown as ·, tabs as →) is:\n{like}"


def _spliced(text: Rope, spans: list[Span], new: str) -> Rope:
    pieces: list[str] = []
    done = 0
    for span in spans:
        pieces += [*text.cut(done, span.start), _fitted(text, span, new)]
        done = span.end
    return Rope([*pieces, *text.cut(done, len(text))])


def _fitted(text: Rope, span: Span, new: str) -> str:
    """The replacement, indented as the place is, with the line ending that is used there."""
    if span.indent or span.outdent:
        new = "\n".join(_reindented(line, span) for line in new.split("\n"))
    newline = _newline_at(text, span)
    return new if "\r" in new or newline == "\n" else new.replace("\n", newline)


def _reindented(line: str, span: Span) -> str:
    if not line.strip():
        return line
    return span.indent + line.removeprefix(span.outdent)


def _newline_at(text: Rope, span: Span) -> str:
    """The line ending in the replaced text, else the nearest one after it, else before it."""
    start, end = text.next_break(span.start)
    if start == end and (before := text.line_start(span.start)):
        start, end = text.next_break(before - 1)
        start -= text.slice(start - 1, end) == "\r\n"
    return text.slice(start, end) or "\n"
