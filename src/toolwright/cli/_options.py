"""Options that several commands share."""

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from toolwright.errors import UsageError

__all__ = [
    "USER",
    "AgentOption",
    "JsonOption",
    "ModelOption",
    "SessionOption",
    "StoreOption",
    "VerboseOption",
    "refuse_empty",
    "unless_blank",
]

USER = "me"
"""Whose the sessions are that a command makes, and whose calls it makes and explains."""
ModelOption = Annotated[str | None, Parameter(name=["--model", "-m"], help="provider:name, or me.")]
AgentOption = Annotated[
    str | None,
    Parameter(
        name=["--agent", "-a"], help="An agent.yaml, or MODULE:OBJECT; ./agent.yaml if not given."
    ),
]
StoreOption = Annotated[
    str | None,
    Parameter(name="--store", help="Where sessions are kept, such as sqlite:///file.db."),
]
SessionOption = Annotated[
    str | None, Parameter(name=["--session", "-s"], help="Go on with this session.")
]
JsonOption = Annotated[bool, Parameter(name="--json", negative=(), help="One JSON object a line.")]
VerboseOption = Annotated[
    bool, Parameter(name=["--verbose", "-v"], negative=(), help="Log errors with their tracebacks.")
]


def unless_blank(hint: Any, value: str, *, delimiter: str | None = None) -> list[str]:
    """How options read the environment: a variable that is set to nothing is not set."""
    return [value] if value.strip() else []


def refuse_empty(options: Mapping[str, str | None]) -> None:
    """`UsageError` for an option that is there and names nothing.

    That is a variable of a script that was not set: what is there instead is not what was meant.
    """
    for option, value in options.items():
        if value is not None and not value.strip():
            raise UsageError(f"{option} is empty; name one, or leave it out.")
