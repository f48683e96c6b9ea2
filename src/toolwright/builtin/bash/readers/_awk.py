"""Read an awk program: whether it runs commands, or reaches files and hosts of its own.

Where a pattern begins and ends is not certain: awks differ in whether a slash behind a name such as
`length` divides, and in whether one between brackets ends the pattern. So every reading is followed, and
a program only reads if it does so in each of them. A reading that no awk accepts is left out, as long as
there is one that can be followed to the end.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolwright.builtin.bash._grammar import Effect, Program, Reading, Use, names
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["read_awk"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\\\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\[^\n])*")
        |(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)
        |(?P<sign>\|\||&&|\|&|>>|>=|<=|==|!=|!~|\+\+|--|\*\*|[-+*%^]=|[-+*%^<>|!~?:=$(){}\[\],;@\n])""",
    re.X,
)
_OPEN_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*(?=\n|\Z)')
_PATTERN = re.compile(r"(?:[^/\\\n]|\\[^\n])*")
_SPLIT_WORD = re.compile(r"\w\\\n\w")
_RUNS = ("system", "getline", "|", "|&", "@")
_PRINTS = ("print", "printf")
_REACHES = ("ARGV", "SYMTAB")
"""Variables through which gawk can be told to open `/inet/…`."""
_STREAM = re.compile(r'[ \t]*"/dev/std(err|out)"[ \t]*(?=[;}\n]|\Z)')
"""The whole of what a statement prints to, when that is no file."""
_WORDS = names(
    "BEGIN BEGINFILE END ENDFILE and asort asorti atan2 bindtextdomain break case close compl continue cos "
    "dcgettext dcngettext default delete do else exit exp fflush for func function gensub getline gsub if "
    "in index int intdiv isarray length log lshift match mkbool mktime namespace next nextfile or patsplit "
    "print printf rand return rshift sin split sprintf sqrt srand strftime strtonum sub substr switch "
    "system systime tolower toupper typeof while xor"
)
"""Names that mean something to an awk: behind one, a slash may begin a pattern or divide."""
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class _State:
    """One reading of the program up to a place."""

    at: int = 0
    before: str = ""
    """The token before; `value` for one that can only be divided."""
    depth: int = 0
    """How many parentheses and brackets are open."""
    printing: int | None = None
    """The depth at which a statement prints; there, `>` names a file."""


def read_awk(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """The program is the first argument; one in a file is not read."""
    if not reading.arguments:
        return
    at = reading.arguments[0]
    text = words[at].text
    if text is None or _SPLIT_WORD.search(text):
        raise NotCovered("the program of 'awk' is not written out plainly")
    for effect, what in sorted(_effects(text)):
        reading.uses.append(Use(effect=effect, at=at, what=what))
    for position in reading.arguments[1:]:
        if _could_be_host(words[position]):
            what = f"{words[position].source!r}, which could be a host to 'awk',"
            reading.uses.append(Use(effect="network", at=position, what=what))


def _could_be_host(word: Word) -> bool:
    """Whether it begins with `/inet`, or could once it is known; a pattern stands for files that exist."""
    if word.text is not None:
        return word.text.startswith("/inet")
    return not word.several and ("/inet".startswith(word.start) or word.start.startswith("/inet"))


def _effects(text: str) -> set[tuple[Effect, str]]:
    """What the program does in any of its readings."""
    found: set[tuple[Effect, str]] = set()
    seen: set[_State] = set()
    left = [_State()]
    while left:
        state = left.pop()
        if state in seen:
            continue
        seen.add(state)
        if len(seen) > _MOST:
            raise NotCovered("the awk program can be read in too many ways")
        for token, kind, end in _tokens(text, state):
            found |= _does(token, text, end, state) if kind in ("name", "sign") else set()
            left.append(_after(token, kind, replace(state, at=end)))
    if not any(state.at == len(text) for state in seen):
        raise NotCovered(f"the awk program {text[:60]!r} is not understood")
    return found


def _does(token: str, text: str, end: int, state: _State) -> set[tuple[Effect, str]]:
    """What a name or a sign does at the end of a reading."""
    effect: Effect = "execute" if token in _RUNS else "network" if token in _REACHES else "read"
    redirects = state.printing is not None and state.depth <= state.printing
    if (token == ">>" or (token == ">" and redirects)) and not _STREAM.match(text, end):
        effect = "write"
    return set() if effect == "read" else {(effect, f"{token!r} in the program of 'awk'")}


def _tokens(text: str, state: _State) -> Iterator[tuple[str, str, int]]:
    """What the next token may be, of which kind, and where it ends; none where no awk goes on."""
    at = state.at
    if at >= len(text):
        return
    if text[at] == "/":
        yield from _slash(text, state)
        return
    found = _TOKEN.match(text, at)
    if found is not None:
        yield found[0], found.lastgroup or "", found.end()
    elif not _OPEN_STRING.match(text, at):
        raise _unread(text, at)


def _slash(text: str, state: _State) -> Iterator[tuple[str, str, int]]:
    """A division where a value stands before, a pattern where none does, or either."""
    either = state.before in (")", "++", "--", "$") or state.before in _WORDS
    if state.before == "value" or either:
        yield "/", "sign", state.at + (2 if text[state.at : state.at + 2] == "/=" else 1)
    if state.before != "value":
        yield from (("/", "pattern", end) for end in _pattern_ends(text, state.at + 1))


def _pattern_ends(text: str, start: int) -> Iterator[int]:
    """Where a pattern may end: at its first slash, or at a later one of the line.

    Behind a bracket, or a backslash that is itself behind one, awks differ.
    """
    at = start
    while found := _PATTERN.match(text, at):
        at = found.end()
        if text[at : at + 1] == "\\":
            raise _unread(text, at)
        if text[at : at + 1] != "/":
            return
        doubtful = "[" in text[start:at] or text[at - 1] == "\\"
        at += 1
        yield at
        if not doubtful:
            return


def _after(token: str, kind: str, state: _State) -> _State:
    """The state behind one more token."""
    if kind == "space":
        return state
    depth, printing = state.depth, state.printing
    if token in _PRINTS:
        printing = depth
    elif kind == "sign" and token in (";", "{", "}"):
        printing = None
    elif kind == "sign":
        depth += (token in ("(", "[")) - (token in (")", "]"))
    value = kind in ("string", "number", "pattern") or (kind == "sign" and token == "]")
    value = value or (kind == "name" and token not in _WORDS)
    return _State(state.at, "value" if value else token, depth, printing)


def _unread(text: str, at: int) -> NotCovered:
    return NotCovered(f"the awk program is not understood at {text[at : at + 30]!r}")
