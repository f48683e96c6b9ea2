"""Find tools that change state which they share: side by side, they would spoil each other's work."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from toolwright.tools import Tool

__all__ = ["SharedState", "shared_state"]

_MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
     "popleft", "remove", "setdefault", "sort", "update"}
)  # fmt: skip
_CONTAINERS = (list, dict, set, bytearray)


class SharedState(NamedTuple):
    """What some tools have in common, of which at least one changes it."""

    what: str
    writers: list[Tool]
    """Those that change it and do not run alone."""
    others: list[Tool]


def shared_state(tools: Sequence[Tool]) -> list[SharedState]:
    """Objects that two or more of the tools hold, and that one of them changes side by side.

    A look at the functions' text, not a proof: what they call is not followed.
    """
    holders: dict[int, tuple[Any, list[Tool]]] = {}
    changed: dict[int, list[Tool]] = {}
    for tool in tools:
        function, held = _held(tool)
        for value in {id(value): value for value in held.values()}.values():
            holders.setdefault(id(value), (value, []))[1].append(tool)
        if function is not None and not tool.sequential:
            for name in set(_written(function)) & held.keys():
                changed.setdefault(id(held[name]), []).append(tool)
    return [
        SharedState(_words(value), changed[key], [t for t in users if t not in changed[key]])
        for key, (value, users) in holders.items()
        if len(users) > 1 and key in changed
    ]


def _held(tool: Tool) -> tuple[FunctionType | None, dict[str, Any]]:
    """The tool's function, and by name what it finds in its place: `self`, closure and globals."""
    function: Any = getattr(tool, "func", None)
    while isinstance(function, partial):
        function = function.func
    held: dict[str, Any] = {}
    if isinstance(function, MethodType):
        receiver, function = function.__self__, function.__func__
        names = list(inspect.signature(function).parameters)
        if _is_state(receiver) and names:
            held[names[0]] = receiver
    function = inspect.unwrap(function) if callable(function) else None
    if not isinstance(function, FunctionType):
        return None, held
    found = inspect.getclosurevars(function)
    around = {**found.globals, **found.nonlocals}
    return function, {n: v for n, v in around.items() if _is_state(v)} | held


def _is_state(value: Any) -> bool:
    """Whether it can be changed, and is no part of the program itself."""
    if isinstance(value, _CONTAINERS):
        return True
    return hasattr(value, "__dict__") and not (
        callable(value) or isinstance(value, type | ModuleType | Tool)
    )


def _written(function: FunctionType) -> Iterator[str]:
    """The names through which the function's text changes something."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield _root(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.Attribute) and node.attr in _MUTATORS:
            yield _root(node)


def _root(node: ast.expr) -> str:
    """The name that `self.orders[1].items` begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _words(held: Any) -> str:
    kind = type(held).__name__
    return f"a {kind}" if isinstance(held, _CONTAINERS) else f"one {kind} object"
