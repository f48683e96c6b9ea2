"""A small language for conditions in rules: it compares, and can do nothing else."""

import ast
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
from toolwright.tools._patterns import Named, is_like

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
    "matches": (2, _on_text(is_like)),
}
_UNDECIDED = (ArithmeticError, TypeError, LookupError, ValueError, RecursionError)
_SHOWN = {"starts": "{}*", "ends": "*{}", "matches": "{}"}
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
        except _UNDECIDED as error:
            raise Unknown(str(error)) from error

    def names(self, field: str) -> Iterator[Named]:
        """The texts that `call.FIELD` is compared with: of names, to see whether they are right."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Compare(left=left, ops=ops, comparators=others):
                    values = [left, *others]
                    for op, one, other in zip(ops, values, values[1:], strict=False):
                        yield from _compared(field, op, one, other)
                case ast.Call(func=ast.Name(id=name), args=[one, other]) if name in _SHOWN:
                    for value, part in ((one, other), (other, one)):
                        if _has_field(value, field) and (text := _constant(part)) is not None:
                            shown = _SHOWN[name].format(text) if part is other else text
                            yield _named(field, shown, node, shown if part is other else "")

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


def _has_field(node: ast.AST, field: str) -> bool:
    """Whether it is `call.FIELD` or made of it."""
    return any(isinstance(p, ast.Attribute) and p.attr == field for p in ast.walk(node))


def _compared(field: str, op: ast.cmpop, one: ast.expr, other: ast.expr) -> Iterator[Named]:
    """Each text for itself: of a list, all are meant to be right."""
    is_part = isinstance(op, ast.In | ast.NotIn)
    for value, texts in ((one, other), (other, one)):
        if not _has_field(value, field):
            continue
        # A list that the field itself stands in is compared as a whole.
        is_whole = isinstance(value, ast.List | ast.Tuple)
        listed = isinstance(texts, ast.List | ast.Tuple) and not is_whole
        same = ast.In() if is_part and not listed else ast.Eq()
        for text in texts.elts if isinstance(texts, ast.List | ast.Tuple) and listed else [texts]:
            shown = ast.unparse(text) if is_whole and _is_constant(text) else _constant(text)
            if shown is None:
                continue
            pair = (text, value) if value is other else (value, text)
            within = f"*{shown}*" if value is other else ""
            like = within if isinstance(same, ast.In) else shown
            yield _named(field, shown, ast.Compare(pair[0], [same], [pair[1]]), like)


def _is_constant(node: ast.expr) -> bool:
    """Whether it says the same of every call."""
    called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return not any(
        isinstance(part, ast.Attribute) or (isinstance(part, ast.Name) and part not in called)
        for part in ast.walk(node)
    )


def _constant(node: ast.expr) -> str | None:
    """The text that a part is in every call; None when it is no text, or depends on the call."""
    if not _is_constant(node):
        return None
    expression = Expression(ast.unparse(node))
    try:
        value = expression._value(expression._tree, {}, {})
    except (Unknown, *_UNDECIDED):
        return None
    return value if isinstance(value, str) else None


def _named(field: str, shown: str, node: ast.expr, like: str) -> Named:
    """A text in a condition: a name is meant if that part of the condition holds for it."""
    written = ast.unparse(node)

    def holds(name: str) -> bool:
        try:
            return Expression(written)({}, {field: name})
        except Unknown:
            return True  # It depends on the call, too.

    lowered = any(isinstance(p, ast.Name) and p.id == "lower" for p in _around(node, field))
    return Named(shown, written, holds, like=like, lowered=lowered)


def _around(node: ast.expr, field: str) -> list[ast.AST]:
    """The functions that `call.FIELD` is handed to."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return [part.func for part in calls if _has_field(part, field)]
