"""A small language for conditions in rules: it compares, and can do nothing else."""

import ast
import fnmatch
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from toolwright.errors import UsageError

__all__ = ["CALL_FIELDS", "Expression", "Unknown"]

CALL_FIELDS = (
    "tool", "effects", "source", "agent", "path", "user", "session", "cost", "hour", "weekday",
)  # fmt: skip
"""What `call.…` knows, besides the arguments."""

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "len": (1, len),
    "lower": (1, lambda text: str(text).lower()),
    "starts": (2, lambda text, start: str(text).startswith(str(start))),
    "ends": (2, lambda text, end: str(text).endswith(str(end))),
    "matches": (2, lambda text, pattern: fnmatch.fnmatchcase(str(text), str(pattern))),
}
_HELP = (
    "it has arguments by name (or args['name']), call.FIELD with "
    f"{', '.join(CALL_FIELDS)}, constants, lists, and, or, not, comparisons, in, - and the "
    f"functions {', '.join(_FUNCTIONS)}"
)


class Unknown(Exception):
    """The call leaves out what the condition needs, or gives something that cannot be compared."""


class Expression:
    """A condition such as `"cents > 1000 and to not in ['Bob']"`, checked when it is written."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            with warnings.catch_warnings(action="error"):
                self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, SyntaxWarning, ValueError, RecursionError, MemoryError) as error:
            raise UsageError(f"{text!r} is no condition: {error}.") from error
        self.names = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        self._check(self._tree)

    def __call__(self, args: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
        """Whether it holds; `Unknown` when that cannot be said."""
        try:
            return bool(self._value(self._tree, args, call))
        except (TypeError, LookupError, ValueError) as error:
            raise Unknown(str(error)) from error

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
            case ast.Name(id="args"):
                return args
            case ast.Name(id=name):
                return args[name]
            case ast.Attribute(attr=field):
                return call[field]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._value(part, args, call) for part in parts]
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(self._value(part, args, call) for part in parts)
            case ast.BoolOp(values=parts):
                return any(self._value(part, args, call) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self._value(part, args, call)
            case ast.UnaryOp(operand=part):
                return -self._value(part, args, call)
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
