"""The files that the agent works on: look, and read."""

from pydantic import BaseModel
from starlette.responses import Response

from toolwright.backends.files import Files
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._problems import ProblemError
from toolwright.serve.routes._artifacts import download

__all__ = ["FileRoutes"]


class AtPath(Fields):
    """Which file or directory."""

    path: str = "/"


class FileInfo(BaseModel):
    """A file or directory."""

    path: str
    is_dir: bool
    size: int
    modified_at: str


class FileRoutes(Routes):
    """The operations on files; there are none where the server was given no files."""

    tag = "files"

    def __init__(self, files: Files) -> None:
        self.files = files

    @route("GET", "/api/files", query=AtPath, returns=list[FileInfo], errors=(404,))
    async def list_files(self, ask: Ask[Nothing, AtPath]) -> list[FileInfo]:
        """What is in a directory, directories first."""
        try:
            entries = await self.files.ls(ask.query.path)
        except (OSError, ValueError) as error:
            raise _not_found(ask.query.path, error) from error
        entries.sort(key=lambda entry: (not entry.is_dir, entry.path))
        return [
            FileInfo(path=e.path, is_dir=e.is_dir, size=e.size, modified_at=e.modified_at)
            for e in entries
        ]

    @route(
        "GET",
        "/api/files/content",
        query=AtPath,
        media_type="application/octet-stream",
        errors=(404,),
    )
    async def read_file(self, ask: Ask[Nothing, AtPath]) -> Response:
        """A file's bytes."""
        try:
            loaded = await self.files.read(ask.query.path)
        except (OSError, ValueError) as error:
            raise _not_found(ask.query.path, error) from error
        if _is_text(loaded.data):
            headers = {"Content-Security-Policy": "sandbox; default-src 'none'"}
            return Response(loaded.data, headers=headers, media_type="text/plain; charset=utf-8")
        return download(ask.query.path, loaded.data, "application/octet-stream")


def _not_found(path: str, error: Exception) -> ProblemError:
    return ProblemError(404, f"{path!r} cannot be read: {type(error).__name__}.")


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False
