"""What a save or a deletion that was cut short leaves behind goes with its session."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwright.backends import BlobArtifacts
from toolwright.backends.artifacts._directory import DirectoryBlobs
from toolwright.errors import StoreError
from toolwright.messages import Scope, TextPart

pytestmark = pytest.mark.anyio
ADA = Scope(app_name="app", user_id="ada", session_id="s1")


class CutShort(DirectoryBlobs):
    """Refuses the change that it is told to, once."""

    changes: Iterator[int] = iter(())
    refused = -1

    async def create(self, key: str, data: bytes) -> bool:
        self._change()
        return await super().create(key, data)

    async def delete(self, key: str) -> None:
        self._change()
        await super().delete(key)

    def _change(self) -> None:
        if next(self.changes, None) == self.refused:
            raise StoreError("the disk is away")


def found_in(root: Path) -> list[Path]:
    return sorted(root.rglob("*"))


def files_in(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in found_in(root) if path.is_file()]


@pytest.mark.parametrize("refused", range(4))
async def test_a_deletion_that_was_cut_short_can_be_finished(tmp_path: Path, refused: int) -> None:
    blobs = CutShort(tmp_path)
    artifacts = BlobArtifacts(blobs)
    for _ in range(2):
        await artifacts.save(ADA, "secret.txt", TextPart("x"))
    await artifacts.save(ADA, "user:mine.txt", TextPart("x"))
    blobs.changes, blobs.refused = iter(range(4)), refused
    with pytest.raises(StoreError, match="away"):
        await artifacts.delete(ADA, "secret.txt")
    assert any("/s1/" in name for name in files_in(tmp_path))
    await artifacts.delete_session(ADA)
    assert [name for name in files_in(tmp_path) if "/s1/" in name] == []
    assert len(files_in(tmp_path)) == 2, "the user's own stays"


async def test_the_bytes_of_a_save_that_was_cut_short_go_with_the_session(tmp_path: Path) -> None:
    blobs = CutShort(tmp_path)
    artifacts = BlobArtifacts(blobs)
    blobs.changes, blobs.refused = iter(range(2)), 1
    with pytest.raises(StoreError, match="away"):
        await artifacts.save(ADA, "secret.txt", TextPart("x"))
    assert (len(files_in(tmp_path)), await artifacts.names(ADA)) == (1, [])
    await artifacts.delete_session(ADA)
    assert found_in(tmp_path) == [], "nor empty folders"


@pytest.mark.parametrize("killed", [1, 2])
async def test_what_a_killed_save_had_not_put_in_place_yet_goes_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    links, real = [0], os.link

    def link(source: str, target: str, *, src_dir_fd: int, **settings: Any) -> None:
        links[0] += 1
        if links[0] == killed:
            # As kill -9 leaves it: a copy, since here the original is removed.
            real(source, f"{source}-left", src_dir_fd=src_dir_fd, dst_dir_fd=src_dir_fd)
            raise OSError("killed")
        real(source, target, src_dir_fd=src_dir_fd, **settings)

    artifacts = BlobArtifacts(DirectoryBlobs(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        with pytest.raises(StoreError, match="killed"):
            await artifacts.save(ADA, "secret.txt", TextPart("x"))
    assert [name for name in files_in(tmp_path) if name.endswith("-left")]
    assert await artifacts.versions(ADA, "secret.txt") == []
    assert await artifacts.save(ADA, "secret.txt", TextPart("y")) == 0
    await artifacts.delete_session(ADA)
    assert found_in(tmp_path) == [], "nor empty folders"


@pytest.mark.parametrize("step", ["mkdir", "link"])
async def test_a_save_survives_that_others_delete_the_last_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    blobs, real, deleted = DirectoryBlobs(tmp_path), getattr(os, step), []

    def just_after_a_deletion(*args: Any, **settings: Any) -> Any:
        if len(deleted) < 5:
            deleted.append(args)
            for folder in ("app/ada/s1", "app/ada", "app"):
                blobs._delete(tmp_path / folder / "their-last.txt")
        return real(*args, **settings)

    monkeypatch.setattr(os, step, just_after_a_deletion)
    assert await blobs.create("app/ada/s1/mine.txt", b"x")
    assert len(deleted) == 5
    assert await blobs.get("app/ada/s1/mine.txt") == b"x"


async def test_a_save_into_a_folder_that_never_stays_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: str, target: str, **settings: Any) -> None:
        raise FileNotFoundError(target)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StoreError, match="Cannot store"):
        await DirectoryBlobs(tmp_path).create("app/ada/s1/mine.txt", b"x")
    assert files_in(tmp_path) == []
