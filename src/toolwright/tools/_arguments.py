"""Turn the JSON a model wrote into arguments: mend harmless slips, explain the rest field by field."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from toolwright.errors import ArgumentError

__all__ = ["Args", "args_parser", "explain", "load_json", "load_object"]

Args = dict[str, Any]
"""Validated arguments, by parameter name."""
_WANTED_CONTAINER = {
    "dict_type", "list_type", "model_type", "model_attributes_type", "tuple_type", "set_type",
    "frozen_set_type", "dataclass_type", "mapping_type", "iterable_type",
}  # fmt: skip


def args_parser(
    name: str,
    validator: SchemaValidator,
    names: Sequence[str],
    defaults: Mapping[str, Any] | None = None,
) -> Callable[[str], Args]:
    """A tool's `parse`: the fast path validates the text itself; only a failure is looked into.

    `defaults` are put in for what a call leaves out, so that rules and people see them.
    """

    def parse(raw: str) -> Args:
        try:
            args = _validated(validator, raw or "{}")
        except ValidationError:
            args = _parse_slowly(name, validator, names, raw)
        return _filled(args, defaults, names) if defaults else args

    return parse


def _filled(args: Args, defaults: Mapping[str, Any], names: Sequence[str]) -> Args:
    """In the order of the signature."""
    missing = {name: value for name, value in defaults.items() if name not in args}
    if not missing:
        return args
    filled = {**args, **missing}
    return {name: filled[name] for name in (*names, *filled) if name in filled}


def _validated(validator: SchemaValidator, text: str) -> Args:
    args: Args = validator.validate_json(text)
    for name, value in args.items():
        # An `Iterable` is checked as it is read, and can be read once; rules and people come first.
        # The class has no public name.
        if type(value).__name__ == "ValidatorIterator":
            args[name] = list(value)
    return args


def _parse_slowly(name: str, validator: SchemaValidator, names: Sequence[str], raw: str) -> Args:
    value = load_object(name, raw)
    try:
        return _validated(validator, json.dumps(value))
    except ValidationError as error:
        mended = _unpack_json_strings(value, error.errors(include_url=False))
    try:
        return _validated(validator, json.dumps(mended))
    except ValidationError as error:
        issues = [explain(detail, names) for detail in error.errors(include_url=False)]
        raise ArgumentError(name, issues) from None


def load_object(name: str, raw: str) -> Args:
    """The JSON object in `raw`, also when it was encoded twice; `ArgumentError` otherwise."""
    try:
        value = load_json(raw or "{}")
        if isinstance(value, str):
            value = load_json(value or "{}")
    except ValueError as error:
        raise ArgumentError(name, [f"this is not JSON ({error}): {_short(raw)}"]) from None
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise ArgumentError(
            name, [f"expected a JSON object of arguments, found {kind}: {_short(raw)}"]
        )
    return value


def load_json(text: str) -> Any:
    """The value in `text`; `ValueError` for what is no JSON, as Python's NaN and infinity are none."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:20])


def _unpack_json_strings(value: Args, errors: Sequence[ErrorDetails]) -> Args:
    """Where an object or a list was wanted and a string of JSON was sent, put what it holds."""
    for detail in errors:
        if detail["type"] in _WANTED_CONTAINER and isinstance(detail["input"], str):
            _replace_at(value, detail["loc"], detail["input"])
    return value


def _replace_at(value: Any, loc: Sequence[int | str], text: str) -> None:
    try:
        unpacked = load_json(text)
        holder = value
        # Union members add steps to `loc` that are not in the data; stop where the text is.
        for step in loc:
            if holder[step] == text:
                holder[step] = unpacked
                return
            holder = holder[step]
    except (ValueError, LookupError, TypeError):
        return


def explain(detail: ErrorDetails, names: Sequence[str]) -> str:
    """One validation error in one line that a model can act on."""
    where = ".".join(str(step) for step in detail["loc"]) or "arguments"
    if detail["type"] == "missing":
        return f"missing required parameter {where!r}"
    if detail["type"] == "extra_forbidden" and len(detail["loc"]) > 1:
        return f"unknown field {where!r}; leave it out"
    if detail["type"] == "extra_forbidden":
        known = ", ".join(names) or "no parameters"
        return f"unknown parameter {where!r}; this tool takes: {known}"
    message = detail["msg"][0].lower() + detail["msg"][1:]
    return f"{where!r}: {message}; found {_short(detail['input'])}"


def _short(value: Any, limit: int = 120) -> str:
    shown = repr(dict(value) if isinstance(value, Mapping) else value)
    return shown if len(shown) <= limit else f"{shown[:limit]}…"
