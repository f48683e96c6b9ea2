"""Say in words what went wrong with a file."""

from toolwright.backends.files import FileChanged

__all__ = ["explain"]


def explain(error: OSError | FileChanged, path: str) -> str:
    """One sentence for the model about `error`, which concerned `path`."""
    if isinstance(error, FileChanged):
        return f"{error} Read it again, then repeat the change."
    if isinstance(error, FileNotFoundError):
        return f"file not found: {path}"
    if isinstance(error, IsADirectoryError):
        return f"{path} is a directory, not a file"
    if isinstance(error, NotADirectoryError):
        return f"{path} is not a directory, or a file is where its directory should be"
    if isinstance(error, PermissionError):
        return f"not permitted: {error.strerror or error}: {path}"
    return f"{error.strerror or type(error).__name__}: {path}"
