"""Whoever writes a backend runs the suite that ours pass; the first failure is raised."""

import tempfile

from toolwright.backends import FilesystemBackend, LocalExecutor, MemoryStore
from toolwright.testing import check_executor, check_files, check_store


async def local_executor() -> LocalExecutor:
    return LocalExecutor(tempfile.mkdtemp())


async def test_our_backends_keep_their_promises() -> None:
    await check_files(lambda: FilesystemBackend(tempfile.mkdtemp()))
    await check_store(MemoryStore)
    await check_executor(local_executor)
