"""The functions that every framework gets as tools."""

import linecache
from collections.abc import Callable
from typing import Any

__all__ = ["Function", "add", "calls_made", "distinct", "helpers"]

Function = Callable[..., Any]

calls_made = 0
"""How often `add` has run: whoever did not run it did not do the work."""

_ADD = '''
{kind} {name}(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    global calls_made
    calls_made += 1
    return str(a + b)
'''

_FORECAST = '''
{kind} {name}(city: str, days: int = 3, units: str = "metric", tags: list[str] | None = None) -> str:
    """Forecast the weather.

    Args:
        city: The city to look up.
        days: How many days ahead.
        units: Either metric or imperial.
        tags: Words to file the answer under.
    """
    return f"{{city}} {{days}} {{units}} {{tags}}"
'''


def add(*, sync: bool = False) -> Function:
    """The tool that the scripts call."""
    return _define(_ADD, "add", sync)


def distinct(count: int, *, sync: bool = False) -> list[Function]:
    """So many functions, no two the same object, as a program with many tools would have."""
    return [_define(_FORECAST, f"forecast_{number}", sync) for number in range(count)]


def helpers(*, sync: bool = False) -> list[Function]:
    """`add` and two more: a small agent's tools."""
    return [add(sync=sync), *distinct(2, sync=sync)]


def _define(template: str, name: str, sync: bool) -> Function:
    source = template.format(kind="def" if sync else "async def", name=name)
    file = f"<bench {'sync' if sync else 'async'} {name}>"
    # Some frameworks read the source of a tool.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    found: dict[str, Any] = {}
    exec(compile(source, file, "exec"), globals(), found)
    return found[name]
