"""What we make on disk is for nobody but the user whose process makes it, whatever the umask."""

import os
import shutil
import stat
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests._reaper import temporary_prefix

from toolwright import Agent, Runner, tool
from toolwright._private import demand_own_way, is_private, make_parents, private_directory
from toolwright.backends import key_from_file, open_store, sqlite_address
from toolwright.backends.artifacts import open_artifacts
from toolwright.backends.auth import SqliteCredentials, new_key
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.cli._state import make_private
from toolwright.errors import StoreError, UsageError
from toolwright.kits import load_agent_file
from toolwright.messages import BlobPart, Scope
from toolwright.tasks import Orchestrator
from toolwright.tasks._bell import LocalBell
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="a", user_id="u", session_id="s")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory for everything, where new files are for all unless somebody cares."""
    # The path of a socket has to be short.
    made = Path(tempfile.mkdtemp(prefix=temporary_prefix()))
    made.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setenv("HOME", str(made))
    before = os.umask(0)
    try:
        yield made
    finally:
        os.umask(before)
        shutil.rmtree(made)


def readable_by_others(place: Path) -> list[str]:
    """What has been made there and is guarded neither by its mode nor by a directory around it."""
    found = []
    for folder, folders, files in os.walk(place):
        for name in (*folders, *files):
            path = Path(folder, name)
            around = [path, *(parent for parent in path.parents if place in parent.parents)]
            if all(step.lstat().st_mode & 0o077 for step in around):
                found.append(f"{path}: {stat.filemode(path.lstat().st_mode)}")
    return found


async def sessions(place: Path) -> None:
    agent = Agent(name="a", model=ScriptedModel("hi"))
    async with Runner(agent, store=sqlite_address(place / "kept.db")) as runner:
        await runner.run("hello")


async def tasks(place: Path) -> None:
    orchestrator = Orchestrator(sqlite_address(place / "tasks.db"))
    orchestrator.register(Agent(name="a", model=ScriptedModel("hi")))
    await orchestrator.enqueue("a", "hello")
    await orchestrator.close()


async def spill(place: Path) -> None:
    @tool
    def long() -> str:
        """Say much."""
        return "x" * 100_000

    agent = Agent(name="a", model=ScriptedModel(call("long"), "done"), tools=[long])
    async with Runner(agent, store=open_store("memory://")) as runner:
        await runner.run("hello", session_id="s")


async def artifacts(place: Path) -> None:
    kept = open_artifacts((place / "deep" / "artifacts").as_uri())
    await kept.save(SCOPE, "a.txt", BlobPart(media_type="text/plain", data=b"a"))


async def bells(place: Path) -> None:
    bell = LocalBell(place / "tasks.db", ("work",))
    await bell.open()
    bell.ring("work:1")
    assert os.listdir(bell._directory) == [bell._path.name]


async def state(place: Path) -> None:
    make_private(place / "state" / "toolwright" / "file")


async def agent_file(place: Path) -> None:
    (place / "agent.yaml").write_text("store: sqlite:///a/b/kept.db\n")
    (place / "agent.yaml").chmod(0o600)
    store = open_store(load_agent_file(place / "agent.yaml", model=ScriptedModel()).store)
    await store.sessions("a")
    await store.close()


async def credentials(place: Path) -> None:
    kept = SqliteCredentials(place / "credentials.db", keys=[new_key()])
    await kept.delete(SCOPE, "key")


async def keys(place: Path) -> None:
    key_from_file(place / "config" / "key")


async def servers(place: Path) -> None:
    [made] = ServerSandbox()._cache("npx", ["server"])
    assert made.is_relative_to((place / ".cache").resolve())


MAKERS: dict[str, Callable[[Path], Awaitable[None]]] = {
    make.__name__: make
    for make in (
        sessions, tasks, spill, artifacts, bells, state, agent_file, credentials, keys, servers
    )
}  # fmt: skip
FIRST = {
    "sessions": "kept.db",
    "tasks": "tasks.db",
    "artifacts": "deep",
    "state": "state",
    "agent_file": "a",
    "credentials": "credentials.db",
    "keys": "config",
    "servers": ".cache",
}
"""What is first on the way to what each of them makes; the others go elsewhere."""
ONE_FILE = ("sessions", "tasks", "credentials")
"""Of which that is the file itself."""


@pytest.mark.parametrize("what", MAKERS)
async def test_files_and_directories_are_private(place: Path, what: str) -> None:
    await MAKERS[what](place)
    assert os.listdir(place)
    assert readable_by_others(place) == []


@pytest.mark.parametrize("what", MAKERS)
async def test_an_umask_takes_nothing_from_oneself(place: Path, what: str) -> None:
    os.umask(0o777)
    await MAKERS[what](place)
    os.umask(0)
    found = [path for path in below(place) if path.name not in ("agent.yaml", ".cleaned")]
    closed = [path for path in found if ~path.lstat().st_mode & 0o600]
    assert (bool(found), closed) == (True, [])


def as_anothers(monkeypatch: pytest.MonkeyPatch, theirs: Path) -> None:
    """Let a path belong to a user who is neither this one nor root."""
    lstat = Path.lstat

    def seen(path: Path) -> os.stat_result:
        found = lstat(path)
        if path == theirs:
            return os.stat_result((*found[:4], found.st_uid + 4321, *found[5:]))
        return found

    monkeypatch.setattr(Path, "lstat", seen)


def plant_second_name(path: Path) -> None:
    (path.parent / "victim").touch(mode=0o600)
    path.hardlink_to(path.parent / "victim")


def plant_link(path: Path) -> None:
    (path.parent / "victim").mkdir(mode=0o700)
    path.symlink_to(path.parent / "victim")


def plant_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "victim")


THEIRS: dict[str, Callable[[Path], object]] = {
    "file": Path.touch,
    "directory": Path.mkdir,
    "link": plant_link,
    "link to nothing": plant_link_to_nothing,
    "second name": plant_second_name,
}


@pytest.mark.parametrize("what", FIRST)
@pytest.mark.parametrize("how", ["file", "directory", "link", "link to nothing", "second name"])
async def test_what_another_user_was_first_to_put_there_is_not_used(
    place: Path, what: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_to_all(place) / FIRST[what]
    THEIRS[how](first)
    if how != "second name":
        as_anothers(monkeypatch, first)
    before = below(place)
    with pytest.raises((StoreError, UsageError, PermissionError), match=str(first)):
        await MAKERS[what](place)
    assert [path for path in below(place) if path.name != "agent.yaml"] == before


@pytest.mark.parametrize(
    ("what", "how"),
    [(what, "link") for what in FIRST]
    + [(what, "file" if what in ONE_FILE else "directory") for what in FIRST],
)
async def test_where_nobody_else_can_write_links_and_owners_are_ones_own_affair(
    place: Path, what: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = place / FIRST[what]
    if how == "link" and what in ONE_FILE:
        plant_link_to_nothing(first)
    else:
        THEIRS[how](first)
    as_anothers(monkeypatch, first)
    await MAKERS[what](place)


def below(place: Path) -> list[Path]:
    """All that is there."""
    return sorted(place.rglob("*"))


def open_to_all(place: Path) -> Path:
    """The directory, in which everybody can now make what they like."""
    place.chmod(0o1777)
    return place


def plant_for_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (open_to_all(place) / "kept.db-journal").touch()
    as_anothers(monkeypatch, place / "kept.db-journal")


async def test_what_sqlite_reads_beside_a_database_is_ones_own(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_for_all(place, monkeypatch)
    with pytest.raises(StoreError, match=r"kept\.db-journal"):
        await sessions(place)


@pytest.mark.parametrize("target", ["/", "..", "../x", "loop", "."])
def test_a_way_that_leads_round_in_circles_ends(place: Path, target: str) -> None:
    (place / "loop").symlink_to(target)
    if target == "loop":
        with pytest.raises(OSError, match="symbolic links"):
            demand_own_way(place / "loop" / "x")
    else:
        demand_own_way(place / "loop" / "x")


PLANTED: dict[str, Callable[[Path], object]] = {
    "a link": plant_link,
    "a directory for all": lambda path: path.mkdir(mode=0o777),
    "a file": Path.touch,
}


@pytest.mark.parametrize("what", PLANTED)
async def test_a_bell_is_not_put_where_somebody_else_was_first(place: Path, what: str) -> None:
    root = place / f"toolwright-bell-{os.getuid()}"
    PLANTED[what](root)
    bell = LocalBell(place / "tasks.db", ("task",))
    victim = root / bell._directory.name / "plan.task.md"
    if what != "a file":
        victim.parent.mkdir()
        victim.touch()
    await bell.open()
    bell.ring("task:1")
    await bell.close()
    assert what == "a file" or os.listdir(victim.parent) == ["plan.task.md"]


async def test_another_users_directory_is_not_private(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert private_directory(place / "own")
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(place).st_uid + 1)
    assert not is_private(place / "own")
    assert not private_directory(place / "own")


async def test_a_directory_of_ones_own_that_others_could_look_into_is_closed(place: Path) -> None:
    (place / "own").mkdir(mode=0o755)
    assert private_directory(place / "own")
    assert stat.S_IMODE((place / "own").stat().st_mode) == 0o700


async def test_directories_that_are_there_stay_as_they_are(place: Path) -> None:
    (place / "there").mkdir(mode=0o755)
    make_parents(place / "there" / "new" / "file")
    modes = [stat.S_IMODE((place / path).stat().st_mode) for path in ("there", "there/new")]
    assert modes == [0o755, 0o700]
