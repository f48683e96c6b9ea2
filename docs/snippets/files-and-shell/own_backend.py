import anyio

from toolwright.backends.files import Entry, Loaded, StateBackend
from toolwright.testing import check_files
from toolwright.tools import State, StateTable


class Counted:
    """A backend of your own: here, one that counts what is read from another."""

    def __init__(self) -> None:
        self._inner = StateBackend(State(StateTable()))
        self.reads = 0

    async def ls(self, path: str) -> list[Entry]:
        return await self._inner.ls(path)

    async def read(self, path: str) -> Loaded:
        self.reads += 1
        return await self._inner.read(path)

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        return await self._inner.write(path, data, expected=expected)


anyio.run(check_files, Counted)
