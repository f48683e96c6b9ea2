"""No path leads out of a directory backend."""

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.backends.files import FilesystemBackend, Query, find, grep
from toolwright.backends.files._landlock import is_confining, start_confined
from toolwright.errors import ToolError, UsageError

pytestmark = pytest.mark.anyio

_PARTS = st.sampled_from(
    ["..", ".", "", "in", "out", "up", "secret.txt", "a.txt", "~", "loop", "．．", "%2e%2e", "..\\"]
)


def _tree(tmp_path: Path) -> FilesystemBackend:
    """A root with links of every kind, and a secret beside it."""
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("SECRET")
    (root / "out").symlink_to(tmp_path)
    (root / "up").symlink_to("../")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "loop").symlink_to("loop")
    (root / "in" / "circle").symlink_to("../in")
    (root / "within").symlink_to("in/a.txt")
    (root / "absolute").symlink_to(root / "in")
    return FilesystemBackend(root)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.lists(_PARTS, max_size=6), st.sampled_from(["/", ""]))
async def test_no_path_reads_or_writes_outside(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], slash: str
) -> None:
    base = tmp_path_factory.mktemp("confined")
    files = _tree(base)
    path = slash + "/".join(parts)
    with suppress(ToolError, OSError):
        assert (await files.read(path)).data != b"SECRET"
    with suppress(ToolError, OSError):
        await files.write(path + "/new.txt", b"x")
    assert sorted(os.listdir(base)) == ["root", "secret.txt"]
    assert (base / "secret.txt").read_text() == "SECRET"


@pytest.mark.parametrize("path", ["/out/secret.txt", "/up/secret.txt", "/out.txt", "/loop"])
async def test_links_that_lead_out_are_refused(tmp_path: Path, path: str) -> None:
    files = _tree(tmp_path)
    with pytest.raises(PermissionError):
        await files.read(path)
    with pytest.raises(PermissionError):
        await files.write(path, b"overwritten")
    assert (tmp_path / "secret.txt").read_text() == "SECRET"


@pytest.mark.parametrize("path", ["/within", "/absolute/a.txt", "/in/circle/circle/a.txt"])
async def test_links_that_stay_inside_are_followed(tmp_path: Path, path: str) -> None:
    files = _tree(tmp_path)
    assert (await files.read(path)).data == b"inside"
    await files.write(path, b"changed")
    assert (tmp_path / "root" / "in" / "a.txt").read_text() == "changed"
    assert (tmp_path / "root" / "within").is_symlink()


@pytest.mark.parametrize("ripgrep", [True, False])
async def test_searches_neither_follow_links_nor_loop(tmp_path: Path, ripgrep: bool) -> None:
    files = FilesystemBackend(_tree(tmp_path).root, ripgrep=ripgrep)
    assert (await find(files, "**")).paths == ["/in/a.txt"]
    assert (await grep(files, Query(pattern="SECRET"))).files == []
    with pytest.raises(PermissionError):
        await grep(files, Query(pattern="SECRET", start="/out"))
    with pytest.raises(PermissionError):
        await grep(files, Query(pattern="SECRET", start="/out.txt"))


async def test_a_directory_swapped_for_a_link_again_and_again_never_lets_a_path_out(
    tmp_path: Path,
) -> None:
    files = _tree(tmp_path)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "secret.txt").write_text("SECRET")
    swapped = tmp_path / "root" / "swap"
    with _swapping(swapped, tmp_path / "d"):
        for _ in range(400):
            with suppress(OSError):
                assert (await files.read("/swap/secret.txt")).data != b"SECRET"
            with suppress(OSError):
                await files.write("/swap/planted.txt", b"x")
    assert os.listdir(tmp_path / "d") == ["secret.txt"]


@pytest.mark.parametrize("ripgrep", [True, False])
async def test_a_search_during_such_swaps_shows_nothing_from_outside(
    tmp_path: Path, ripgrep: bool
) -> None:
    if ripgrep:
        _demand_landlock()
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "secret.txt").write_text("SECRET")
    for number in range(30):
        (root / f"d{number}").mkdir(parents=True)
    files = FilesystemBackend(root, ripgrep=ripgrep)
    with _swapping(root / "d15", outside):
        for _ in range(150 if ripgrep else 30):
            assert (await grep(files, Query(pattern="SECRET"))).files == []


def _demand_landlock() -> None:
    if not is_confining("/bin/cat"):
        pytest.skip("this kernel has no Landlock, or does not let programs use it")


def test_a_confined_program_reads_only_what_it_was_given(tmp_path: Path) -> None:
    _demand_landlock()
    (tmp_path / "in.txt").write_text("inside")
    for path, expected in ((tmp_path / "in.txt", b"inside"), (Path("/etc/passwd"), b"")):
        process = start_confined(
            ["/bin/cat", str(path)], [str(tmp_path)], stdout=PIPE, stderr=DEVNULL
        )
        assert process.communicate()[0] == expected


@contextmanager
def _swapping(path: Path, target: Path) -> Iterator[None]:
    """Let `path` be now a directory, now a link to `target`, until the block ends."""
    over = threading.Event()
    # Outside the root, where thousands of old directories make no search slower.
    aside = path.parents[1] / "aside"
    aside.mkdir()

    def swap() -> None:
        for number in itertools.count():
            if over.is_set():
                return
            for step in (
                lambda: os.rename(path, aside / str(number)),  # noqa: B023
                lambda: os.symlink(target, path),
                lambda: os.unlink(path),
                lambda: os.mkdir(path),
            ):
                with suppress(OSError):
                    step()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PermissionError, match="regular"):
        await FilesystemBackend(tmp_path).read("/pipe")


async def test_a_write_keeps_permissions_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    await FilesystemBackend(tmp_path).write("/run.sh", b"new")
    assert script.stat().st_mode & 0o777 == 0o750
    assert os.listdir(tmp_path) == ["run.sh"]


async def test_a_file_that_was_made_read_only_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("keep")
    (tmp_path / "a.txt").chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        await FilesystemBackend(tmp_path).write("/a.txt", b"lost")
    assert (tmp_path / "a.txt").read_text() == "keep"


async def test_names_that_are_not_utf_8_can_be_listed(tmp_path: Path) -> None:
    descriptor = os.open(bytes(tmp_path) + b"/\xff.txt", os.O_CREAT | os.O_WRONLY)
    os.write(descriptor, b"needle")
    os.close(descriptor)
    files = FilesystemBackend(tmp_path)
    assert [entry.path for entry in await files.ls("/")] == ["/\ufffd.txt"]
    assert [item.path for item in (await grep(files, Query(pattern="needle"))).files] == [
        "/\ufffd.txt"
    ]


def test_a_root_that_is_no_directory_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        FilesystemBackend(tmp_path / "nothing")
