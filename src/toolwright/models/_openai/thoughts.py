"""Take the reasoning out of a text that begins with it, piece by piece."""

from collections.abc import Iterator
from typing import Literal

__all__ = ["Thoughts", "kept_back"]

Kind = Literal["text", "reasoning"]
_OPEN = "<think>"
_CLOSE = "</think>"


class Thoughts:
    """Splits one text; `<think>` counts only where nothing but other thoughts stands before it.

    A model may well write about the tag further on. What is not closed is reasoning to the end:
    the reply was cut off inside it.
    """

    def __init__(self) -> None:
        self._kind: Kind | None = None
        """None before the first word, and between thoughts."""
        self._held = ""
        self._blanks: list[str] = []
        """Before the first word; kept apart, so that they are not looked at with each piece."""
        self._had_thoughts = False
        self._fresh = False
        """Whether a thought has begun and has no word yet."""

    def hear(self, text: str) -> Iterator[tuple[Kind, str]]:
        """What the next piece of the text adds, by kind."""
        if self._kind is None and not self._held and not text.strip():
            self._blanks.append(text)
            return
        self._held += text
        while self._held:
            before = (self._kind, self._held)
            yield from self._next()
            if (self._kind, self._held) == before:
                return

    def end(self) -> Iterator[tuple[Kind, str]]:
        """What was held back because it could have become a tag."""
        rest = "".join((*self._blanks, self._held))
        self._blanks, self._held = [], ""
        # Blanks before and between thoughts are layout; a text of blanks alone is a text.
        if rest and not (self._kind is None and self._had_thoughts and not rest.strip()):
            yield self._kind or "text", rest

    def _next(self) -> Iterator[tuple[Kind, str]]:
        if self._kind is None:
            yield from self._begin()
        elif self._kind == "text":
            yield "text", self._held
            self._held = ""
        else:
            yield from self._think()

    def _begin(self) -> Iterator[tuple[Kind, str]]:
        word = self._held.lstrip()
        if not word:
            self._blanks.append(self._held)
            self._held = ""
        elif word.startswith(_OPEN):
            self._kind, self._held = "reasoning", word[len(_OPEN) :]
            self._had_thoughts = self._fresh = True
            self._blanks = []
        elif word and not _OPEN.startswith(word):
            text = word if self._had_thoughts else "".join((*self._blanks, self._held))
            self._kind, self._held, self._blanks = "text", "", []
            yield "text", text

    def _think(self) -> Iterator[tuple[Kind, str]]:
        held = self._held.lstrip("\n") if self._fresh else self._held
        thought, closed, rest = held.partition(_CLOSE)
        if closed:
            self._kind, self._held = None, rest
        else:
            thought, self._held = kept_back(thought, (_CLOSE,))
        if thought:
            self._fresh = False
            yield "reasoning", thought


def kept_back(text: str, tags: tuple[str, ...]) -> tuple[str, str]:
    """`text` without, and only, the end that could be the beginning of one of the tags."""
    longest = max(map(len, tags)) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if any(tag.startswith(text[start:]) for tag in tags):
            return text[:start], text[start:]
    return text, ""
