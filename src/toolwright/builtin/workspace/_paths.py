"""Paths as a model writes them in a working directory, absolute or relative to it."""

import os
from pathlib import Path

from toolwright.backends.files import virtual_path
from toolwright.errors import ToolError

__all__ = ["WorkspacePaths"]


class WorkspacePaths:
    """Translates between the model's paths and those of a backend over the same directory."""

    def __init__(self, work_dir: str | os.PathLike[str]) -> None:
        given = Path(work_dir).expanduser().absolute()
        self._roots = tuple(dict.fromkeys((str(given.resolve()), str(given))))

    def inner(self, path: str) -> str:
        """The backend's path; `ToolError` for one that is outside."""
        for root in self._roots:
            joined = os.path.normpath(os.path.join(root, path or "."))
            if joined == root:
                return "/"
            if joined.startswith(root.rstrip("/") + "/"):
                return virtual_path(joined[len(root.rstrip("/")) :])
        raise ToolError(
            f"{path!r} is outside the working directory {self._roots[0]!r}; "
            "use a path inside it, such as 'src/main.py'."
        )

    def shown(self, inner: str) -> str:
        """A path of the backend as the model is shown it, relative to the working directory."""
        return inner.lstrip("/") or "."
