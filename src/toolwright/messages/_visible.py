"""Text from outside, written so that a person sees all of it and a terminal obeys none of it."""

import json
import re
import unicodedata
from collections.abc import Iterator

from toolwright.messages._confusables import LETTERS, SIGNS

__all__ = ["ODD_SPACES", "count_marks", "lookalikes", "visible"]

ODD_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces that look like the plain one, which a command or a name does not take them for."""

_ODD = re.compile(r"[^ -~]")
# Characters without a shape of their own that Unicode counts among letters, marks and symbols.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U0001d159\U000e0100-\U000e01ef]"
)
_EMOJI_STYLE = "\ufe0f"
_JOINER = "\u200d"
_MOST_PILED = 5
"""Signs that combine with one letter. No script needs more; hundreds cover the lines around them."""
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"\w+")
_LETTER = re.compile(f"[{LETTERS}]")
_SIGN = re.compile(f"[{SIGNS}]")
_SEPARATORS = "/\\.:;@?#%&=|-~*"
_DASHES = "\u2012\u2013"
"""Between letters and digits they are those of ordinary text; before them, they look like an option."""
_WORD_SHOWN = 40
_LETTERS_SHOWN = 5
# Alphabets with letters that look like Latin ones.
_OTHERS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")


def visible(text: str, *, lines: bool = True, after: str = "") -> str:
    r"""The text with every character that is obeyed, reordered or not seen written as a mark.

    Controls (C0, C1, ESC), bidirectional and zero-width characters, other invisible ones, unpaired
    surrogates, and combining characters beyond the fifth on one letter become `\u001b`, as in
    JSON: JSON made visible is still the same JSON. The result differs from `text` exactly when
    something was marked.

    Args:
        text: What came from a model, a tool, a server, a file or another person.
        lines: Whether newlines and tabs stay; without them the result is one line.
        after: The text right before it, when it is one piece of a text that comes in pieces.
    """
    if text.isascii() and text.isprintable():
        return text
    whole = after + text
    return _ODD.sub(lambda found: _shown(whole, len(after) + found.start(), lines), text)


def count_marks(text: str) -> int:
    """How many characters `visible` writes as marks, newlines and tabs not counted."""
    return sum(_is_marked(text, found.start(), lines=True) for found in _ODD.finditer(text))


def lookalikes(text: str) -> list[str]:
    """Words with letters of several alphabets, or with letters and signs that look like plain ones."""
    if text.isascii():
        return []
    found: dict[str, bool] = {}
    # Without their accents: one between two letters does not make them two words.
    for token in _TOKEN.findall("".join(char for char in text if not _is_accent(char))):
        if token.isascii():
            continue
        is_plain = any(char.isascii() and char.isalpha() for char in token)
        for word in _WORD.findall(token):
            if odd := _odd_letters(word, is_plain):
                found[_described(word, odd)] = True
        if odd := list(dict.fromkeys(_odd_signs(token))):
            found[_described(token, odd)] = True
    return list(found)


def _odd_letters(word: str, in_plain: bool) -> list[str]:
    """Of a word in a token that has plain letters, or not."""
    chars = dict.fromkeys(word)
    is_latin = any(_alphabet(char) == "LATIN" for char in chars)
    odd = [char for char in chars if _looks_like_another(char, is_latin)]
    if odd or not in_plain or word.isascii():
        return odd
    # A name of an address or a file that another alphabet can write as a whole.
    others = [char for char in chars if not char.isascii()]
    return others if all(map(_LETTER.match, others)) else []


def _odd_signs(token: str) -> Iterator[str]:
    """Signs that look like those that divide addresses, paths and commands, one or several in a row,
    with plain characters beside them."""
    end = 0
    while (at := _next_sign(token, end)) < len(token):
        end = at + 1
        while end < len(token) and _is_sign(token[end]):
            end += 1
        before, after = token[at - 1 : at] if at else "", token[end : end + 1]
        if (before or after) and _is_plain(before) and _is_plain(after):
            yield from (c for c in token[at:end] if c not in _DASHES or not before.isalnum())


def _next_sign(token: str, at: int) -> int:
    return next((n for n in range(at, len(token)) if _is_sign(token[n])), len(token))


def _is_sign(char: str) -> bool:
    if char.isascii():
        return False
    plain = unicodedata.normalize("NFKC", char)
    return _SIGN.match(char) is not None or (len(plain) == 1 and plain in _SEPARATORS)


def _is_plain(char: str) -> bool:
    """Whether it is ASCII, or a letter of living languages with Latin ones; the end of a word is."""
    return char.isascii() or (char <= "\u024f" and char.isalpha())


def _described(word: str, odd: list[str]) -> str:
    """The word around its first odd letter, and which letters are odd."""
    start = max(0, word.index(odd[0]) - _WORD_SHOWN // 2)
    end = start + _WORD_SHOWN
    shown = "…" * (start > 0) + word[start:end] + "…" * (end < len(word))
    letters = ", ".join(f"{char} (U+{ord(char):04X})" for char in odd[:_LETTERS_SHOWN])
    more = len(odd) - _LETTERS_SHOWN
    return f"“{shown}” has {letters}" + (f" and {more} more" if more > 0 else "")


def _looks_like_another(char: str, in_latin: bool) -> bool:
    if char <= "\u00ff":
        return False
    plain = unicodedata.normalize("NFKC", char)
    foreign = _alphabet(char) in _OTHERS or _LETTER.match(char) is not None
    return (in_latin and foreign) or (plain.isascii() and plain.isalnum())


def _alphabet(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _shown(text: str, at: int, lines: bool) -> str:
    return json.dumps(text[at])[1:-1] if _is_marked(text, at, lines) else text[at]


def _is_marked(text: str, at: int, lines: bool) -> bool:
    char = text[at]
    if char in "\n\t":
        return not lines
    if char == "\r" and text[at + 1 : at + 2] == "\n":
        return not lines
    if char in (_EMOJI_STYLE, _JOINER):
        return not _is_in_emoji(text, at)
    # A wide or narrow space is seen as what it is: other scripts and French are full of them.
    if unicodedata.category(char) == "Zs":
        return False
    return not char.isprintable() or _SHAPELESS.match(char) is not None or _is_piled(text, at)


def _is_piled(text: str, at: int) -> bool:
    """Whether it stands on the same letter as so many others that nobody can read them."""
    pile = text[max(0, at - _MOST_PILED) : at + 1]
    return len(pile) > _MOST_PILED and all(unicodedata.category(c) in ("Mn", "Me") for c in pile)


def _is_accent(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _is_in_emoji(text: str, at: int) -> bool:
    """Whether the character at `at` only chooses or joins the pictures beside it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] == _EMOJI_STYLE:
        return _is_picture(before)
    return (_is_picture(before) or before == _EMOJI_STYLE) and _is_picture(after)


def _is_picture(char: str) -> bool:
    # So: symbols; Sk: the skin tones, of which ASCII and Latin-1 have none.
    return bool(char) and char > "\u00ff" and unicodedata.category(char) in ("So", "Sk")
