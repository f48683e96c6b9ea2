"""Fill in the variables of an `mcp.json`: the environment's, and the places that editors name."""

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from toolwright.errors import UsageError

__all__ = ["directory_of", "fill_in", "is_variable"]

# One that does not end is taken to the end: else its end would be looked for again at each `${`.
_VARIABLE = re.compile(r"\$\{([^}]*)(\}?)")
_OF_ENVIRONMENT = re.compile(r"(?:env:)?(\w+)(?::-((?:(?!\$\{).)*))?", re.DOTALL)
_OF_PERSON = re.compile(r"input:([\w.-]+)")


def directory_of(file: Path) -> Path:
    """The directory that an `mcp.json` is about, in which its servers start."""
    folder = file.absolute().parent
    # Editors keep the file in a folder of theirs, and mean the project around it.
    return folder.parent if folder.name.startswith(".") else folder


def is_variable(value: Any) -> bool:
    """Whether it is one variable, with nothing around it."""
    return isinstance(value, str) and _VARIABLE.fullmatch(value) is not None


def fill_in(value: Any, base: Path, where: str, *, withheld: Collection[str] = ()) -> Any:
    """`value` with its variables replaced, however deep they stand.

    `UsageError`, which begins with `where`, for one that is not set, that only another client knows
    or that is `withheld`, as the keys of models' providers are from what may be sent away.
    """
    if isinstance(value, str):
        return _VARIABLE.sub(
            lambda match: _variable(match[1], base, where, withheld) if match[2] else match[0],
            value,
        )
    if isinstance(value, list):
        return [fill_in(item, base, where, withheld=withheld) for item in value]
    if isinstance(value, dict):
        return {key: fill_in(item, base, where, withheld=withheld) for key, item in value.items()}
    return value


def _variable(written: str, base: Path, where: str, withheld: Collection[str]) -> str:
    if (known := _places(base).get(written)) is not None:
        return known
    if asked := _OF_PERSON.fullmatch(written):
        return _looked_up(re.sub(r"\W", "_", asked[1]), None, where, withheld)
    if found := _OF_ENVIRONMENT.fullmatch(written):
        return _looked_up(found[1], found[2], where, withheld)
    if ":" in written or "${" in written:
        raise UsageError(
            f"{where} has ${{{written}}}, which only another client can fill in: write "
            "the value, or ${VAR} for a variable of the environment."
        )
    return f"${{{written}}}"  # A shell's own.


def _places(base: Path) -> dict[str, str]:
    return {
        "workspaceFolder": str(base),
        "workspaceFolderBasename": base.name,
        "userHome": str(Path.home()),
        "pathSeparator": os.sep,
        "/": os.sep,
    }


def _looked_up(name: str, default: str | None, where: str, withheld: Collection[str]) -> str:
    if name in withheld:
        raise UsageError(
            f"{where} wants {name}, the key of a model's provider, where it would be sent to an "
            'address or seen by other programs: it may only be the whole value of a name in "env". '
            "If this server is to have a key, put it into a variable of its own."
        )
    found = os.environ.get(name, default)
    if found is None:
        raise UsageError(f"{where} needs the environment variable {name}; set it.")
    return found
