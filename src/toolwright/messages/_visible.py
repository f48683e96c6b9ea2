"""Text from outside, written so that a person sees all of it and a terminal obeys none of it."""

import json
import re
import unicodedata

__all__ = ["count_marks", "lookalikes", "visible"]

_ODD = re.compile(r"[^ -~]")
# Characters without a shape of their own that Unicode counts among letters, marks and symbols.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_EMOJI_STYLE = "\ufe0f"
_JOINER = "\u200d"
_WORD = re.compile(r"\w+")
# Alphabets with letters that look like Latin ones.
_OTHERS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")


def visible(text: str, *, lines: bool = True) -> str:
    r"""The text with every character that is obeyed, reordered or not seen written as a mark.

    Controls (C0, C1, ESC), bidirectional and zero-width characters, other invisible ones and
    unpaired surrogates become `\u001b`, as in JSON: JSON made visible is still the same JSON. The
    result differs from `text` exactly when something was marked.

    Args:
        text: What came from a model, a tool, a server, a file or another person.
        lines: Whether newlines and tabs stay; without them the result is one line.
    """
    if text.isascii() and text.isprintable():
        return text
    return _ODD.sub(lambda found: _shown(found, text, lines), text)


def count_marks(text: str) -> int:
    """How many characters `visible` writes as marks, newlines and tabs not counted."""
    return sum(_is_marked(found, text, lines=True) for found in _ODD.finditer(text))


def lookalikes(text: str) -> list[str]:
    """Words with letters of several alphabets, or with letters that only look like plain ones."""
    if text.isascii():
        return []
    found = {}
    for word in _WORD.findall(text):
        is_latin = any(_alphabet(char) == "LATIN" for char in word)
        odd = [char for char in dict.fromkeys(word) if _looks_like_another(char, is_latin)]
        if odd:
            found[f"“{word}” has {', '.join(f'{char} (U+{ord(char):04X})' for char in odd)}"] = True
    return list(found)


def _looks_like_another(char: str, in_latin: bool) -> bool:
    if char <= "\u00ff":
        return False
    plain = unicodedata.normalize("NFKC", char)
    return (in_latin and _alphabet(char) in _OTHERS) or (plain.isascii() and plain.isalnum())


def _alphabet(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _shown(found: re.Match[str], text: str, lines: bool) -> str:
    char = found[0]
    return json.dumps(char)[1:-1] if _is_marked(found, text, lines) else char


def _is_marked(found: re.Match[str], text: str, lines: bool) -> bool:
    char = found[0]
    if char in "\n\t":
        return not lines
    if char == "\r" and text[found.end() : found.end() + 1] == "\n":
        return not lines
    if char in (_EMOJI_STYLE, _JOINER):
        return not _is_in_emoji(text, found.start())
    # A wide or narrow space is seen as what it is: other scripts and French are full of them.
    if unicodedata.category(char) == "Zs":
        return False
    return not char.isprintable() or _SHAPELESS.match(char) is not None


def _is_in_emoji(text: str, at: int) -> bool:
    """Whether the character at `at` only chooses or joins the pictures beside it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] == _EMOJI_STYLE:
        return _is_picture(before)
    return (_is_picture(before) or before == _EMOJI_STYLE) and _is_picture(after)


def _is_picture(char: str) -> bool:
    # So: symbols; Sk: the skin tones, of which ASCII and Latin-1 have none.
    return bool(char) and char > "\u00ff" and unicodedata.category(char) in ("So", "Sk")
