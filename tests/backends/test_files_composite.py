"""Several backends as one tree."""

from pathlib import Path

import pytest

from toolwright.backends.files import (
    CompositeBackend,
    FilesystemBackend,
    Glob,
    Query,
    StateBackend,
    Wanted,
    find,
    find_in,
    grep,
)
from toolwright.errors import UsageError
from toolwright.tools import State, StateTable

pytestmark = pytest.mark.anyio


def _state() -> StateBackend:
    return StateBackend(State(StateTable()))


async def test_a_path_goes_to_the_longest_mount_without_its_prefix() -> None:
    default, outer, inner = _state(), _state(), _state()
    files = CompositeBackend(default, {"/m/": outer, "/m/deep": inner})
    await files.write("/a.txt", b"default")
    await files.write("/m/b.txt", b"outer")
    await files.write("/m/deep/c.txt", b"inner")
    await files.write("/made/d.txt", b"default")
    assert [entry.path for entry in await default.ls("/")] == ["/a.txt", "/made"]
    assert (await outer.read("/b.txt")).data == b"outer"
    assert (await inner.read("/c.txt")).data == b"inner"
    assert (await files.read("/m/deep/c.txt")).data == b"inner"


async def test_mounts_show_in_lists_and_cannot_be_written_over() -> None:
    files = CompositeBackend(_state(), {"/x/y/z/": _state()})
    assert [entry.path for entry in await files.ls("/")] == ["/x"]
    assert [entry.path for entry in await files.ls("/x")] == ["/x/y"]
    assert await files.ls("/x/y/z") == []
    with pytest.raises(IsADirectoryError):
        await files.write("/x/y", b"")


async def test_searches_cover_all_backends_below_the_start(tmp_path: Path) -> None:
    files = CompositeBackend(_state(), {"/disk/": FilesystemBackend(tmp_path)})
    for path in ("/a.md", "/disk/b.md", "/disk/sub/c.md", "/other/d.md"):
        await files.write(path, b"needle")
    found = (await find(files, "**/*.md")).paths
    assert found == ["/a.md", "/disk/b.md", "/disk/sub/c.md", "/other/d.md"]
    assert (await find(files, "disk/*.md")).paths == ["/disk/b.md"]
    assert (await find(files, "*.md", "/disk/sub")).paths == ["/disk/sub/c.md"]
    query = Query(pattern="needle", mode="files", glob=Glob("disk/**", anywhere=True))
    assert [item.path for item in (await grep(files, query)).files] == [
        "/disk/b.md",
        "/disk/sub/c.md",
    ]


async def test_what_a_mount_hides_is_not_found() -> None:
    default = _state()
    await default.write("/m/hidden.txt", b"needle")
    files = CompositeBackend(default, {"/m/": _state()})
    assert (await find(files, "**")).paths == []
    assert (await grep(files, Query(pattern="needle"))).files == []


def test_a_mount_at_the_top_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="default"):
        CompositeBackend(_state(), {"/": _state()})


def test_two_routes_to_one_place_are_refused() -> None:
    with pytest.raises(UsageError, match="Two routes lead to '/d'"):
        CompositeBackend(_state(), {"/d": _state(), "/d/": _state()})


async def test_directories_and_mounts_are_found_together(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files = CompositeBackend(_state(), {"/m/disk": FilesystemBackend(tmp_path)})
    await files.write("/src/a.txt", b"")
    found = await find_in(files, Wanted(glob=Glob("**"), directories=True))
    assert found.directories == ("/m", "/m/disk", "/m/disk/empty", "/src")
