"""What this program starts, keeps or looks up is held, hidden or pinned in every sandbox, whenever it came.

Each attack is one that worked before; what would have been read or run is a decoy beside the workspace.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from toolwright import Agent, McpToolset, PluginToolset, Runner, StdioServerParameters
from toolwright._temporary import keep_out_of, our_temporary_directories, temporary_directory
from toolwright.agent import _spill
from toolwright.agent._spill import Spill
from toolwright.backends import (
    FilesystemBackend,
    PortableSandbox,
    ServerSandbox,
    _own_paths,
    open_credentials,
    open_sandbox,
    open_store,
)
from toolwright.backends._own_paths import held_below, hidden_below
from toolwright.backends.artifacts import DirectoryArtifacts
from toolwright.backends.artifacts._directory import DirectoryBlobs
from toolwright.backends.files import Glob, Query, Wanted
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, _bubblewrap, _os_sandbox
from toolwright.backends.sandboxes._packages import check_pip_settings
from toolwright.backends.sandboxes._seatbelt import profile
from toolwright.backends.sandboxes._walls import Room
from toolwright.builtin import BestExecutor
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.messages import Scope
from toolwright.sources._child import ChildCommand
from toolwright.sources.mcp._params import StdioConnectionParams
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
ADA = Scope(app_name="app", user_id="ada", session_id="s")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("canary")
    return tmp_path / "secret"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def kept(project: Path) -> Path:
    """A store in a directory of its own, as it is when it was used."""
    (project / "state").mkdir()
    file = project / "state" / "sessions.db"
    open_store(f"sqlite:///{file}")
    file.write_text("records")
    return file


# -- records ------------------------------------------------------------------------------------


async def test_a_store_in_the_workspace_is_hidden_with_its_directory(project: Path) -> None:
    kept(project)
    (project / "notes").write_text("notes")
    async with await open_sandbox(project, readable=[project], walls=[Bubblewrap()]) as sandbox:
        seen = await sandbox.run(f"ls state {project}/state; cat notes {project}/notes")
        assert seen.stdout == f"{project}/state:\n\nstate:\nnotesnotes"
        for attack in (
            "echo x > state/sessions.db",
            "echo x > state/sessions.db-wal",
            "mv state gone",
            "rmdir state",
        ):
            done = await sandbox.run(attack)
            assert not done.ok, attack
            assert "Commands here cannot change 'state'" in done.stderr
        assert (await sandbox.run(attack, merge=True)).stdout.endswith(".venv-agent]\n")
        with pytest.raises(ToolError, match="keeps its records there"):
            await sandbox.write_file("state/x", "x")
    assert os.listdir(project / "state") == ["sessions.db"]


async def test_what_is_kept_after_the_sandbox_was_opened_counts_from_the_next_command(
    project: Path,
) -> None:
    async with await open_sandbox(project, walls=[Bubblewrap()]) as sandbox:
        assert (await sandbox.run("mkdir state; echo theirs > state/x")).ok
        (project / "state" / "x").unlink()
        kept(project / "state")
        assert (await sandbox.run("ls state")).stdout == "state\n"
        assert (await sandbox.run("ls state/state")).stdout == ""
        DirectoryArtifacts(project / "files")
        assert not (await sandbox.run("mkdir files")).ok
    assert os.listdir(project / "files") == []


async def test_walls_that_cannot_hide_records_do_not_open_and_stop(project: Path) -> None:
    landlock = await open_sandbox(project, walls=[Landlock()])
    portable = await PortableSandbox.open(project)
    async with landlock, portable:
        assert (await landlock.run("true")).ok
        assert (await portable.run("true")).ok
        file = kept(project)
        told = r"state', where this program keeps its own records, and {} cannot hide it.*store="
        with pytest.raises(UsageError, match=told.format("landlock")):
            await landlock.run("true")
        with pytest.raises(UsageError, match=told.format("the portable sandbox")):
            await portable.run("true")
        with pytest.raises(UsageError, match="cannot hide it"):
            await portable.run_code("1")
    for readable, told in (
        (file.parent, r"holds .*sessions\.db"),
        (project, "landlock cannot hide"),
    ):
        other = project / "other"
        other.mkdir(exist_ok=True)
        with pytest.raises(UsageError, match=told):
            await open_sandbox(other, readable=[readable], walls=[Landlock()])


@pytest.mark.parametrize("name", ["sessions.db", "mixed/sessions.db"])
async def test_a_store_that_cannot_be_hidden_is_refused_whoever_comes_first(
    project: Path, name: str
) -> None:
    (project / "mixed").mkdir()
    (project / "mixed" / "work.txt").write_text("work")
    agent, address = Agent(name="a", model=ScriptedModel("x")), f"sqlite:///{project / name}"
    told = (
        r"holds .*sessions\.db', where this program keeps.*directory of its own.*\.toolwright/sess"
    )
    executor = BestExecutor(project)
    with pytest.raises(UsageError, match=told):
        Runner(agent, store=address)
    with pytest.raises(UsageError, match=told):
        open_credentials(address)
    assert (await executor.run("true")).ok, "what was refused is not remembered"
    await executor.close()
    del executor
    Runner(agent, store=address)
    with pytest.raises(UsageError, match=told):
        BestExecutor(project)
    with pytest.raises(UsageError, match=told):
        await open_sandbox(project)
    (project / "src").mkdir()
    await (await open_sandbox(project / "src")).close()


def test_a_link_that_leads_to_records_is_refused(project: Path, secret: Path) -> None:
    (project / "state").symlink_to(secret)
    open_store(f"sqlite:///{project}/state/sessions.db")
    with pytest.raises(UsageError, match=r"holds '.*/project/state', which commands could replace"):
        held_below(project)


async def test_where_commands_only_read_records_are_hidden_with_their_directory(
    project: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (project / "work.txt").write_text("work")
    (project / "mixed").mkdir()
    (project / "mixed" / "work.txt").write_text("work")
    open_store(f"sqlite:///{project}/mixed/sessions.db")
    (tmp_path / "other").mkdir()
    async with await open_sandbox(tmp_path / "other", readable=[project]) as sandbox:
        for end in ("", "-wal"):
            (project / "mixed" / f"sessions.db{end}").write_text("records")
        assert (await sandbox.run(f"ls {project}/mixed; cat {project}/work.txt")).stdout == "work"
    assert "mixed/work.txt" in caplog.text
    with pytest.raises(UsageError, match=r"mixed': it holds .*sessions.db"):
        await open_sandbox(tmp_path / "other", readable=[project / "mixed"])


async def test_records_below_the_systems_directories_are_hidden_too(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "usr"
    for module in (_bubblewrap, _os_sandbox):
        monkeypatch.setattr(module, "system_paths", lambda: (system,))
    workspace, state = system / "src" / "app", system / "src" / "app" / ".toolwright"
    workspace.mkdir(parents=True)
    open_store(f"sqlite:///{state}/sessions.db")
    for place in (workspace, project):
        async with await open_sandbox(place, walls=[Bubblewrap()]) as sandbox:
            argv, _ = sandbox.behind_walls(["true"])
            assert argv[argv.index(str(state)) - 1] == "--tmpfs"
        with pytest.raises(UsageError, match="landlock cannot hide it"):
            await open_sandbox(place, walls=[Landlock()])


async def test_the_directory_of_a_database_is_closed_and_stays_hidden(project: Path) -> None:
    async with Runner(
        Agent(name="a", model=ScriptedModel("x")), store=f"sqlite:///{project}/new/deep/sessions.db"
    ) as runner:
        await runner.run("go")
    state = project / "new" / "deep"
    assert state.stat().st_mode & 0o777 == 0o700
    files = FilesystemBackend(project)
    for attempt in (files.ls("/new/deep"), files.write("/new/deep/notes.md", b"x")):
        with pytest.raises(PermissionError, match="keeps its own records"):
            await attempt
    (state / "README.md").write_text("x")
    assert hidden_below(project) == (state,)
    _own_paths.forget_all()  # As when the program is started again.
    open_store(f"sqlite:///{state}/sessions.db")
    assert hidden_below(project) == (state,)


def test_only_databases_of_this_program_are_hidden_with_each_other(project: Path) -> None:
    (project / "data").mkdir()
    (project / "data" / "app.db").write_text("theirs")
    open_store(f"sqlite:///{project}/data/sessions.db")
    with pytest.raises(UsageError, match=r"Beside it lies 'app\.db'.*empty file '\.toolwright'"):
        hidden_below(project)
    open_store(f"sqlite:///{project}/data/app.db")
    assert hidden_below(project) == (project / "data",)


def test_a_directory_that_is_mounted_twice_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        (place / "state").mkdir(parents=True)
        (place / "files").mkdir()
    plugin(one / "plugins")
    plugin(other / "plugins")
    real = _own_paths._identity
    monkeypatch.setattr(
        _own_paths,
        "_identity",
        lambda path: real(Path(str(path).replace(str(other), str(one)))),
    )
    PluginToolset(one / "plugins" / "notes.py")
    open_store(f"sqlite:///{one}/state/sessions.db")
    DirectoryArtifacts(one / "files")
    assert held_below(other) == (other / "plugins",)
    assert hidden_below(other) == (other / "files", other / "state")
    assert other / "state" in _own_paths.records_below(other)
    with pytest.raises(UsageError, match=r"lies in .*files"):
        hidden_below(other / "files")


async def test_tools_neither_read_nor_write_records(project: Path) -> None:
    file = kept(project)
    (project / "a[b]*").mkdir()
    (project / "a[b]*" / "x.txt").write_text("records")
    DirectoryArtifacts(project / "a[b]*")
    (project / "mine.txt").write_text("records")
    (project / "way").symlink_to("state")
    for files in (FilesystemBackend(project), FilesystemBackend(project, ripgrep=False)):
        for path in ("/state/sessions.db", "/way/sessions.db", "/a[b]*/x.txt"):
            with pytest.raises(PermissionError, match="keeps its own records"):
                await files.read(path)
        for path in ("/state/sessions.db-wal", "/state/sessions.db-journal", "/a[b]*/new"):
            with pytest.raises(PermissionError, match="keeps its own records"):
                await files.write(path, b"theirs")
        with pytest.raises(PermissionError, match="keeps its own records"):
            await files.ls("/a[b]*")
        found = await files.grep(Query(pattern="records"))
        assert [item.path for item in found.files] == ["/mine.txt"]
        assert "/a[b]*/x.txt" not in (await files.find(Wanted(glob=Glob("**")))).paths
    assert file.read_text() == "records"


def test_seatbelt_denies_reading_records_and_replacing_what_is_looked_up(tmp_path: Path) -> None:
    room = Room(
        workspace=tmp_path,
        scratch=tmp_path,
        packages=tmp_path,
        hidden=(tmp_path / "a" / "state",),
        pinned=(tmp_path / "data",),
    )
    rules = profile(room).split("\n")
    assert f'(deny file-read* file-write* (subpath "{tmp_path}/a/state"))' in rules
    for path in (tmp_path / "a", tmp_path / "data"):
        assert f'(deny file-write* (literal "{path}"))' in rules


# -- artifacts and long outputs -----------------------------------------------------------------


async def test_artifacts_follow_no_link(project: Path, secret: Path) -> None:
    blobs = DirectoryBlobs(project / "files")
    assert await blobs.create("data/a/x", b"mine")
    (project / "files/data/a/x").unlink()
    (project / "files/data/a/x").symlink_to(secret / "key")
    with pytest.raises(StoreError, match="Cannot read"):
        await blobs.get("data/a/x")
    (project / "files/data/b").symlink_to(secret)
    for attempt in (
        blobs.get("data/b/key"),
        blobs.children("data/b"),
        blobs.create("data/b/n", b""),
    ):
        with pytest.raises(StoreError, match="in the place of a folder"):
            await attempt
    with pytest.raises(OSError, match="in the place of a folder"):
        await blobs.delete("data/b/key")
    assert await blobs.children("data") == ["a", "b"]
    os.rename(project / "files", project / "old")
    (project / "files").symlink_to(secret)
    with pytest.raises(StoreError, match="in the place of a folder"):
        await blobs.get("key")
    assert os.listdir(secret) == ["key"]


def test_long_outputs_follow_no_link(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spill = Spill(ADA, 1.0)
    name = spill.write("long")
    assert spill.read(name) == "long"
    [file] = tmp_path.glob(f"toolwright-*/*/{name}")
    file.unlink()
    file.symlink_to(secret / "key")
    with pytest.raises(ToolError, match="no stored output"):
        spill.read(name)
    os.rename(file.parent, tmp_path / "old")
    file.parent.symlink_to(secret)
    with pytest.raises(ToolError, match="no stored output"):
        spill.read("key")
    again = Spill(ADA, 1.0)
    again.look()
    assert not again.used


def test_long_outputs_are_kept_where_no_guest_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    monkeypatch.setattr("toolwright._temporary._OTHER_ROOTS", (str(tmp_path / "other"),))
    before = Spill(ADA, 1.0)
    name = before.write("before")
    let_go = keep_out_of([tmp_path / "shared"])
    spill = Spill(ADA, 2.0)
    spill.write("long")
    assert len(list((tmp_path / "other").glob("toolwright-*/*/output-*"))) == 1
    let_go()
    found = Spill(ADA, 2.0)
    found.look()
    assert found.used, "though another place is the first again"
    assert before.read(name) == "before"
    assert _spill._root().parent == tmp_path / "shared"


async def test_directories_that_only_have_our_names_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours = temporary_directory()
    for number in range(300):
        (tmp_path / f"toolwright-{number + 1_000_000}").mkdir()
    (tmp_path / f"toolwright-bell-{os.getuid()}").mkdir()
    bell = tmp_path / f"toolwright-bell-{os.getuid()}"
    assert set(our_temporary_directories(tmp_path)) == {ours, bell}
    for number in range(300):
        (tmp_path / f"{ours.name[:-8]}{number:08}").mkdir()
    with pytest.raises(UsageError, match="at most 200 can be kept apart"):
        await open_sandbox(tmp_path)


# -- programs -----------------------------------------------------------------------------------


def plugin(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "notes.py"
    file.write_text("#!/usr/bin/env python3\n")
    file.chmod(0o755)
    return file


async def test_what_a_plugin_is_started_from_stays_as_it_is(project: Path) -> None:
    async with await open_sandbox(project, walls=[Bubblewrap()]) as sandbox:
        file = plugin(project / "plugins")
        assert (await sandbox.run("touch plugins/x")).ok
        PluginToolset(file)
        for attack in (
            "echo theirs >> plugins/notes.py",
            "rm plugins/notes.py",
            "echo theirs > plugins/json.py",
            "mv plugins gone",
        ):
            assert not (await sandbox.run(attack)).ok, attack
        assert (await sandbox.run("cat plugins/notes.py; touch mine")).ok
    with pytest.raises(PermissionError, match="this program runs from it"):
        await FilesystemBackend(project).write("/plugins/json.py", b"theirs")
    with pytest.raises(UsageError, match=r"plugins', which this program runs from.*ServerSandbox"):
        await open_sandbox(project, walls=[Landlock()])


def test_files_that_a_server_is_started_with_are_held(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("server", "dist", "node_modules/pkg", "data", "package", "free"):
        (project / name).mkdir(parents=True)
    for name in ("server/run.py", "dist/index.js", "data/test.db", "right.py", "settings.toml"):
        (project / name).write_text("")
    monkeypatch.chdir(project)

    def held(*args: str, command: str = sys.executable, cwd: str | None = None) -> set[str]:
        before = set(held_below(project))
        McpToolset(StdioServerParameters(command=command, args=list(args), cwd=cwd))
        return {str(path.relative_to(project)) for path in set(held_below(project)) - before}

    assert held("no-such-file") == set()
    assert held("free") == {"free"}
    assert held("run.py", cwd=str(project / "server")) == {"server"}
    assert held("dist/index.js", "--db", "data/test.db") == {"dist", "node_modules", "data/test.db"}
    assert held("--config=settings.toml") == {"settings.toml"}
    assert held("-m", "package") == {"package"}
    assert held("right.py") == {"right.py"}
    with caplog.at_level("WARNING", "toolwright"):
        _own_paths.check_writable([project], "bubblewrap", holds_below=True)
    assert repr(str(project)) in caplog.text, "it looks for modules there"


NAMED: dict[str, tuple[list[str], dict[str, str], set[str]]] = {
    "a directory": (["srv"], {}, {"srv"}),
    "a whole path": (["{ws}/srv"], {}, {"srv"}),
    "-m in a bundle": (["-um", "srv"], {}, {"srv"}),
    "-m with its value": (["-mpkg.server"], {}, {"pkg"}),
    "a module by PYTHONPATH": (["-m", "server"], {"PYTHONPATH": "{ws}/srv"}, {"srv"}),
    "a script by less than its name": (["build/server"], {}, {"build"}),
    "a script without an ending": (["srv/server"], {}, {"srv"}),
    "uv --directory": (["uv", "--directory", "srv", "run", "x"], {}, {"srv"}),
    "uv --project=": (["uv", "run", "--project=srv", "x"], {}, {"srv"}),
    "-C with its value": (["make", "-Csrv", "x"], {}, {"srv"}),
    "a list": (["java", "-cp", "build:srv", "Main"], {}, {"build", "srv"}),
    "a text": (["sh", "-ec", "cd {ws}/srv && exec python3 run.py"], {}, {"srv"}),
    "settings alone": (["--config", "srv/settings.toml"], {}, {"srv/settings.toml"}),
    "prose": (["--about", "what srv and build do"], {}, set()),
}


@pytest.mark.parametrize("name", NAMED)
def test_every_path_among_a_servers_arguments_is_held(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = ("srv/__main__.py", "srv/server", "srv/run.py", "srv/settings.toml", "pkg/server.py")
    for file in (*files, "build/server.mjs"):
        (project / file).parent.mkdir(exist_ok=True)
        (project / file).write_text("")
    monkeypatch.chdir(project)
    args, env, expected = NAMED[name]
    McpToolset(
        StdioServerParameters(
            command="env",
            args=[word.format(ws=project) for word in args],
            env={key: value.format(ws=project) for key, value in env.items()},
        )
    )
    assert {str(path.relative_to(project)) for path in held_below(project)} == expected


def planted(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_is_looked_up_once_and_not_where_guests_can_write(
    project: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    theirs, ours = project / "bin", secret / "bin"
    found = planted(ours / "server")
    monkeypatch.setenv("PATH", f"{theirs}:{ours}:{secret}/link")
    before = ChildCommand(command="server")
    (secret / "link").symlink_to(theirs)
    planted(theirs / "server")
    keep_out_of([project])
    for command in (before, ChildCommand(command="server")):
        assert command._argv() == [str(found)]
        assert command._environment()["PATH"] == str(ours)
    assert f"PATH has {str(theirs)!r}" in caplog.text
    planted(theirs / "only-here")
    with pytest.raises(UsageError, match=r"no program 'only-here'.*full path"):
        ChildCommand(command="only-here")._argv()
    given = ChildCommand(command=str(theirs / "only-here"), env={"PATH": f"bin:{ours}"})
    assert given._argv() == [str(theirs / "only-here")]
    # Held by now, with its directory: nothing can be put there any more.
    assert given._environment()["PATH"] == f"bin:{ours}"


def test_a_server_that_is_started_again_is_the_program_it_was(
    project: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planted(secret / "server")
    monkeypatch.setenv("PATH", f"{project}:{secret}")
    toolset = McpToolset(StdioServerParameters(command="server"))
    planted(project / "server")
    params = toolset._connections._params
    assert isinstance(params, StdioConnectionParams)
    assert params.server_params.command == str(found)


def test_a_server_in_a_sandbox_is_the_commands_to_change(project: Path) -> None:
    file = plugin(project / "plugins")
    PluginToolset(file, sandbox=ServerSandbox())
    McpToolset(StdioServerParameters(command=str(file)), sandbox=ServerSandbox())
    assert held_below(project) == ()
    McpToolset(StdioServerParameters(command=str(file)))
    assert held_below(project) == (project / "plugins",)


def test_a_program_that_is_a_link_in_the_workspace_is_refused(project: Path, secret: Path) -> None:
    (project / "bwrap").symlink_to(secret / "key")
    Bubblewrap(project / "bwrap")
    with pytest.raises(UsageError, match=r"holds '.*/project/bwrap', which commands could replace"):
        held_below(project)


async def test_a_chosen_bubblewrap_is_looked_up_once_and_kept_from_tools(project: Path) -> None:
    working = Bubblewrap().binary
    assert working is not None
    (project / "real").write_text(f'#!/bin/sh\nexec {working.path} "$@"\n')
    (project / "real").chmod(0o755)
    walls = Bubblewrap(project / "real")
    assert walls.binary is not None
    assert walls.binary.path == str(project / "real")
    with pytest.raises(PermissionError, match="this program runs from it"):
        await FilesystemBackend(project).write("/real", b"theirs")
    assert held_below(project) == (project / "real",)


def test_what_commands_make_look_installed_beside_a_program_is_no_part_of_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "x.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(project), *sys.path])
    with pytest.raises(UsageError, match="lies in"):
        held_below(project)
    monkeypatch.setattr(
        sys.modules["__main__"], "__file__", str(project / "agent.py"), raising=False
    )
    _own_paths._own.cache_clear()
    assert held_below(project) == ()
    _own_paths._own.cache_clear()


# -- other sandboxes ----------------------------------------------------------------------------


async def test_what_another_sandbox_reads_cannot_be_replaced(project: Path, tmp_path: Path) -> None:
    for name in ("data", "a/file"):
        (project / name).mkdir(parents=True)
    (project / "data" / "x").write_text("x")
    (tmp_path / "other").mkdir()
    reading = [project / "data", project / "a" / "file"]
    async with (
        await open_sandbox(tmp_path / "other", readable=reading) as other,
        await open_sandbox(project) as bash,
    ):
        for attack in ("rm -r data", "mv data gone", "rmdir a/file", "mv a gone"):
            assert not (await bash.run(attack)).ok, attack
        assert (await bash.run("echo y > data/x; touch a/mine")).ok
        assert (await other.run(f"cat {project}/data/x")).stdout == "y\n"
        told = await bash.run("mv data gone")
        assert "cannot rename or remove 'a/file', 'data': another sandbox" in told.stderr


async def test_a_file_that_another_sandbox_reads_can_be_edited_but_made_no_link(
    project: Path, tmp_path: Path, secret: Path
) -> None:
    (project / "tool").mkdir()
    (project / "tool" / "server.py").write_text("one")
    (tmp_path / "other").mkdir()
    file = project / "tool" / "server.py"
    async with (
        await open_sandbox(tmp_path / "other", readable=[file]) as other,
        await open_sandbox(project) as bash,
    ):
        assert (await bash.run("sed -i s/one/two/ tool/server.py")).ok
        assert not (await bash.run("mv tool gone")).ok
        assert (await other.run(f"cat {file}")).stdout == "two"
        assert (await bash.run(f"ln -sf {secret}/key tool/server.py")).ok
        with pytest.raises(UsageError, match="link"):
            await other.run(f"cat {file}")


@pytest.mark.parametrize(
    "attack",
    [
        "touch state/x",
        "touch state/x 2>&1 | tail -1",
        "touch state/x; ls",
        "touch state/x || true",
        "touch state/x 2> /dev/null || echo 'EROFS: read-only file system, open'",
    ],
)
async def test_the_answer_says_why_whatever_the_exit_code(project: Path, attack: str) -> None:
    kept(project)
    async with await open_sandbox(project, walls=[Bubblewrap()]) as sandbox:
        assert "Commands here cannot change 'state'" in (await sandbox.run(attack)).stderr
        assert (await sandbox.run("ls")).stderr == ""


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_a_link_that_a_guest_has_made_is_not_followed_for_another(
    project: Path, tmp_path: Path, secret: Path, walls: Bubblewrap | Landlock
) -> None:
    (project / "data").mkdir()
    (tmp_path / "other").mkdir()
    told = r"leads through the link '.*/project/data', which commands in a sandbox may have made"
    other = await open_sandbox(tmp_path / "other", readable=[project / "data"], walls=[walls])
    async with other:
        await (await open_sandbox(project, walls=[Landlock()])).close()
        (project / "data").rmdir()
        (project / "data").symlink_to(secret)
        with pytest.raises(UsageError, match=told):
            await other.run(f"cat {project}/data/key")
    boxes = (
        ServerSandbox(walls=walls, readable=[project / "data"]),
        ServerSandbox(walls=walls, workspace=project / "data"),
    )
    for box in boxes:
        with pytest.raises(UsageError, match=told):
            async with box.open("true", [], {}):
                pass
    (project / "file").symlink_to(secret / "key")
    with pytest.raises(UsageError, match="which commands in a sandbox may have made"):
        async with ServerSandbox(walls=walls).open("cat", [str(project / "file")], {}):
            pass


async def test_a_workspace_in_a_workspace_stays_where_it_is(project: Path, secret: Path) -> None:
    (project / "out").mkdir()
    async with BestExecutor(project) as outer, BestExecutor(project / "out") as inner:
        assert not (await outer.run("mv out old")).ok
        assert (await outer.run("echo x > out/x")).ok
        assert (await inner.run("cat x")).stdout == "x\n"
        os.rename(project / "out", project / "old")
        (project / "out").symlink_to(secret)
        with pytest.raises(UsageError, match="which commands in a sandbox may have made"):
            await inner.run("cat key")


async def test_no_writable_directory_lies_in_another(project: Path) -> None:
    (project / "x" / "ws").mkdir(parents=True)
    box = ServerSandbox(workspace=project / "x" / "ws", cache=project)
    with pytest.raises(UsageError, match=r"x/ws' lies in '.*project', which is to be writable"):
        async with box.open(sys.executable, [], {}):
            pass
    workspace = project.parent / "workspace"
    workspace.mkdir()
    for places in ([project, project / "x"], [project / "x", project]):
        with pytest.raises(UsageError, match="is to be writable"):
            await OsSandbox.open(workspace, Bubblewrap(), writable=places)


# -- pip ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["PIP_CONFIG_FILE", "PIP_FIND_LINKS", "PIP_CERT", "SSL_CERT_FILE"])
async def test_pip_reads_nothing_that_commands_can_write(
    project: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "settings"
    file.write_text("")
    monkeypatch.setenv(name, f"{tmp_path}/elsewhere file://{file}")
    check_pip_settings()
    async with await open_sandbox(project) as sandbox:
        with pytest.raises(
            ToolError, match=f"{name} leads to '{file}', in .*where commands can write"
        ):
            await sandbox.install(["nothing"])
    (tmp_path / "way").symlink_to(project)
    monkeypatch.setenv(name, f"{tmp_path}/way/settings")
    with pytest.raises(ToolError, match="No packages can be installed"):
        check_pip_settings()


# -- ordinary work ------------------------------------------------------------------------------


async def test_an_environment_in_the_workspace_works_under_its_own_path(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = project / ".venv" / "bin" / "tool"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{project}/.venv/bin/sh\necho it works\n")
    script.chmod(0o755)
    (script.parent / "sh").symlink_to("/bin/sh")
    kept(project)
    async with await open_sandbox(project, walls=[Bubblewrap()]) as sandbox:
        assert (await sandbox.run(f"ls {project}")).exit_code != 0
        monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
        _own_paths._own.cache_clear()
        assert (await sandbox.run(".venv/bin/tool")).stdout == "it works\n"
        assert (await sandbox.run(f"{project}/.venv/bin/tool; ls {project}/state")).stdout == (
            "it works\n"
        )
        assert not (await sandbox.run(f"touch {project}/x")).ok
        refused = await sandbox.run("touch .venv/x")
        assert "Commands here cannot change '.venv', 'state'" in refused.stderr
        assert "python3 -m venv .venv-agent" in refused.stderr
        assert "cannot change" not in (await sandbox.run("false")).stderr
    _own_paths._own.cache_clear()
