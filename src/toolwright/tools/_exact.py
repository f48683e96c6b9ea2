"""Validated arguments as they are, all of them: what rules compare, approvals cover and people see."""

import base64
import dataclasses
import enum
import hashlib
import hmac
import inspect
import json
import re
import reprlib
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any

from pydantic import AliasChoices, RootModel
from pydantic_core import to_jsonable_python

from toolwright.messages import Redactor

__all__ = [
    "HIDDEN",
    "IN_PART",
    "Derived",
    "Exact",
    "Fields",
    "Opaque",
    "Secret",
    "Typed",
    "Unordered",
    "canonical",
    "exact",
    "is_same",
    "reads_the_same",
    "shown_form",
]

HIDDEN = "**********"
"""What is shown in place of a secret."""
IN_PART = "(not shown in full: a value of type"
"""What is said beside a value that JSON has no form for."""
_LEVELS = 100
_VALUES = 1_000_000
"""How many levels and how many values are looked at; what has more cannot be approved."""
_WITH_TEXT = frozenset(
    ("datetime", "decimal", "ipaddress", "pathlib", "pathlib._local", "pydantic.networks", "re",
     "uuid")
)  # fmt: skip
"""Modules whose values JSON has a text for that says all of them."""
_BUILT_IN = (str, int, float, bytes, bytearray, dict, list, tuple, deque, set, frozenset)
"""What is read by what it holds, unless a class of somebody's has added to it."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A value that JSON has a text for: a date, a path, a UUID, an infinite number."""

    kind: str
    text: str
    value: Any


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is not to be shown."""

    inside: Any


class Fields(dict[str, Any]):
    """The fields of a model or a dataclass."""

    __slots__ = ("kind",)

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Derived:
    """What an object has beside the fields that JSON gives it: shown and covered like a field, but
    there is nothing to write it as."""

    inside: Any


@dataclass(frozen=True, slots=True)
class Unordered:
    """The members of a set."""

    members: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An object that JSON has no form for: its `repr` may leave anything out."""

    kind: str
    shown: str
    state: Any = None
    """What it is made of; None when even that cannot be said."""


class Exact:
    """Some arguments, read once."""

    __slots__ = ("tree",)

    def __init__(self, args: Mapping[str, Any]) -> None:
        self.tree = exact(dict(args))

    @property
    def shown(self) -> dict[str, Any]:
        """As plain JSON for people: every field, with marks in place of secrets and of what JSON
        has no form for."""
        return shown_form(self.tree)

    def unseen(self, redactor: Redactor) -> list[str]:
        """The places that people do not see in full, secrets of the tool's own types aside: values
        that JSON has no form for, and what is taken for a secret of the run."""
        opaque = [place for place, leaf in _leaves(self.tree) if isinstance(leaf, Opaque)]
        return list(dict.fromkeys([*map(redactor.exact, opaque), *redactor.places(self.shown)]))

    @property
    def has_secrets(self) -> bool:
        """Whether there is a secret in it, or an object that may have one."""
        return any(isinstance(leaf, Secret | Opaque) for _, leaf in _leaves(self.tree))

    @property
    def secrets(self) -> int:
        """How many there are."""
        return sum(isinstance(leaf, Secret) for _, leaf in _leaves(self.tree))

    @property
    def unknowable(self) -> list[str]:
        """The places whose values cannot be told from others, so that nothing can be bound to them."""
        leaves = _leaves(self.tree)
        return [place for place, leaf in leaves if isinstance(leaf, Opaque) and not leaf.state]

    def digest(self, key: str = "") -> str:
        """The same for the same arguments alone; with a `key`, of no use to those without it."""
        text = json.dumps(canonical({name: self.tree[name] for name in sorted(self.tree)})).encode()
        return hmac.new(key.encode(), text, hashlib.sha256).hexdigest()


def exact(value: Any) -> Any:
    """`value` as dicts, lists, JSON values and the classes above; all its fields, whatever its own
    serializers would leave out or mask."""
    return _Reading().read(value, _LEVELS)


