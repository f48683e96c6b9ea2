"""What tells one function in a rule from another of its name: its code, and the values that it holds."""

import datetime
import decimal
import enum
import fractions
import functools
import json
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Unknowable", "identity_of"]


class _Named(NamedTuple):
    name: str


_MOST = 10_000
"""Values that are looked at in one function."""
_DEEPEST = 50
_WRITTEN_OUT = (
    type(None), bool, float, complex, str, bytes, range, type(...), type(NotImplemented),
    decimal.Decimal, fractions.Fraction, uuid.UUID, datetime.date,
    datetime.timedelta, datetime.timezone, pathlib.PurePosixPath, pathlib.PosixPath,
    pathlib.PureWindowsPath, pathlib.WindowsPath,
)  # fmt: skip
"""Values of exactly these types are what they read as."""
_OF_CODE = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_exceptiontable", "co_consts",
)  # fmt: skip
_BUILT_IN = (
    types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType,
)  # fmt: skip
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, type(_Named.name))
"""What a class has for a slot or a field; those are in its `__slots__` and `_fields`."""
_OF_EVERY_CLASS = frozenset({
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__annotations__", "__annotate_func__", "__annotations_cache__",
    "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__dataclass_fields__",
    "__dataclass_params__",
})  # fmt: skip
"""Where a class is from and how it is described; what it does is in the rest."""
_ONE_OF_EACH = sys.stdlib_module_names | {"toolwright"}
"""Packages whose classes are known by their names."""
_STATE = getattr(object, "__getstate__", None)


class Unknowable(Exception):
    """Holds something that another process could not tell from something else."""


def identity_of(function: Any, known: Callable[[Any], Any]) -> Any:
    """Plain JSON that is the same for the same function, in every process of one Python version.

    Code is compared as it is compiled, with constants, names and defaults, and with what the function
    holds: its attributes, variables of the function around it, the object of a method with its class
    and those above that, the arguments of a `partial`. Not looked at are classes of the standard
    library, and what it reaches by a global name. `known` says how others are written, or gives None.
    `Unknowable` when it holds something whose value cannot be read, such as a connection.
    """
    return _Reader(known).read(function)


class _Reader:
    def __init__(self, known: Callable[[Any], Any]) -> None:
        self._known = known
        self._around: list[int] = []
        """What the value that is read now is in, by its id."""
        self._read = 0

    def read(self, value: Any) -> Any:
        """One value, with its type: `1` is neither `True` nor `1.0`."""
        self._read += 1
        if self._read > _MOST or len(self._around) > _DEEPEST:
            raise Unknowable
        kind = type(value)
        if kind is int:
            return ["int", hex(value)]  # Of any length.
        if kind in _WRITTEN_OUT:
            return [kind.__name__, _written_out(value)]
        if id(value) in self._around:  # A function that calls itself.
            return ["around", len(self._around) - self._around.index(id(value))]
        self._around.append(id(value))
        try:
            return [kind.__name__, self._parts(value)]
        finally:
            self._around.pop()

    def _parts(self, value: Any) -> Any:
        if (said := self._known(value)) is not None:
            return said
        match value:
            case types.FunctionType():
                return self._function(value)
            case types.CodeType():
                return [self.read(getattr(value, part)) for part in _OF_CODE]
            case types.MethodType():
                return [self.read(value.__func__), self.read(value.__self__)]
            case functools._lru_cache_wrapper():
                return self.read(value.__dict__)  # What it wraps, and how.
            case functools.partial():
                given = (value.func, value.args, value.keywords)
                return self._all(type(value), *given, value.__dict__)
            case staticmethod() | classmethod():
                return self.read(value.__func__)
            case property():
                return self._all(value.fget, value.fset, value.fdel)
            case functools.cached_property():
                return self.read(value.func)
            case types.ModuleType():
                return value.__name__
            case type():
                return self._class(value)
            case enum.Enum():
                return self._all(type(value), value.value)
            case zoneinfo.ZoneInfo() if type(value) is zoneinfo.ZoneInfo and value.key:
                return value.key
            case datetime.datetime() | datetime.time() if type(value).__module__ == "datetime":
                return [repr(value.replace(tzinfo=None)), self.read(value.tzinfo)]
            case re.Pattern():
                return self._all(value.pattern, value.flags)
        if isinstance(value, _DESCRIPTORS):
            return None
        if isinstance(value, _BUILT_IN):
            held = getattr(value, "__self__", None)
            return [_named(value), self.read(held)]
        return self._held(value)

    def _all(self, *values: Any) -> list[Any]:
        return [self.read(value) for value in values]

    def _function(self, function: types.FunctionType) -> Any:
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        held = self._all(function.__code__, function.__defaults__, function.__kwdefaults__)
        more = self.read(function.__dict__)
        return [function.__module__, function.__qualname__, held, cells, more]

    def _cell(self, cell: types.CellType) -> Any:
        try:
            held = cell.cell_contents
        except ValueError:  # It has no value yet.
            return None
        return self.read(held)

    def _class(self, kind: type) -> Any:
        """A class by its name, and one that is not of a library by all that it and those above it have."""
        name = _named(kind)
        if kind.__module__.partition(".")[0] in _ONE_OF_EACH:
            return name
        body = {at: held for at, held in vars(kind).items() if at not in _OF_EVERY_CLASS}
        if issubclass(kind, enum.Enum):
            made = {at: member.value for at, member in kind.__members__.items()}
            body = {at: held for at, held in body.items() if _is_code(held)} | {"": made}
        parts = [[at, self.read(body[at])] for at in sorted(body)]
        return [name, self._all(type(kind), *kind.__bases__), parts]

    def _held(self, value: Any) -> Any:
        """What is in a collection, or in an object of a class that is written in Python."""
        kind = type(value)
        if kind in (tuple, list):
            return self._all(*value)
        if kind in (set, frozenset):
            return sorted(self._all(*value), key=json.dumps)
        if kind is dict:
            return [self._all(*item) for item in value.items()]
        if _tells_itself(kind):
            raise Unknowable
        try:
            _, new, state, *items = value.__reduce_ex__(2)
        except Exception as error:
            raise Unknowable from error
        if any(item is not None for item in items):
            raise Unknowable
        return self._all(new, state)  # Its class is in the first.


def _written_out(value: Any) -> str:
    try:
        return repr(value)
    except ValueError as error:  # A number in it is too long to be written out.
        raise Unknowable from error


def _is_code(held: Any) -> bool:
    return isinstance(held, types.FunctionType | staticmethod | classmethod | property)


def _tells_itself(kind: type) -> bool:
    """Whether a class decides what is seen of its objects: they may hold more than they tell."""
    state = getattr(kind, "__getstate__", None)
    return (
        kind.__reduce_ex__ is not object.__reduce_ex__
        or kind.__reduce__ is not object.__reduce__
        or (state is not _STATE and getattr(state, "__module__", "") != "dataclasses")
    )


def _named(thing: Any) -> list[Any]:
    """What is known by its name: there is only one of it in each process."""
    name = thing.__qualname__
    if "<locals>" in name:
        raise Unknowable
    return [getattr(thing, "__module__", None), name]
