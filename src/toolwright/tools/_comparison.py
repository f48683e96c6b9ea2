"""Compare what a call holds with what a rule says, or say that it cannot be compared."""

from decimal import Decimal
from functools import cache
from pathlib import PurePath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolwright.tools._exact import Derived, Opaque, Secret, Typed, Unordered, canonical

__all__ = ["Unknown", "compare", "contains", "equal", "length", "negative", "text_of", "truth"]

_NUMBERS = (int, float, Decimal)


class Unknown(Exception):
    """The call leaves out what the condition needs, or gives something that cannot be compared."""


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; `Unknown` for values of different kinds.

    Nothing (None) can be compared with everything.
    """
    one, other = _bare(one), _bare(other)
    if one is None or other is None:
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(equal(a, b) for a, b in pairs)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, bool) and isinstance(other, bool):
        return one is other
    if isinstance(one, Unordered) and isinstance(other, Unordered):
        return canonical(one) == canonical(other)
    one, other = _alike(one, other)
    return bool(one == other)


def compare(one: Any, other: Any) -> int:
    """Below, at or above zero, as `one` comes before, with or after `other`."""
    one, other = _alike(_bare(one), _bare(other))
    return (one > other) - (one < other)


def contains(many: Any, one: Any) -> bool:
    """Whether a list has the member, an object the key, or a text the part; `Unknown` when it has
    none that is equal, and one that it cannot be compared with."""
    many, one = _bare(many), _bare(one)
    if isinstance(many, dict):
        return _text(one) in many
    if isinstance(many, Unordered):
        many = list(many.members)
    if isinstance(many, str | Typed) and isinstance(one, str | Typed):
        return _text(one) in _text(many)
    if not isinstance(many, list):
        raise Unknown(f"{type(many).__name__} has no members like that")
    answers = [_equal_or_none(member, one) for member in many]
    if True not in answers and None in answers:
        raise Unknown("one of the members cannot be compared with it")
    return True in answers


def negative(value: Any) -> Any:
    """A number, negated."""
    value = _bare(value)
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        raise Unknown(f"{type(value).__name__} is no number")
    return -value


def length(value: Any) -> int:
    """How long a text or a list is, or how many entries an object has."""
    value = _bare(value)
    if isinstance(value, Unordered):
        return len(value.members)
    return len(value if isinstance(value, dict | list) else _text(value))


def text_of(value: Any) -> str | None:
    """A value as the text that JSON has for it, whole numbers in digits; None is None."""
    value = _bare(value)
    return None if value is None else _text(value)


def truth(value: Any) -> bool:
    """Whether a condition that is only this value holds."""
    value = _bare(value)
    if isinstance(value, Typed):
        return True
    if isinstance(value, Unordered):
        return bool(value.members)
    return bool(value)


def _equal_or_none(one: Any, other: Any) -> bool | None:
    try:
        return equal(one, other)
    except Unknown:
        return None


def _bare(value: Any) -> Any:
    """A value as it is compared: what is secret too, numbers as numbers."""
    if isinstance(value, Secret | Derived):
        return _bare(value.inside)
    if isinstance(value, Typed) and isinstance(value.value, float | Decimal):
        value = value.value
    if isinstance(value, Opaque):
        raise Unknown(f"a value of type {value.kind} cannot be compared")
    if isinstance(value, float | Decimal) and value != value:
        raise Unknown("NaN cannot be compared")
    return value


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Both as values of one type; `Unknown` when they are of different kinds."""
    if isinstance(one, bool) or isinstance(other, bool):
        raise Unknown("true and false have no order, and are no numbers")
    if isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS):
        return _numbers(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return one, other
    if isinstance(one, Typed) and isinstance(other, Typed) and one.kind == other.kind:
        return _in_zones(one.value, other.value)
    if isinstance(one, Typed) and isinstance(other, str):
        return _in_zones(one.value, _read(one, other))
    if isinstance(one, str) and isinstance(other, Typed):
        return _in_zones(_read(other, one), other.value)
    raise Unknown(f"{type(one).__name__} and {type(other).__name__} cannot be compared")


def _in_zones(one: Any, other: Any) -> tuple[Any, Any]:
    """Both, unless only one of two moments says in which zone it is."""
    if (getattr(one, "tzinfo", None) is None) != (getattr(other, "tzinfo", None) is None):
        raise Unknown("only one of the two has a time zone")
    return one, other


def _numbers(one: Any, other: Any) -> tuple[Any, Any]:
    """A fraction in a rule means its digits: 0.1 is Decimal('0.1')."""
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _digits(one), _digits(other)
    return one, other


def _digits(number: Any) -> Any:
    return Decimal(repr(number)) if isinstance(number, float) else number


def _read(typed: Typed, text: str) -> Any:
    """The text of a rule as a value of the argument's type: a date is compared as a date."""
    kind = PurePath if isinstance(typed.value, PurePath) else type(typed.value)
    try:
        made = _adapter(kind).validate_python(text)
    except ValidationError as error:
        raise Unknown(f"{text!r} is no {typed.kind}") from error
    return type(typed.value)(made) if kind is PurePath else made


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _text(value: Any) -> str:
    if isinstance(value, Typed):
        return value.text
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise Unknown(f"{type(value).__name__} is no text")
