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
from toolwright._private import is_private, make_parents, private_directory
from toolwright.backends import open_store, sqlite_address
from toolwright.backends.artifacts import open_artifacts
from toolwright.cli._state import make_private
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


MAKERS: dict[str, Callable[[Path], Awaitable[None]]] = {
    make.__name__: make for make in (sessions, tasks, spill, artifacts, bells, state, agent_file)
}


@pytest.mark.parametrize("what", MAKERS)
async def test_files_and_directories_are_private(place: Path, what: str) -> None:
    await MAKERS[what](place)
    assert os.listdir(place)
    assert readable_by_others(place) == []


def plant_link(path: Path) -> None:
    (path.parent / "victim").mkdir(mode=0o700)
    path.symlink_to(path.parent / "victim")


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
