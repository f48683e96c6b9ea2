"""How this program starts Python of its own: from nothing that others can write."""

import sys
from pathlib import Path

__all__ = ["PYTHON", "own_program"]

PYTHON = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
"""The interpreter behind this one's virtual environment, which may lie in somebody's workspace."""


def own_program(source: str, *arguments: str) -> list[str]:
    """The command that runs Python of ours. It is handed over as text, which was read when this
    program was started: a file could have been changed since.
    """
    return [str(PYTHON), "-I", "-S", "-c", source, *arguments]
