"""A small language for conditions in rules: it compares, and can do nothing else."""

import ast
import fnmatch
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolwright.errors import UsageError
from toolwright.tools._comparison import (
    Unknown,
    compare,
    contains,
    equal,
    length,
    negative,
    text_of,
    truth,
)
from toolwright.tools._exact import exact

__all__ = ["CALL_FIELDS", "Expression", "Unknown"]

CALL_FIELDS = (
    "args", "tool", "effects", "source", "agent", "path", "user", "session", "cost", "hour",
    "weekday",
)  # fmt: skip
"""What `call.…` knows; `args` are all arguments by name."""

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: equal,
    ast.NotEq: lambda one, other: not equal(one, other),
    ast.Lt: lambda one, other: compare(one, other) < 0,
    ast.LtE: lambda one, other: compare(one, other) <= 0,
    ast.Gt: lambda one, other: compare(one, other) > 0,
    ast.GtE: lambda one, other: compare(one, other) >= 0,
    ast.In: lambda one, many: contains(many, one),
    ast.NotIn: lambda one, many: not contains(many, one),
}


def _on_text(judge: Callable[..., bool]) -> Callable[..., bool]:
    """`judge`, of two texts; what is not there neither begins nor ends nor matches."""

    def judged(one: Any, other: Any) -> bool:
        texts = text_of(one), text_of(other)
        return None not in texts and judge(*texts)

    return judged


def _lower(value: Any) -> str | None:
    text = text_of(value)
    return None if text is None else text.lower()


_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "len": (1, length),
    "lower": (1, _lower),
    "starts": (2, _on_text(str.startswith)),
    "ends": (2, _on_text(str.endswith)),
    "matches": (2, _on_text(fnmatch.fnmatchcase)),
}
_PATTERNS: dict[str, Callable[[str], str]] = {
    "starts": lambda text: f"{_escaped(text)}*",
    "ends": lambda text: f"*{_escaped(text)}",
    "matches": str,
}
_HELP = (
    "it has arguments by name (or call.args['name']), call.FIELD with "
    f"{', '.join(CALL_FIELDS)}, constants, lists, and, or, not, comparisons, in, - and the "
    f"functions {', '.join(_FUNCTIONS)}"
)


class Expression:
    """A condition such as `"cents > 1000 and to not in ['Bob']"`, checked when it is written."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            with warnings.catch_warnings(action="error"):
                self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, SyntaxWarning, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(f"{text!r} is no condition: {error}.") from error
        self._check(self._tree)

    def __call__(self, args: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
        """Whether it holds of a call's validated arguments; `Unknown` when that cannot be said."""
        try:
            return truth(self._value(self._tree, args, call))
        except (ArithmeticError, TypeError, LookupError, ValueError, RecursionError) as error:
            raise Unknown(str(error)) from error

    def patterns(self, field: str) -> Iterator[str]:
        """What `call.FIELD` is compared with, as patterns: of names, to see whether they are right."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Compare(left=left, comparators=others):
                    parts = [left, *others]
                    if any(_is_field(part, field) for part in parts):
                        yield from (_escaped(text) for part in parts for text in _texts(part))
                case ast.Call(func=ast.Name(id=name), args=[value, ast.Constant(value=str(text))]):
                    if _is_field(value, field) and name in _PATTERNS:
                        yield _PATTERNS[name](text)

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=str() | int() | float() | bool() | None) | ast.Name():
                return
            case ast.Attribute(value=ast.Name(id="call"), attr=field) if field in CALL_FIELDS:
                return
            case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                pass
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=part):
                parts = [part]
            case ast.Subscript(value=part, slice=ast.Constant()):
                parts = [part]
            case ast.Compare(left=left, ops=ops, comparators=others) if all(
                type(op) in _COMPARE for op in ops
            ):
                parts = [left, *others]
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if (
                name in _FUNCTIONS and len(parts) == _FUNCTIONS[name][0]
            ):
                pass
            case _:
                part = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
                raise UsageError(
                    f"{part!r} in {self.text!r} is not part of a rule's language: {_HELP}."
                )
        for part in parts:
            self._check(part)

    def _value(self, node: ast.expr, args: Mapping[str, Any], call: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return exact(args[name])
            case ast.Attribute(attr="args"):
                return exact(dict(args))
            case ast.Attribute(attr=field):
                return call[field]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._value(part, args, call) for part in parts]
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(truth(self._value(part, args, call)) for part in parts)
            case ast.BoolOp(values=parts):
                return any(truth(self._value(part, args, call)) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not truth(self._value(part, args, call))
            case ast.UnaryOp(operand=part):
                return negative(self._value(part, args, call))
            case ast.Subscript(value=part, slice=ast.Constant(value=key)):
                return self._value(part, args, call)[key]
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self._value(part, args, call) for part in (left, *others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return all(_COMPARE[type(op)](one, other) for op, one, other in pairs)
            case ast.Call(func=ast.Name(id=name), args=parts):
                return _FUNCTIONS[name][1](*(self._value(part, args, call) for part in parts))
            case _:
                raise AssertionError(f"{ast.dump(node)} was checked when the rule was written")


def _is_field(node: ast.AST, field: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == field


def _texts(node: ast.AST) -> list[str]:
    """The constant texts that a node is or lists."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]


def _escaped(text: str) -> str:
    """A pattern that fits this text alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)
