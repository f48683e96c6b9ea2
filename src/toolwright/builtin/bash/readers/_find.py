"""Read the expression of `find`: tests, actions, and the commands it runs."""

import re
import shlex
from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Effect, Program, Reading, Use, names
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["found_paths", "read_find"]

_ALONE = names(
    "-a -and -o -or -not ! ( ) , -true -false -depth -d -mount -xdev -daystart -noleaf -nouser "
    "-nogroup -empty -executable -readable -writable -print -print0 -ls -prune -quit -follow "
    "-ignore_readdir_race -noignore_readdir_race -warn -nowarn -help --help -version --version"
)
_WITH_VALUE = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -regextype -type "
    "-xtype -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group "
    "-uid -gid -inum -links -samefile -maxdepth -mindepth -fstype -printf -used"
)
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_WRITES = {"-delete": 0, "-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
_PLACE = re.compile(r"\.{0,2}/|\.{1,2}\Z|[\w.][\w. -]*(/|\Z)")
"""No host before a colon, no setting before a sign of equality, no file of options behind an at sign."""
_EXEC = {"-exec": True, "-execdir": True, "-ok": False, "-okdir": False}
"""Actions that run a command, and whether `{} +` ends it: what asks first goes on until a `;`."""


def read_find(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Starting points first, then the expression."""
    position = _after_paths(words)
    while position < len(words):
        word = words[position]
        text = _certain(word)
        if text in _EXEC:
            end = _end_of_command(words, position, text)
            reading.commands.append((position + 1, end))
            position = end + 1
        elif text in _WRITES:
            _note(reading, "write", position, text)
            position += 1 + _WRITES[text]
        elif text in _WITH_VALUE or _NEWER.fullmatch(text):
            if position + 1 == len(words):
                raise NotCovered(f"{text!r} of 'find' has no value")
            _certain(words[position + 1])
            position += 2
        elif text in _ALONE:
            position += 1
        else:
            raise NotCovered(f"{word.source!r} is not known as a part of find's expression")


def found_paths(words: Sequence[Word], command: Sequence[Word]) -> list[Word]:
    """The words of a command, with what find puts in place of `{}` as the paths they become."""
    odd = [word for word in words[1 : _after_paths(words)] if not _is_plain_place(word)]
    if odd and any("{}" in (word.text or "") for word in command):
        raise NotCovered(f"{odd[0].source!r} and what lies in it could mean something else than a file; "
                         "write './' before it")  # fmt: skip
    return [_with_path(word) if "{}" in (word.text or "") else word for word in command]


def _is_plain_place(word: Word) -> bool:
    """Whether a path that begins like this is nothing but a path to every program."""
    if word.text is None:
        return "/" in word.start and _PLACE.match(word.start) is not None
    return word.text in ("-H", "-L", "-P", "--") or _PLACE.match(word.text) is not None


def _with_path(word: Word) -> Word:
    before = (word.text or "").partition("{}")[0]
    return Word(word.source, (shlex.quote(word.text or ""),), start=before or "./", several=True)


def _after_paths(words: Sequence[Word]) -> int:
    position = 1
    while position < len(words) and words[position].text in ("-H", "-L", "-P"):
        position += 1
    if position < len(words) and words[position].text == "--":
        position += 1
    while position < len(words):
        word = words[position]
        if word.text is None and (word.scripts or word.could_be_option):
            raise NotCovered(f"{word.source!r} could become a part of find's expression")
        if word.text is not None and word.text[:1] in ("-", "(", ")", "!", ","):
            break
        position += 1
    return position


def _certain(word: Word) -> str:
    if word.text is None:
        raise NotCovered(f"{word.source!r} could become a part of find's expression; quote a pattern "
                         "that find is to match")  # fmt: skip
    return word.text


def _end_of_command(words: Sequence[Word], start: int, action: str) -> int:
    """A `;` ends it, or a `+` right behind `{}`, where find knows that."""
    for position in range(start + 2, len(words)):
        text = words[position].text
        if text == ";":
            return position
        if text == "+" and words[position - 1].text == "{}":
            if _EXEC[action]:
                return position
            # Other versions of find may end it here.
            raise NotCovered(f"{action!r} of 'find' ends with ';', and '{{}} +' does not end it")
    raise NotCovered(f"{words[start].source!r} has no command that ends with ';' or '{{}} +'")


def _note(reading: Reading, effect: Effect, position: int, text: str) -> None:
    reading.uses.append(Use(effect=effect, at=position, what=f"{text!r} of 'find'"))