class _Reading:
    """Reads one value; gives up on what is endless."""

    def __init__(self) -> None:
        self._left = _VALUES
        self._around: list[int] = []

    def read(self, value: Any, levels: int) -> Any:
        self._left -= 1
        if value is None or type(value) in (str, bool, int):
            return value
        if levels <= 0 or self._left < 0 or id(value) in self._around:
            return _opaque(value)
        self._around.append(id(value))
        try:
            return self._read(value, levels - 1)
        finally:
            self._around.pop()

    def _read(self, value: Any, levels: int) -> Any:
        is_added_to = type(value) not in _BUILT_IN and isinstance(value, (*_BUILT_IN, Mapping))
        if is_added_to and not isinstance(value, enum.Enum) and any(_beside(value)):
            return self._opaque(value, levels)
        match value:
            case type():
                return self._opaque(value, levels)
            case enum.Enum():
                if not _is_member(value):
                    return self._opaque(value, levels)
                return self.read(value.value, levels)
            case str():
                return str.__str__(value)
            case int():
                return int(value)
            case float():
                return value if value - value == 0 else Typed("float", _word(value), value)
            case bytes() | bytearray():
                return Typed("bytes", _bytes_text(value), bytes(value))
            case Mapping():
                return self._mapping(value, levels)
            case list() | tuple() | deque():
                return [self.read(item, levels) for item in value]
            case set() | frozenset():
                members = [self.read(item, levels) for item in value]
                return Unordered(tuple(sorted(members, key=lambda m: json.dumps(canonical(m)))))
        if callable(get := getattr(value, "get_secret_value", None)):
            return self._secret(value, get(), levels)
        if (fields := _fields(value)) is not None:
            return self._object(value, fields, levels)
        if (text := _text(value)) is not None:
            return Typed(type(value).__name__, text, value)
        return self._opaque(value, levels)

    def _secret(self, value: Any, told: Any, levels: int) -> Secret:
        is_all = all(part is told for _, part in _beside(value))
        return Secret(self.read(told, levels) if is_all else self._opaque(value, levels))

    def _object(self, value: Any, fields: Mapping[str, str], levels: int) -> Any:
        """By the names that JSON has; one that two parts share would show only one of them."""
        parts = [(name, self.read(getattr(value, at, None), levels)) for at, name in fields.items()]
        extra = getattr(value, "__pydantic_extra__", None) or {}
        parts += [(name, self.read(part, levels)) for name, part in extra.items()]
        beside = [(at, part) for at, part in _beside(value) if at not in fields]
        if isinstance(value, RootModel):
            return self._opaque(value, levels) if beside else parts[0][1]
        parts += [(at, Derived(self.read(part, levels))) for at, part in beside]
        read = Fields(type(value).__qualname__, dict(parts))
        return read if len(read) == len(parts) else self._opaque(value, levels)

    def _opaque(self, value: Any, levels: int) -> Opaque:
        return _opaque(value, lambda made_of: self.read(made_of, levels))

    def _mapping(self, value: Mapping[Any, Any], levels: int) -> Any:
        read = {_key(key): self.read(item, levels) for key, item in value.items()}
        return read if len(read) == len(value) else _opaque(value)


def _fields(value: Any) -> dict[str, str] | None:
    """What JSON gives a model or a dataclass: attributes, and the names that JSON has for them."""
    known = getattr(type(value), "__pydantic_fields__", None)
    if known is not None:
        kept = {at: f for at, f in known.items() if f.init is not False and not f.init_var}
        return {at: _alias(f) or at for at, f in kept.items()}
    if dataclasses.is_dataclass(value):
        return {f.name: f.name for f in dataclasses.fields(value) if f.init}
    return None


def _beside(value: Any) -> Iterator[tuple[str, Any]]:
    """All attributes that the object itself has, private ones too."""
    kind = type(value)
    for holder in kind.__mro__:
        slots = holder.__dict__.get("__slots__", ())
        for slot in [slots] if isinstance(slots, str) else slots:
            name = f"_{holder.__name__.lstrip('_')}{slot}" if slot.startswith("__") else slot
            if not slot.endswith("__") and hasattr(value, name):
                yield name, getattr(value, name)
    for name, part in [
        *getattr(value, "__dict__", {}).items(),
        *(getattr(value, "__pydantic_private__", None) or {}).items(),
    ]:
        # A cached one is there only after somebody has looked at it. It says what the rest says,
        # unless it was put there.
        made_by = inspect.getattr_static(kind, name, None)
        if not isinstance(made_by, cached_property) or not _makes(made_by, value, part):
            yield name, part


def _makes(cached: cached_property[Any], value: Any, part: Any) -> bool:
    """Whether the property would be the same if nobody had looked at it yet."""
    try:
        return canonical(exact(cached.func(value))) == canonical(exact(part))
    except Exception:  # noqa: BLE001 - code of somebody's, which may raise anything
        return False


def _is_member(value: enum.Enum) -> bool:
    """Whether an enum's value says all of it: what its class declares, and flags of these.

    What a declared member has beside its value is the code's, as what a class has. A class may also
    make members of its own of what it is given (`_missing_`), with anything in them.
    """
    kind = type(value)
    if any(member is value for member in kind.__members__.values()):
        return True
    own = ("_value_", "_name_", "_sort_order_", "_inverted_", "__objclass__")
    is_plain = all(name in own for name in value.__dict__)
    is_flag = isinstance(value, enum.Flag) and is_plain
    return is_flag and kind._value2member_map_.get(value.value) is value


def _alias(field: Any) -> str | None:
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return next((choice for choice in choices if isinstance(choice, str)), None)


