"""All regular expressions of the library, and texts that would keep each of them busy."""

import ast
import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toolwright

# Of Python's own, as they are not in `re` for others.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
ROOT = Path(toolwright.__file__).parent
READING = {"search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"}
_MOST_CHOICES = 6
"""Of alternatives that are tried."""
_MOST_PIECES = 10


@dataclass(frozen=True)
class Expression:
    """One, and by which of its methods it is used."""

    name: str
    pattern: re.Pattern[Any]
    used: frozenset[str] = frozenset({"search"})

    def read(self, text: Any) -> None:
        """As the library does."""
        if "match" in self.used:
            self.pattern.match(text)
        if "fullmatch" in self.used:
            self.pattern.fullmatch(text)
        if self.used - {"match", "fullmatch"}:
            for _ in self.pattern.finditer(text):
                pass


def expressions() -> Iterator[Expression]:
    """Each that is written in the library, by file and line."""
    for file in sorted(ROOT.rglob("*.py")):
        text = file.read_text()
        if "import re\n" not in text:
            continue
        tree = ast.parse(text)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        used, names = _uses(tree), _constants(tree)
        kept = {
            id(call): target.id
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(call := node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in calls:
            function = _function_of_re(call)
            if function is None or not call.args:
                continue
            pattern = _made(names, call, function)
            if pattern is not None:
                name = f"{file.relative_to(ROOT).as_posix()}:{ast.unparse(call.args[0])[:60]}"
                how = used.get(kept.get(id(call), "")) if function == "compile" else {function}
                yield Expression(name, pattern, frozenset(how or {"search"}))


def _function_of_re(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=name) if name in {"compile", *READING}:
            return name
    return None


def _uses(tree: ast.Module) -> dict[str, set[str]]:
    """By which methods of theirs the names of a file are used."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if method in READING:
                used.setdefault(name, set()).add(method)
    return used


def _made(names: dict[str, Any], call: ast.Call, function: str) -> re.Pattern[Any] | None:
    """None where the expression is not known before the program runs."""
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    flags += call.args[1:2] if function == "compile" else []
    if function in ("search", "match", "fullmatch", "findall", "finditer"):
        flags += call.args[2:3]
    try:
        return re.compile(*(_value(node, names) for node in (call.args[0], *flags)))
    except NameError:
        return None


def _constants(tree: ast.Module) -> dict[str, Any]:
    """What is written out at the top of a file, by name."""
    names: dict[str, Any] = {"re": re, "json": json}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    names[name] = _value(value, names)
                except (NameError, AttributeError):
                    continue
    return names


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "", "eval"), dict(names))


def busy_texts(pattern: re.Pattern[Any]) -> Iterator[tuple[Any, Any]]:
    """How texts begin, and what they repeat, that have its parts again and again but never all."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    texts = dict.fromkeys(
        text for choice in range(_MOST_CHOICES) for text in _repeated(_merged(tree, choice))
    )
    for before, unit in texts:
        if isinstance(pattern.pattern, bytes):
            yield before.encode("utf-8", "surrogatepass"), unit.encode("utf-8", "surrogatepass")
        else:
            yield before, unit


def _merged(tree: Any, choice: int) -> list[str]:
    """The parts; too many of them are taken together."""
    pieces = list(_pieces(tree, choice))
    size = -(-len(pieces) // _MOST_PIECES) or 1
    return ["".join(pieces[at : at + size]) for at in range(0, len(pieces), size)]


def _repeated(pieces: list[str]) -> Iterator[tuple[str, str]]:
    for begin in range(len(pieces)):
        for before in {"", "".join(pieces[:begin])}:
            yield before, " "
            for end in range(begin + 1, len(pieces) + 1):
                yield before, "".join(pieces[begin:end]) or " "


def _pieces(tree: Any, choice: int) -> Iterator[str]:
    """A letter or more for each part of an expression, in order; of alternatives, the one so named."""
    literal = ""
    for code, value in tree:
        if code is codes.LITERAL:
            literal += chr(value)
            continue
        if literal:
            yield literal
            literal = ""
        match code:
            case codes.NOT_LITERAL:
                yield "a" if value != ord("a") else "b"
            case codes.ANY:
                yield "a"
            case codes.IN:
                yield _member(value)
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                yield "".join(_pieces(value[2], choice)) * max(1, min(value[0], 40))
            case codes.SUBPATTERN:
                yield from _pieces(value[-1], choice)
            case codes.BRANCH:
                yield from _pieces(value[1][choice % len(value[1])], choice)
            case codes.ATOMIC_GROUP:
                yield from _pieces(value, choice)
            case _:
                pass
    if literal:
        yield literal


def _member(choices: Any) -> str:
    """A letter that is in a set."""
    if choices[0][0] is codes.NEGATE:
        refused = re.compile("[" + "".join(_set(choice) for choice in choices[1:]) + "]")
        return next((c for c in "a0 -/=\n\"'xé" if not refused.fullmatch(c)), "a")
    match choices[0]:
        case (codes.LITERAL, value):
            return chr(value)
        case (codes.RANGE, (first, _)):
            return chr(first)
        case (codes.CATEGORY, codes.CATEGORY_SPACE):
            return " "
        case (codes.CATEGORY, codes.CATEGORY_DIGIT):
            return "0"
        case (codes.CATEGORY, codes.CATEGORY_NOT_WORD):
            return "-"
    return "a"


def _set(choice: Any) -> str:
    match choice:
        case (codes.LITERAL, value):
            return re.escape(chr(value))
        case (codes.RANGE, (first, last)):
            return f"{re.escape(chr(first))}-{re.escape(chr(last))}"
        case (codes.CATEGORY, kind):
            return {
                codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_WORD: r"\w",
                codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_DIGIT: r"\D",
                codes.CATEGORY_NOT_WORD: r"\W",
            }[kind]  # fmt: skip
    return ""
