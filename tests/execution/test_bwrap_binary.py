"""Which bubblewrap is used, and what is said about it."""

import errno
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from toolwright.backends import _own_paths
from toolwright.backends._own_paths import held_below
from toolwright.backends.sandboxes import Bubblewrap, OsSandbox, open_executor
from toolwright.backends.sandboxes import _bubblewrap as bubblewrap
from toolwright.backends.sandboxes import _bwrap_binary as binaries
from toolwright.backends.sandboxes._bwrap_binary import BwrapBinary, found_binaries, read_binary
from toolwright.builtin import BestExecutor
from toolwright.builtin.shell._best_executor import _capabilities
from toolwright.errors import StoreError, UsageError

pytestmark = pytest.mark.anyio


def program(directory: Path, version: str, does: str = "exit 0") -> str:
    directory.mkdir()
    path = directory / "bwrap"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap {version}" || {does}\n')
    path.chmod(0o755)
    return str(path)


def have(monkeypatch: pytest.MonkeyPatch, system: str, packaged: str) -> None:
    monkeypatch.delenv("TOOLWRIGHT_BWRAP", raising=False)
    monkeypatch.setattr(binaries, "SYSTEM_PATH", (str(Path(system).parent), "/usr/bin"))
    monkeypatch.setattr(binaries, "_packaged", lambda: packaged)
    bubblewrap._probed.cache_clear()


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    bubblewrap._probed.cache_clear()
    _capabilities.cache_clear()
    _own_paths._own.cache_clear()


def test_the_newest_of_the_system_and_the_package_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = program(tmp_path / "old", "0.9.1"), program(tmp_path / "new", "0.13.1")
    have(monkeypatch, system=old, packaged=new)
    assert [found.path for found in found_binaries()] == [new, old]
    have(monkeypatch, system=new, packaged=old)
    assert [found.path for found in found_binaries()] == [new, old]


def test_of_two_with_one_number_the_distribution_may_have_patched_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = program(tmp_path / "theirs", "0.11.0"), program(tmp_path / "ours", "0.11.0")
    have(monkeypatch, system=theirs, packaged=ours)
    assert found_binaries()[0].path == theirs


def test_a_patched_one_is_preferred_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched, new = program(tmp_path / "patched", "0.8.0"), program(tmp_path / "new", "0.13.1")
    have(monkeypatch, system=new, packaged=new)
    monkeypatch.setenv("TOOLWRIGHT_BWRAP", patched)
    assert found_binaries() == [BwrapBinary(patched, (0, 8, 0))]
    assert Bubblewrap(new).binary == BwrapBinary(new, (0, 13, 1))


async def test_an_older_one_is_used_where_the_newest_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = program(tmp_path / "new", "0.13.1", "{ echo no userns >&2; exit 1; }")
    works = program(tmp_path / "old", "0.9.0")
    have(monkeypatch, system=works, packaged=refused)
    walls = Bubblewrap()
    assert await walls.probe() is None
    assert walls.binary == BwrapBinary(works, (0, 9, 0))


async def test_where_none_works_the_probe_names_binary_version_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = program(tmp_path / "one", "0.13.1", "{ echo no userns >&2; exit 1; }")
    have(monkeypatch, system=refused, packaged=refused)
    assert await Bubblewrap().probe() == (
        f"bubblewrap 0.13.1 at {refused} is forbidden here: no userns"
    )


async def test_a_chosen_one_that_does_not_work_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWRIGHT_BWRAP", str(tmp_path / "nowhere"))
    for what in (Bubblewrap().probe, partial(open_executor, tmp_path, allow_unsandboxed=True)):
        with pytest.raises(UsageError, match=r"TOOLWRIGHT_BWRAP names a bubblewrap .*nowhere"):
            await what()
    _capabilities.cache_clear()
    with pytest.raises(UsageError, match="TOOLWRIGHT_BWRAP names"):
        BestExecutor(tmp_path)