def _key(key: Any) -> str:
    """A key as JSON has it: of these, only `true`, `false` and `null` are no text in Python."""
    if isinstance(key, str) and not isinstance(key, enum.Enum):
        return key
    form = shown_form(exact(key))
    return json.dumps(form) if form is None or isinstance(form, bool) else str(form)


def _bytes_text(value: bytes | bytearray) -> str:
    """As JSON has bytes: as the text that they are; else in base64, with a word that says so."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(value).decode()}"


def _word(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _text(value: Any) -> str | None:
    if type(value).__module__ not in _WITH_TEXT:
        return None
    if isinstance(value, re.Pattern) and value.flags != re.compile("").flags:
        return None
    try:
        text = to_jsonable_python(value, fallback=str)
    except Exception:  # noqa: BLE001 - then it is shown as an object
        return None
    return text if isinstance(text, str) else None


def _opaque(value: Any, read: Callable[[Any], Any] | None = None) -> Opaque:
    kind = type(value).__qualname__
    try:
        said = reprlib.repr(value)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are shown
        said = f"<{kind}>"
    state = None if read is None else _state(value, read)
    return Opaque(kind, f"{said} {IN_PART} {kind})", state)


def _state(value: Any, read: Callable[[Any], Any]) -> Any:
    """What `pickle` would make it from again, and what it has beside; None when that cannot be said."""
    if isinstance(value, type | FunctionType | BuiltinFunctionType) and _is_found(value):
        return [f"{value.__module__}.{value.__qualname__}"]
    if isinstance(value, type | FunctionType):
        return None
    try:
        made_of = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001 - objects may raise anything here
        return None
    if isinstance(made_of, str):
        return [type(value).__module__, made_of]
    first, *rest = made_of
    parts = [first, *(list(part) if isinstance(part, Iterator) else part for part in rest)]
    # What an object hands to `pickle` may be less than it has.
    state = read([*parts, list(_beside(value))])
    unsaid = any(isinstance(leaf, Opaque) and not leaf.state for _, leaf in _leaves(state))
    return None if unsaid else state


def _is_found(value: Any) -> bool:
    """Whether it is what stands in its module under its name, so that the name says all."""
    found: Any = sys.modules.get(value.__module__ or "")
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    match tree:
        case dict():
            for name, part in tree.items():
                yield from _leaves(part, f"{place}.{name}" if place else name)
        case list():
            for number, part in enumerate(tree):
                yield from _leaves(part, f"{place}[{number}]")
        case Unordered():
            for part in tree.members:
                yield from _leaves(part, place)
        case Secret():
            yield place, tree
            yield from _leaves(tree.inside, place)
        case Derived():
            yield from _leaves(tree.inside, place)
        case _:
            yield place, tree


def shown_form(tree: Any) -> Any:
    """A tree as plain JSON for people."""
    match tree:
        case dict():
            return {name: shown_form(part) for name, part in tree.items()}
        case list():
            return [shown_form(part) for part in tree]
        case Unordered():
            return [shown_form(part) for part in tree.members]
        case Secret():
            return HIDDEN
        case Derived():
            return shown_form(tree.inside)
        case Typed():
            return tree.text
        case Opaque():
            return tree.shown
        case _:
            return tree


def canonical(tree: Any) -> Any:
    """JSON that is the same for the same values alone, however they are shown."""
    match tree:
        case dict():
            # A function sees in which order the keys of a dict stand; fields have none.
            is_object = isinstance(tree, Fields)
            kind, names = (f"object {tree.kind}", sorted(tree)) if is_object else ("dict", tree)
            return [kind, *([name, canonical(tree[name])] for name in names)]
        case list():
            return ["list", *map(canonical, tree)]
        case Unordered():
            return ["set", *map(canonical, tree.members)]
        case Secret():
            return ["secret", canonical(tree.inside)]
        case Derived():
            return ["derived", canonical(tree.inside)]
        case Typed():
            said = tree.value.hex() if isinstance(tree.value, bytes) else tree.text
            return ["typed", tree.kind, said]
        case Opaque():
            return ["object", tree.kind, canonical(tree.state)]
        case _:
            return tree


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; True is not 1."""
    return _match(one, other, _are_equal)


def reads_the_same(one: Any, other: Any) -> bool:
    """Whether two JSON values look the same to a person, for whom "50" is 50."""
    return _match(one, other, _look_equal)


def _match(one: Any, other: Any, leaves: Callable[[Any, Any], bool]) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_match(one[k], other[k], leaves) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_match(a, b, leaves) for a, b in pairs)
    return leaves(one, other)


def _are_equal(one: Any, other: Any) -> bool:
    return isinstance(one, bool) is isinstance(other, bool) and one == other


def _look_equal(one: Any, other: Any) -> bool:
    return _are_equal(one, other) or (
        {type(one), type(other)} <= {str, int, float} and str(one) == str(other)
    )
