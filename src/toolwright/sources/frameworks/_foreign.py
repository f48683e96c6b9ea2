"""What all tools of other frameworks have in common once they are ours."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from toolwright.concurrency import in_user_thread
from toolwright.errors import ArgumentError, ToolError
from toolwright.messages import ToolSpec
from toolwright.tools import Args, Output, Tool, ToolContext, schema_parser, to_output

__all__ = [
    "Call",
    "Fill",
    "defaults_of",
    "foreign_tool",
    "in_thread",
    "with_defaults",
    "with_model",
    "with_schema",
]

Call = Callable[[Args, ToolContext], Awaitable[Any]]
"""Calls the foreign tool; whatever it returns becomes an output."""

Fill = Callable[[Args], Args]
"""From the arguments that a model wrote to those that the foreign tool would use."""


def foreign_tool(
    name: str,
    description: str,
    schema: dict[str, Any],
    call: Call,
    *,
    fill: Fill | None = None,
    parse: Callable[[str], Args] | None = None,
) -> Tool:
    """A tool with the foreign one's name and schema; its exceptions become error results.

    What the framework makes of arguments is made of them here, before rules and people see them:
    with its own validation (`parse`), or after that of the schema (`fill`).
    """
    parameters = {"type": "object", "properties": {}, **schema}
    parameters.pop("title", None)

    by_schema = schema_parser(name, parameters)

    def parse_and_fill(raw: str) -> Args:
        return fill(by_schema(raw)) if fill is not None else by_schema(raw)

    async def run(args: Args, ctx: ToolContext) -> Output:
        return to_output(await call(args, ctx))

    return Tool(
        spec=ToolSpec(name=name, description=description, parameters=parameters),
        parse=parse or parse_and_fill,
        run=run,
        # It is not known what it reads.
        trust="untrusted",
    )


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function's parameters are when a call leaves them out, but for None."""
    parameters = inspect.signature(function).parameters.values()
    given = {one.name: one.default for one in parameters if one.default is not one.empty}
    return {
        name: value
        for name, value in given.items()
        if value is not None and not isinstance(value, FieldInfo)
    }


def with_defaults(function: Callable[..., Any], schema: Mapping[str, Any]) -> Fill:
    """For a framework that calls `function` with what the model has written."""
    names = schema.get("properties", {})
    defaults = {name: value for name, value in defaults_of(function).items() if name in names}
    return lambda args: {**defaults, **args}


def with_schema(schema: Mapping[str, Any]) -> Fill:
    """For a framework of which only the schema is known: its defaults, to any depth."""

    def fill(args: Args) -> Args:
        return _filled(schema, args)

    def _filled(part: Mapping[str, Any], value: Any) -> Any:
        place = str(part.get("$ref", ""))
        part = schema.get("$defs", {}).get(place.removeprefix("#/$defs/"), part)
        if isinstance(value, list) and isinstance(part.get("items"), dict):
            return [_filled(part["items"], item) for item in value]
        if not isinstance(value, dict):
            return value
        fields = {name: each for name, each in part.get("properties", {}).items() if each}
        missing = {name: each.get("default") for name, each in fields.items() if name not in value}
        filled = {**{name: each for name, each in missing.items() if each is not None}, **value}
        return {name: _filled(fields.get(name, {}), each) for name, each in filled.items()}

    return fill


def with_model(name: str, model: Any) -> Fill:
    """For a framework that validates what it is called with against `model`, a pydantic one.

    It will do so again, with what is shown; where that would make other arguments of it, the call is
    refused.
    """

    def fill(args: Args) -> Args:
        first = _valid(args)
        plain = first.model_dump(mode="json", by_alias=True)
        shown = {key: value for key, value in plain.items() if value is not None or key in args}
        if _valid(shown) != first:
            raise ToolError(
                f"{name!r} was not called: its validation makes other arguments of those it has made, "
                f"{shown!r}, so that nobody could be shown what runs. Its developer should make it "
                "one that leaves its own arguments as they are, or a tool of a plain function."
            )
        return shown

    def _valid(args: Args) -> BaseModel:
        try:
            return model.model_validate(args)  # type: ignore[no-any-return]
        except ValidationError as error:
            issues = [
                f"{'.'.join(map(str, each['loc'])) or 'arguments'!r}: {each['msg']}"
                for each in error.errors(include_url=False)
            ]
            raise ArgumentError(name, issues) from None

    is_model = isinstance(model, type) and issubclass(model, BaseModel)
    return fill if is_model else lambda args: args


async def in_thread(function: Callable[..., Any], args: Args) -> Any:
    """Call a function that may block; cancelled, nobody waits for its thread."""
    call = functools.partial(function, **args)
    return await in_user_thread(call)
