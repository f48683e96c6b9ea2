"""Temporary directories: those of killed processes are removed, and nothing else is."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.execution.test_escapes import python_for

from toolwright import _temporary
from toolwright._temporary import (
    passing_directory,
    remove_leftovers,
    remove_tree,
    temporary_directory,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are told apart on POSIX only")
_NAMED = re.compile(r"toolwright-(?P<pid>[^-]+)-(?P<started>[^-]+)-(?P<place>[^-]+)-.*")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are, and are removed only when a test says so."""
    monkeypatch.setattr("toolwright._temporary._sweep_once", lambda root, pid: None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def gone() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def renamed(directory: Path, **parts: str) -> Path:
    """As if another process had made it."""
    found = _NAMED.fullmatch(directory.name)
    assert found
    named = {**found.groupdict(), **parts}
    return directory.rename(
        directory.with_name(
            f"toolwright-{named['pid']}-{named['started']}-{named['place']}-abcd_123"
        )
    )


def test_what_an_ended_process_left_is_removed_with_all_that_is_in_it(
    root: Path, gone: int
) -> None:
    left = renamed(temporary_directory(), pid=f"{gone:x}")
    (left / "inner").mkdir()
    (left / "inner" / "file").touch()
    remove_leftovers(root)
    assert not left.exists()


def test_a_number_that_is_another_process_s_by_now_does_not_protect(root: Path) -> None:
    left = renamed(temporary_directory(), started="1")
    remove_leftovers(root)
    assert not left.exists()


@pytest.mark.parametrize("parts", [{}, {"place": "0" * 6, "pid": "GONE"}, {"started": "0"}])
def test_what_may_be_in_use_stays(root: Path, gone: int, parts: dict[str, str]) -> None:
    named = {name: f"{gone:x}" if text == "GONE" else text for name, text in parts.items()}
    kept = renamed(temporary_directory(), **named)
    remove_leftovers(root)
    assert kept.is_dir()


def test_links_files_and_other_names_are_not_touched(root: Path, gone: int) -> None:
    ours = renamed(temporary_directory(), pid=f"{gone:x}")
    precious = root / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (ours / "link").symlink_to(precious)
    link, file = (root / ours.name.replace("abcd", end) for end in ("link", "file"))
    link.symlink_to(precious)
    file.touch()
    other = root / "toolwright-notes"
    other.mkdir()
    remove_leftovers(root)
    assert not ours.exists()
    assert link.is_symlink()
    assert file.is_file()
    assert other.is_dir()
    assert (precious / "file").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_another_user_s_directory_is_not_touched(root: Path, gone: int) -> None:
    theirs = renamed(temporary_directory(), pid=f"{gone:x}")
    os.chown(theirs, 65534, 65534)
    remove_leftovers(root)
    assert theirs.is_dir()


def test_a_directory_that_passes_is_removed_at_the_end(root: Path) -> None:
    with passing_directory() as directory:
        (directory / "file").touch()
        assert directory.parent == root
    assert not directory.exists()


def test_deep_and_closed_directories_are_removed_and_no_link_is_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o750)
    (precious / "file").touch()
    top = tmp_path / "top"
    top.mkdir()
    inner = os.open(top, os.O_RDONLY)
    for _ in range(1200):  # Deeper than a path is long, and than functions may call each other.
        os.symlink(precious, "link", dir_fd=inner)
        os.mkdir("d", dir_fd=inner)
        deeper = os.open("d", os.O_RDONLY, dir_fd=inner)
        os.fchmod(inner, 0)
        os.close(inner)
        inner = deeper
    os.close(inner)
    remove_tree(top)
    assert not top.exists()
    assert (precious / "file").exists()
    assert precious.stat().st_mode & 0o777 == 0o750


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be others"
)
def test_an_ordinary_user_removes_closed_directories_too() -> None:
    home = Path(tempfile.mkdtemp(prefix="closed-"))
    (home / "top" / "a" / "b").mkdir(parents=True)
    for path in (home / "top" / "a" / "b", home / "top" / "a", home / "top", home):
        os.chown(path, 65534, 65534)
        path.chmod(0o700 if path == home else 0)
    source = Path(_temporary.__file__).read_text(encoding="utf-8")
    subprocess.run(
        [python_for("user"), "-"], user=65534, group=65534, cwd="/", text=True, check=True,
        input=f"{source}\nremove_tree({str(home / 'top')!r})",
    )  # fmt: skip
    assert os.listdir(home) == []
    home.rmdir()


def test_a_link_in_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir(mode=0o750)
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    remove_tree(tmp_path / "link")
    assert (tmp_path / "precious").stat().st_mode & 0o777 == 0o750


def test_the_next_process_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    make = "from toolwright._temporary import *; print(temporary_directory(), flush=True); input()"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    first = subprocess.Popen(
        [sys.executable, "-c", make],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert first.stdin
    assert first.stdout
    left = Path(first.stdout.readline().strip())
    assert left.is_dir()
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdin.close()
    first.stdout.close()
    wait = (
        "import threading; from toolwright._temporary import *; print(temporary_directory()); "
        "[one.join() for one in threading.enumerate() if one.daemon]"
    )
    subprocess.run([sys.executable, "-c", wait], env=env, check=True, capture_output=True)
    assert not left.exists()
