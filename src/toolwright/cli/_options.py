"""Options that several commands share."""

from typing import Annotated, Any

from cyclopts import Parameter

__all__ = [
    "AgentOption",
    "JsonOption",
    "ModelOption",
    "SessionOption",
    "StoreOption",
    "VerboseOption",
    "unless_blank",
]

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