FAILURES: dict[str, OSError | subprocess.TimeoutExpired | subprocess.CompletedProcess[str]] = {
    "slow": subprocess.TimeoutExpired("bwrap", 10),
    "no process": BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
    "no namespace": subprocess.CompletedProcess("bwrap", 1, "", f"x: {os.strerror(errno.EAGAIN)}"),
    "killed": subprocess.CompletedProcess("bwrap", -9, "", ""),
}


@pytest.mark.parametrize("how", FAILURES)
async def test_one_bad_moment_is_neither_remembered_nor_gone_on_from_without_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    works = program(tmp_path / "works", "0.9.0")
    have(monkeypatch, system=works, packaged=works)
    assert [found.path for found in found_binaries()] == [works, works]

    def fails(*args: object, **settings: object) -> subprocess.CompletedProcess[str]:
        if isinstance(failure := FAILURES[how], Exception):
            raise failure
        return failure

    _capabilities.cache_clear()
    with monkeypatch.context() as busy:
        busy.setattr(subprocess, "run", fails)
        with pytest.raises(StoreError, match="machine is busy"):
            await open_executor(tmp_path, allow_unsandboxed=True)
        with pytest.raises(StoreError, match="machine is busy"):
            BestExecutor(tmp_path)
    assert await Bubblewrap().probe() is None


async def test_commands_without_walls_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refused = program(tmp_path / "one", "0.13.1", "{ echo no userns >&2; exit 1; }")
    have(monkeypatch, system=refused, packaged=refused)
    _capabilities.cache_clear()
    for _ in range(2):
        assert not BestExecutor(tmp_path).is_sandbox
    executor = await open_executor(tmp_path, allow_unsandboxed=True)
    assert not executor.capabilities.filesystem_confined
    [told] = [text for text in caplog.messages if "without a sandbox" in text]
    assert "no userns" in told


def test_a_relative_choice_is_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = program(tmp_path / "bin", "0.9.0")
    (tmp_path / "ws").mkdir()
    theirs = program(tmp_path / "ws" / "bin", "99.0")
    monkeypatch.chdir(tmp_path)
    _own_paths._real_once.cache_clear()
    monkeypatch.setenv("TOOLWRIGHT_BWRAP", "bin/bwrap")
    assert [found.path for found in found_binaries()] == [ours]
    monkeypatch.chdir(tmp_path / "ws")
    assert theirs not in [found.path for found in found_binaries()]
    _own_paths._own.cache_clear()
    assert Path(ours) in held_below(tmp_path)


def test_advisories_go_by_version_and_by_how_it_is_installed() -> None:
    def known(version: tuple[int, ...], setuid: bool = False) -> list[str]:
        return [one.name for one in BwrapBinary("/x", version, setuid).advisories]

    assert known((0, 11, 0)) == ["CVE-2026-87766"]
    assert known((0, 11, 0), setuid=True) == ["CVE-2026-87766", "CVE-2026-41163"]
    assert known((0, 11, 2), setuid=True) == ["CVE-2026-87766"]
    assert known((0, 12, 0), setuid=True) == []


def test_a_program_that_does_not_say_its_version_counts_as_the_oldest(tmp_path: Path) -> None:
    silent = read_binary(program(tmp_path / "silent", "unknown"))
    assert silent.version == ()
    assert len(silent.advisories) == 1
    assert read_binary(str(tmp_path / "nowhere")).version == ()


async def test_a_sandbox_says_which_bubblewrap_it_is_and_what_is_known_against_it(
    tmp_path: Path,
) -> None:
    async with await OsSandbox.open(tmp_path, Bubblewrap()) as sandbox:
        said = " ".join(sandbox.capabilities.notes)
    binary = Bubblewrap().binary
    assert binary is not None
    assert f"bubblewrap {'.'.join(map(str, binary.version))} at {binary.path}" in said
    assert all(one.name in said for one in binary.advisories)
