"""Read an awk program: whether it runs commands, reads or writes files of its own."""

import re
from collections.abc import Iterator, Sequence

from toolwright.builtin.bash._grammar import Effect, Program, Reading, Use
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["read_awk"]

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_REGEX = r"/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:[^\]\\/\n]|\\.)*\])+/"
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)|(?P<string>{_STRING})
        |(?P<name>[A-Za-z_]\w*)|(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)
        |(?P<sign>\|\||&&|\|&|>>|>=|<=|==|!=|!~|\+\+|--|\*\*|[-+*/%^]=|[-+*%^<>|!~?:=$(){{}}\[\],;@\n])""",
    re.X,
)
_REGEX_TOKEN = re.compile(_REGEX)
_RUNS = ("system", "getline")
_PRINTS = ("print", "printf")
_ENDS = (";", "{", "}")
"""What ends a statement for certain: a line's end does not behind a comma."""
_HEADS = ("if", "while", "for")


def read_awk(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """The program is the first argument; one in a file is not read."""
    if not reading.arguments:
        return
    at = reading.arguments[0]
    text = words[at].text
    if text is None:
        raise NotCovered("the program of 'awk' is not written out plainly")
    for effect, what in _effects(text):
        reading.uses.append(Use(effect=effect, at=at, what=what))


def _effects(text: str) -> Iterator[tuple[Effect, str]]:
    depth = 0
    printing = False
    for token in _tokens(text):
        if token in ("(", "["):
            depth += 1
        elif token in (")", "]"):
            depth -= 1
        elif token in _ENDS:
            printing, depth = False, 0
        elif token in _PRINTS:
            printing = True
        elif token in _RUNS or token in ("|", "|&", "@"):
            yield "execute", f"{token!r} in the program of 'awk'"
        elif token == ">>" or (token == ">" and printing and depth <= 0):
            yield "write", f"{token!r} in the program of 'awk'"


def _tokens(text: str) -> Iterator[str]:
    """Names, numbers and signs; a slash is a division behind an operand, else begins a pattern."""
    at = 0
    operand = False
    before = ""
    heads: list[bool] = []
    while at < len(text):
        if text[at] == "/":
            at, operand, before = _slash(text, at, operand, before)
            continue
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotCovered(f"the awk program is not understood at {text[at : at + 30]!r}")
        at = found.end()
        if found.lastgroup == "space":
            continue
        token = found[0]
        operand = found.lastgroup in ("string", "number") or token in (")", "]", "$")
        if found.lastgroup == "name":
            operand = token not in (
                *_PRINTS,
                "return",
                "in",
                "case",
                "do",
                "else",
                "exit",
                "delete",
            )
        elif token == "(":
            heads.append(before in _HEADS)
        elif token == ")":
            operand = not (heads.pop() if heads else True)
        before = token
        if found.lastgroup not in ("string", "number"):
            yield token


def _slash(text: str, at: int, operand: bool, before: str) -> tuple[int, bool, str]:
    if before in ("++", "--", "$"):
        raise NotCovered(f"the awk program is not understood at {text[at : at + 30]!r}")
    if operand:
        return at + (2 if text[at : at + 2] == "/=" else 1), False, "/"
    found = _REGEX_TOKEN.match(text, at)
    if found is None:
        raise NotCovered(f"the awk program is not understood at {text[at : at + 30]!r}")
    return found.end(), True, "regex"
