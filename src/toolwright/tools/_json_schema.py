"""Arguments for tools whose parameters are plain JSON Schema: MCP, OpenAPI, plugins, hand-written."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import jsonable
from toolwright.tools._arguments import Args, load_json, load_object
from toolwright.tools._schema_check import SchemaCheck, TooMuchWork

__all__ = ["checked_examples", "checked_parser", "schema_parser"]

_TOLD = 20
_LONGEST = 500
"""Of what is wrong with arguments: places that the model is told, and letters for each."""


def schema_parser(name: str, schema: Mapping[str, Any]) -> Callable[[str], Args]:
    """A tool's `parse` that validates against `schema`; the validator is built on first use."""
    return _SchemaParser(name, schema).parse


def checked_parser(name: str, schema: Mapping[str, Any]) -> Callable[[str], Args]:
    """The same for a schema from outside: what is wrong with it is a `UsageError` now, not at a call."""
    parser = _SchemaParser(name, schema)
    parser.check  # noqa: B018 - made now
    return parser.parse


def checked_examples(
    name: str,
    examples: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any],
    parse: Callable[[str], Args],
) -> tuple[dict[str, Any], ...]:
    """Examples of a tool's arguments as plain JSON; `UsageError` for one that is no good call.

    What a model would be forgiven, such as "7" for a number, is refused: it reads them as they are,
    and providers hold them to the schema.
    """
    check = SchemaCheck(schema) if examples else None
    plain = tuple(map(jsonable, examples))
    for number, example in enumerate(plain, 1):
        problems = _problems(example, check, parse)
        if problems:
            raise UsageError(
                f"Example {number} of tool {name!r} does not fit its parameters: "
                f"{'; '.join(problems)}. It is {json.dumps(example, ensure_ascii=False)}."
            )
    return plain


def _problems(example: Any, check: Any, parse: Callable[[str], Args]) -> list[str]:
    text = json.dumps(example)
    try:
        parse(text)
    except ArgumentError as error:
        return list(error.issues)
    found = check.errors(example, len(text))
    return [
        f"{'.'.join(map(str, error.instance_path)) or 'arguments'!r}: {error.message}"
        for error in found[:_TOLD]
    ]


class _SchemaParser:
    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        self.name = name
        self.schema = schema

    @cached_property
    def check(self) -> SchemaCheck:
        try:
            return SchemaCheck(self.schema)
        except UsageError as error:
            raise UsageError(
                f"The schema of tool {self.name!r} cannot be used: {error}."
            ) from error

    def parse(self, raw: str) -> Args:
        """Arguments that fit the schema; slips are mended in as many rounds as it nests."""
        args = load_object(self.name, raw)
        try:
            for _ in range(8):
                errors = self.check.errors(args, len(raw))
                if not errors:
                    return args
                mended = [_mend(args, error) for error in errors]
                if not any(mended):
                    break
        except TooMuchWork as error:
            known = ", ".join(self.schema.get("properties", {}))
            raise ArgumentError(
                self.name, [f"they cannot be checked: {error}; this tool takes: {known}"]
            ) from None
        told = [self._explain(error) for error in errors[:_TOLD]]
        more = len(errors) - len(told)
        raise ArgumentError(self.name, told + [f"and {more} more"] * bool(more))

    def _explain(self, error: Any) -> str:
        told = self._in_words(error)
        return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"

    def _in_words(self, error: Any) -> str:
        where = ".".join(str(step) for step in error.instance_path)
        if "required" in error.schema_path[-1:]:
            missing = error.message.split(" is a required")[0].strip("\"'")
            return f"missing required parameter {f'{where}.{missing}'.lstrip('.')!r}"
        if "additionalProperties" in error.schema_path[-1:] and not where:
            known = ", ".join(self.schema.get("properties", {})) or "no parameters"
            return f"{error.message}; this tool takes: {known}"
        return f"{where or 'arguments'!r}: {error.message}"


def _mend(args: Args, error: Any) -> bool:
    """Undo a harmless slip in place: a number or object sent as text, or text sent as a number."""
    path, schema_path = list(error.instance_path), list(error.schema_path)
    if not path or schema_path[-1] != "type":
        return False
    holder: Any = args
    for step in path[:-1]:
        holder = holder[step]
    found = holder[path[-1]]
    wanted = _wanted_types(error)
    mended = _convert(found, wanted)
    if mended is found:
        return False
    holder[path[-1]] = mended
    return True


def _wanted_types(error: Any) -> set[str]:
    kind = error.kind
    types = getattr(kind, "types", None) or getattr(kind, "as_dict", dict)().get("types", ())
    return {str(name) for name in types}


def _convert(found: Any, wanted: set[str]) -> Any:
    match found:
        case str():
            try:
                value = load_json(found)
            except ValueError:
                return found
            return value if _json_type(value) & wanted else found
        case bool():
            return found
        case int() | float() if "string" in wanted:
            return str(found)
        case float() if "integer" in wanted and found.is_integer():
            return int(found)
    return found


def _json_type(value: Any) -> set[str]:
    match value:
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            return {"number"}
        case dict():
            return {"object"}
        case list():
            return {"array"}
        case _:
            return set()
