"""Refuse functions whose answer is always true, whatever they mean to say, where they are given."""

import inspect
from typing import Any

from toolwright.errors import UsageError

__all__ = ["refuse_always_true", "refuse_no_answer"]


def refuse_always_true(function: Any, what: str, *, may_wait: bool = True) -> None:
    """`UsageError` for a generator function, a class and, unless it `may_wait`, an async function.

    Calling one gives an object, and every object counts as a yes.
    """
    call = type(function).__call__
    found = ""
    if isinstance(function, type):
        found = "a class"
    elif any(
        inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f) for f in (function, call)
    ):
        found = "a generator function (it has a `yield`)"
    elif not may_wait and any(inspect.iscoroutinefunction(f) for f in (function, call)):
        found = "an async function, which nobody awaits there"
    if found:
        raise UsageError(
            f"{what} is {found}, whose answer would always count as true: {function!r}. Give a "
            "function that returns True or False."
        )


def refuse_no_answer(said: Any, function: Any) -> None:
    """`UsageError` for what a function returned that is neither a yes nor a no, but always true."""
    if inspect.isgenerator(said) or inspect.isasyncgen(said) or callable(said):
        raise UsageError(
            f"{function!r} returned {said!r}, which would always count as true; let it return True or "
            "False."
        )
