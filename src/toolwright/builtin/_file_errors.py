"""Say in words what went wrong with a file."""

from toolwright.backends.files import FileChanged

__all__ = ["explain"]


def explain(error: OSError | FileChanged, path: str) -> str:
    """One sentence for the model about `error`, which concerned `path`."""
    if isinstance(error, FileChanged):
        return f"file changed since it was read: {path}. Read it again, then repeat the change."
    if isinstance(error, FileNotFoundError):
        return f"file not found: {path}"
    if isinstance(error, IsADirectoryError):
        return f"is a directory, not a file: {path}"
    if isinstance(error, NotADirectoryError):
        return f"not a directory: {path}"
    if isinstance(error, PermissionError):
        return f"not permitted: {error.strerror or error}: {path}"
    return f"{error.strerror or type(error).__name__}: {path}"
