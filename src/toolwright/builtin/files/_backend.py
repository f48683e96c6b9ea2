"""Find the backend that a call should use."""

from collections.abc import Callable

from toolwright.backends.files import Files
from toolwright.errors import UsageError
from toolwright.tools import ToolContext

__all__ = ["Backend", "backend_for"]

Backend = Files | Callable[[ToolContext], Files]
"""A backend, or a function that gives one for a call's context."""


def backend_for(backend: Backend | None) -> Callable[[ToolContext], Files]:
    """A function from context to backend, whichever of the two was given."""
    if isinstance(backend, type):
        raise UsageError(
            f"{backend.__name__} is a class; give an instance of it, or a function of the context "
            "such as lambda ctx: StateBackend(ctx.state)."
        )
    if isinstance(backend, Files):
        return lambda _: backend
    if not callable(backend):
        raise UsageError(
            f"No backend configured: got {backend!r}. Give a Files backend such as "
            "FilesystemBackend('.'), or a function of the context that returns one."
        )
    return lambda ctx: _demanded(backend(ctx))


def _demanded(files: Files) -> Files:
    if not isinstance(files, Files):
        raise UsageError(f"The backend function returned {files!r}, which is not a Files backend.")
    return files
