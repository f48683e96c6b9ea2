"""Whether a value fits what an annotation promises, and plain words for what was expected and given."""

import collections.abc as abc
import re
import reprlib
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

__all__ = ["describe", "fits", "is_list", "shown_address_of", "shown_value"]

_MAY_BE_SECRET = re.compile(
    "auth|key|token|secret|cookie|passw|credential|session|header|env|url|uri|dsn|server|store"
    "|address|endpoint|param|connect|args|deps|client|content|state|template|execution|account",
    re.IGNORECASE,
)
"""In names of settings that hold secrets, or addresses and commands with secrets in them."""
_MOST_SHOWN = 6
_LISTS = (abc.Sequence, abc.Collection, abc.Iterable, list, tuple, set, frozenset, abc.Set)
# What can never stand for an object with methods, whatever protocol that follows.
_PLAIN = (str, bytes, int, float, list, tuple, dict, set, type, type(None))
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_WORDS = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
    type(None): "None",
    "AgentNode": "an agent",
    "BaseAgent": "an agent",
}


def fits(value: Any, hint: Any) -> bool:
    """Whether `value` may be what `hint` says; in doubt, yes.

    A protocol is not looked into: a test's own object with half of the methods may be enough.
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fits(value, args[0])
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in args)
    if origin is Literal:
        return value in args
    if hint is Any:
        return True
    if hint is None:
        return value is None
    target = origin or hint
    return _is_a(value, target, args) if isinstance(target, type) else True


def _is_a(value: Any, target: type, args: tuple[Any, ...]) -> bool:
    if target is abc.Callable:
        return callable(value)
    if target in _LISTS:
        return _is_list(value, target, args)
    if is_typeddict(target) or issubclass(target, Mapping):
        return isinstance(value, Mapping) and all(
            fits(v, a) for a in args[1:] for v in value.values()
        )
    if target in (int, float):
        return isinstance(value, (int, target)) and not isinstance(value, bool)
    if getattr(target, "_is_protocol", False):
        plain = _PLAIN if "__call__" in vars(target) else (*_PLAIN, *_FUNCTIONS)
        return not isinstance(value, plain)
    return isinstance(value, target)


def _is_list(value: Any, target: type, args: tuple[Any, ...]) -> bool:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    if not isinstance(value, abc.Collection):  # a generator, which can be read only once
        return True
    if target is tuple and args and args[-1] is not Ellipsis:
        return len(value) == len(args) and all(map(fits, value, args))
    return all(fits(item, args[0]) for item in value) if args else True


def is_list(hint: Any) -> bool:
    """Whether `hint` promises a list and, beside None, nothing else."""
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return all((get_origin(o) or o) in _LISTS for o in options if o is not type(None))


def describe(hint: Any) -> str:
    """What `hint` promises, in words."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return describe(args[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(describe(option) for option in args))
    if origin is Literal:
        return " or ".join(map(repr, args))
    target = origin or hint
    if target is abc.Callable:
        return "a function"
    if target is tuple and args and args[-1] is not Ellipsis:
        return f"({', '.join(map(describe, args))})"
    if target in _LISTS:
        return "a list" if not args or args[0] is Any else f"a list of {describe(args[0])}"
    if is_typeddict(target) or (isinstance(target, type) and issubclass(target, Mapping)):
        return "a dict"
    name = getattr(target, "__name__", str(target))
    return _WORDS.get(target) or _WORDS.get(name) or name


def shown_value(name: str, value: Any) -> str:
    """What was given as the setting `name`: as it is where that is harmless, else of what type."""
    if value is None or isinstance(value, bool | int | float | type):
        return reprlib.repr(value)
    if not isinstance(value, str | list | tuple | Mapping):
        # Others may show anything of themselves; tools and agents are known by their names.
        kind = type(value).__name__
        if isinstance(named := getattr(value, "name", None), str):
            return f"<{kind} {named!r}>"
        called = getattr(value, "__name__", None)
        return f"<{kind} {called}>" if isinstance(called, str) else _kind_of(value)
    if _MAY_BE_SECRET.search(name):
        return _kind_of(value)
    if isinstance(value, str):
        return reprlib.repr(value)
    if isinstance(value, Mapping):
        shown = [f"{reprlib.repr(key)}: …" for key in list(value)[:_MOST_SHOWN]]
        return f"{{{', '.join(shown + ['…'] * (len(value) > _MOST_SHOWN))}}}"
    shown = [shown_value(name, item) for item in value[:_MOST_SHOWN]]
    inside = ", ".join(shown + ["…"] * (len(value) > _MOST_SHOWN))
    return f"[{inside}]" if isinstance(value, list) else f"({inside})"


def _kind_of(value: Any) -> str:
    name = type(value).__name__
    kind = {"str": "text", "list": "list", "dict": "dict", "bytes": "bytes"}.get(name, name)
    return f"{kind} (not shown)"


def shown_address_of(text: str) -> str:
    """An address that is none, or none of the right kind, without what may sign in with it."""
    if "@" in text:  # What stands before it is a name and a password, however they are written.
        scheme, found, _ = text.partition("://")
        return f"{scheme}://…" if found and "@" not in scheme else "…"
    return re.split("[?#]", text, maxsplit=1)[0]
