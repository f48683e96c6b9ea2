"""Read the tables of a page, and hold what they name against the code."""

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel

__all__ = ["Row", "check_code", "code_in", "parameters_of", "rows"]

Row = dict[str, str]


def rows(page: Path) -> Iterator[Row]:
    """Each row of each table, by its column's title, with the heading above it as `section`."""
    section, titles = "", []
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            section, titles = line.lstrip("# "), []
        elif not line.startswith("|"):
            titles = []
        elif not titles:
            titles = _cells(line)
        elif not set(line) <= set("|-: "):
            yield {"section": section, **dict(zip(titles, _cells(line), strict=True))}


def code_in(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def check_code(text: str) -> None:
    """Fail unless `Name`, `Name.attribute` or `Name(argument, argument=default)` is true of the code."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call):
        resolve(text)
        return
    thing = resolve(ast.unparse(node.func))
    known = _arguments(thing)
    for argument in node.args:
        assert ast.unparse(argument) in known, f"{text}: no argument {ast.unparse(argument)}"
    for keyword in node.keywords:
        assert keyword.arg in known, f"{text}: no argument {keyword.arg}"
        default = known[keyword.arg]
        assert default == ast.literal_eval(keyword.value), f"{text}: {keyword.arg}={default!r}"


def _arguments(thing: Any) -> dict[str, Any]:
    """Each argument and its default; a pydantic model's signature is not made before it is used."""
    if isinstance(thing, type) and issubclass(thing, BaseModel):
        return {name: field.default for name, field in thing.model_fields.items()}
    return {name: given.default for name, given in inspect.signature(thing).parameters.items()}


def parameters_of(text: str) -> tuple[str, list[str], dict[str, Any]]:
    """The name, all parameters and the defaults that `tool(a, b=1)` tells of."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call):
        return text, [], {}
    defaults = {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
    names = [ast.unparse(argument) for argument in node.args]
    return ast.unparse(node.func), [*names, *defaults], defaults


def resolve(dotted: str) -> Any:
    """What a name stands for, seen from `toolwright`."""
    found: Any = import_module("toolwright")
    for part in dotted.split("."):
        found = _member(found, part, dotted)
    return found


def _member(owner: Any, name: str, dotted: str) -> Any:
    if inspect.ismodule(owner):
        return _public(owner, name)
    if hasattr(owner, name):
        return getattr(owner, name)
    fields = {f.name for f in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else ()
    fields = {*fields, *getattr(owner, "model_fields", ()), *getattr(owner, "__annotations__", ())}
    assert name in fields, f"{dotted}: {owner!r} has no {name!r}"
    return None


def _public(module: Any, name: str) -> Any:
    """A public name of a module; that another framework is not installed is no fault of ours."""
    if name not in module.__all__:
        return import_module(f"{module.__name__}.{name}")
    try:
        return getattr(module, name)
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
