"""Commands and tools change nothing that this program runs from, though it lies in their workspace.

Each attack is one that ran outside before: what would have been run is a file in the test's directory.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolwright import ExecuteBashTool, _temporary
from toolwright._temporary import temporary_directory
from toolwright.backends import FilesystemBackend, PortableSandbox, _own_paths, open_sandbox
from toolwright.backends._own_paths import PYTHON, find_program, held_below, own_program
from toolwright.backends.executors import Limits, _process, launcher_command
from toolwright.backends.executors._process import ProcessSpec
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox
from toolwright.backends.sandboxes._bwrap_binary import found_binaries
from toolwright.backends.sandboxes._seatbelt import profile
from toolwright.backends.sandboxes._walls import Room
from toolwright.builtin import workspace_tools
from toolwright.errors import UsageError

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the environment that this program runs from, two levels down."""
    packages = tmp_path / "project" / "tools" / ".venv" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "package.py").write_text("ours")
    (packages.parents[1] / "bin").mkdir()
    (packages.parents[1] / "bin" / "python").write_text("ours")
    monkeypatch.setattr(sys, "prefix", str(packages.parents[1]))
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    _own_paths._own.cache_clear()
    return tmp_path / "project"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    _own_paths._own.cache_clear()
    _own_paths._warn_of_modules.cache_clear()


def ours(project: Path) -> list[str]:
    environment = project / "tools" / ".venv"
    return [
        (environment / path).read_text() for path in ("lib/site-packages/package.py", "bin/python")
    ]


ATTACKS = {
    "write": "echo theirs > tools/.venv/bin/python",
    "append": "echo theirs >> tools/.venv/lib/site-packages/package.py",
    "add": "echo theirs > tools/.venv/lib/site-packages/added.pth",
    "delete": "rm -rf tools/.venv || rm -f tools/.venv/bin/python",
    "rename": "mv tools/.venv gone",
    "rename in Python": 'python3 -c \'import os; os.rename("tools/.venv", "gone")\'',
    "exchange": "mkdir other; mv --exchange other tools/.venv || mv -T other tools/.venv",
    "rename above": "mv tools gone; mkdir -p tools/.venv/bin; echo theirs > tools/.venv/bin/python",
    "rename above in Python": 'python3 -c \'import os; os.rename("tools", "gone")\'',
    "link": "ln -s tools/.venv/bin l; echo theirs > l/python",
    "hard link": "ln tools/.venv/bin/python h && echo theirs > h",
    "mode": "chmod 777 tools/.venv/bin/python; echo theirs > tools/.venv/bin/python",
}


async def test_in_bubblewrap_the_environment_stays_as_it_is(project: Path) -> None:
    lines = [f"( {attack} ) 2> /dev/null; echo {name}: $?" for name, attack in ATTACKS.items()]
    lines.append("cat tools/.venv/bin/python; echo mine > tools/mine && cat tools/mine")
    async with await OsSandbox.open(project, Bubblewrap()) as sandbox:
        done = await sandbox.run("\n".join(lines))
    *tried, last = done.stdout.splitlines()
    assert [line for line in tried if line.endswith(": 0")] == []
    assert len(tried) == len(ATTACKS)
    assert last == "oursmine"
    assert ours(project) == ["ours", "ours"]
    environment = project / "tools" / ".venv"
    assert sorted(os.listdir(environment)) == ["bin", "lib"]
    assert os.listdir(environment / "lib" / "site-packages") == ["package.py"]


@pytest.mark.parametrize("how", ["write", "link", "mode"])
async def test_an_environment_of_others_is_the_commands_to_change(project: Path, how: str) -> None:
    other = project / "other"
    shutil.copytree(project / "tools", other)
    async with await OsSandbox.open(project, Bubblewrap()) as sandbox:
        assert (await sandbox.run(ATTACKS[how].replace("tools", "other"))).ok
    assert (other / ".venv" / "bin" / "python").read_text() == "theirs\n"


@pytest.mark.parametrize("workspace", ["project", "project/tools", "."])
async def test_walls_that_cannot_keep_it_apart_do_not_open(project: Path, workspace: str) -> None:
    directory, environment = project.parent / workspace, project / "tools" / ".venv"
    told = rf"{directory}' holds '{environment}', which this program runs from.*sub-directory.*UV_PROJECT"
    with pytest.raises(
        UsageError, match=f"{told}".replace("from.*", "from, and landlock.*bubblewrap.*")
    ):
        await open_sandbox(directory, walls=[Landlock()])
    with pytest.raises(UsageError, match=told):
        await PortableSandbox.open(directory)
    (project / "src").mkdir()
    async with await PortableSandbox.open(project / "src") as portable:
        assert (await portable.run("echo hello")).stdout == "hello\n"


async def test_a_second_directory_that_is_writable_is_held_as_well(project: Path) -> None:
    workspace, tools = project / "src", project / "tools"
    workspace.mkdir()
    async with await OsSandbox.open(workspace, Bubblewrap(), writable=[tools]) as sandbox:
        assert not (await sandbox.run(f"echo theirs > {tools}/.venv/bin/python")).ok
        assert not (await sandbox.run(f"mv {tools}/.venv {tools}/gone")).ok
        assert (await sandbox.run(f"echo mine > {tools}/mine")).ok
    assert ours(project) == ["ours", "ours"]
    with pytest.raises(UsageError, match="cannot keep commands from changing it"):
        await OsSandbox.open(workspace, Landlock(), writable=[tools])


async def test_an_environment_in_the_workspace_itself_is_held_in_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bin", "lib/site-packages"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("pyvenv.cfg", "lib/mine.py"):
        (tmp_path / name).write_text("ours")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "lib" / "site-packages")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    held = {tmp_path / name for name in ("bin", "lib/site-packages", "pyvenv.cfg")}
    assert set(held_below(tmp_path)) == held
    async with await OsSandbox.open(tmp_path, Bubblewrap()) as sandbox:
        for command in ("echo x > pyvenv.cfg", "mv pyvenv.cfg x", "touch bin/python", "mv lib x"):
            assert not (await sandbox.run(command)).ok, command
        assert (await sandbox.run("echo x > lib/mine.py && echo x > new.py")).ok
    with pytest.raises(
        UsageError, match=r"lies in .*site-packages.* and this program runs from there"
    ):
        held_below(tmp_path / "lib" / "site-packages" / "package")


def test_a_link_that_leads_to_the_environment_cannot_be_held_and_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    for directory in (project / "sub", elsewhere / "bin"):
        directory.mkdir(parents=True)
    (project / ".venv").symlink_to("../elsewhere")
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    with pytest.raises(UsageError, match=r"holds '.*/project/.venv', which commands could replace"):
        held_below(project)
    assert held_below(project / "sub") == ()
    assert held_below(tmp_path / "elsewhere" / "bin") == ()


def test_links_inside_what_is_held_are_held_with_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = project / "tools" / ".venv"
    (environment / "lib64").symlink_to("lib")
    monkeypatch.setattr(sys, "path", [str(environment / "lib64" / "site-packages")])
    assert held_below(project) == (environment,)


@pytest.mark.parametrize("place", ["/", "base"])
def test_the_system_and_python_itself_are_no_workspace(place: str) -> None:
    told = "holds the system itself" if place == "/" else "where Python itself is installed|lies in"
    with pytest.raises(UsageError, match=told):
        held_below(Path(place) if place == "/" else Path(sys.base_prefix).resolve())


def test_tools_that_run_commands_say_so_when_they_are_made() -> None:
    for make in (partial(ExecuteBashTool, workspace="/"), partial(workspace_tools, "/")):
        with pytest.raises(UsageError, match="holds the system itself"):
            make()


def test_this_package_and_the_environment_of_these_tests_are_held(tmp_path: Path) -> None:
    package = Path(_own_paths.__file__).parents[1].resolve()
    above = Path(os.path.commonpath([package, sys.prefix]))
    held = held_below(package.parent) if above == Path("/") else held_below(above)
    assert any(path == package or path in package.parents for path in held)
    with pytest.raises(UsageError, match=f"lies in '{package}'"):
        held_below(package / "backends")


def test_where_bytecode_or_hard_links_come_from_is_held_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bytecode", "uv", "cache/uv", "conda/envs/x/conda-meta", "conda/pkgs"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "conda" / "envs" / "x"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = ("bytecode", "uv", "cache/uv", "conda/pkgs", "conda/envs/x")
    assert set(held_below(tmp_path)) == {tmp_path / name for name in names}
    (tmp_path / "bytecode").rmdir()
    with pytest.raises(UsageError, match=r"bytecode', which commands could replace"):
        held_below(tmp_path)


def test_seatbelt_denies_what_is_held_and_renaming_what_is_above_it(tmp_path: Path) -> None:
    held = tmp_path / "a" / "b" / ".venv"
    rules = profile(
        Room(workspace=tmp_path, scratch=tmp_path, packages=tmp_path, held=(held,))
    ).split("\n")
    denied = [rule for rule in rules if rule.startswith("(deny file-write*")]
    assert denied == [
        f'(deny file-write* (subpath "{held}"))',
        *[f'(deny file-write* (literal "{up}"))' for up in (tmp_path / "a", tmp_path / "a" / "b")]
        * 2,
    ]
    last_allowed = max(
        n for n, rule in enumerate(rules) if rule.startswith("(allow file-read* file-write*")
    )
    assert last_allowed < rules.index(denied[0])


# -- programs -----------------------------------------------------------------------------------


def test_the_launcher_is_handed_over_as_text_to_the_interpreter_behind_the_environment() -> None:
    command = launcher_command(["true"], 3, Limits())
    assert command[:4] == own_program("")[:4] == [str(PYTHON), "-I", "-S", "-c"]
    assert "Run one command as its reaper" in command[4]
    assert PYTHON.resolve() == PYTHON
    assert sys.prefix == sys.base_prefix or Path(sys.prefix) not in PYTHON.parents
    assert not any(os.path.exists(word) for word in command[5:])


async def test_the_workers_are_handed_over_as_text_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Sequence[str]] = []
    original = _process._spawn

    def noted(spec: ProcessSpec, *rest: Any) -> Any:
        started.append(spec.argv)
        return original(spec, *rest)

    monkeypatch.setattr(_process, "_spawn", noted)
    async with await PortableSandbox.open(tmp_path) as portable:
        assert (await portable.run("echo hello")).stdout == "hello\n"
        assert (await portable.run_code("1 + 1")).value == "2"
    async with await OsSandbox.open(tmp_path, Landlock()) as sandbox:
        assert (await sandbox.run("echo hello")).stdout == "hello\n"
    assert len(started) == 3
    for argv in started:
        assert list(argv[:4]) == [str(PYTHON), "-I", "-S", "-c"]
        assert "def main() -> None:" in argv[4]


def test_a_bubblewrap_that_only_path_names_is_neither_run_nor_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted, ran = tmp_path / "bin" / "bwrap", tmp_path / "ran"
    planted.parent.mkdir()
    planted.write_text(f"#!/bin/sh\ntouch {ran}\necho bubblewrap 99.0\n")
    planted.chmod(0o755)
    monkeypatch.delenv("TOOLWRIGHT_BWRAP", raising=False)
    monkeypatch.setenv("PATH", f"{planted.parent}:{os.environ['PATH']}")
    assert str(planted) not in [binary.path for binary in found_binaries()]
    assert not ran.exists()


async def test_a_bubblewrap_that_was_chosen_in_the_workspace_is_held(tmp_path: Path) -> None:
    working = Bubblewrap().binary
    assert working is not None
    chosen = tmp_path / "bin" / "bwrap"
    chosen.parent.mkdir()
    chosen.write_text(f'#!/bin/sh\nexec {working.path} "$@"\n')
    chosen.chmod(0o755)
    async with await OsSandbox.open(tmp_path, Bubblewrap(chosen)) as sandbox:
        for command in ("echo theirs > bin/bwrap", "mv bin/bwrap x", "mv bin x"):
            assert not (await sandbox.run(command)).ok, command
        assert (await sandbox.run("touch bin/mine")).ok


def test_a_program_is_found_outside_of_what_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("inside", "outside"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "planted-program").write_text("#!/bin/sh\n")
        (tmp_path / folder / "planted-program").chmod(0o755)
    inside = [tmp_path / "inside"]
    monkeypatch.setenv("PATH", f"inside:{tmp_path}/inside")
    assert find_program("planted-program", outside=inside) is None
    (tmp_path / "link").symlink_to("inside")
    monkeypatch.setenv("PATH", f"{tmp_path}/inside:{tmp_path}/link:{tmp_path}/outside")
    assert find_program("planted-program", outside=inside) == f"{tmp_path}/outside/planted-program"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("sh", outside=inside) in ("/usr/bin/sh", "/bin/sh")


# -- temporary files ----------------------------------------------------------------------------


async def test_where_temporary_files_are_the_workspace_they_are_made_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, other = tmp_path / "shared", tmp_path / "other"
    for directory in (shared, other):
        directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    monkeypatch.setattr(_temporary, "_OTHER_ROOTS", (str(other),))
    before = temporary_directory()
    (before / "ours").write_text("ours")
    async with await OsSandbox.open(shared, Bubblewrap()) as sandbox:
        assert sandbox._home.parent == temporary_directory().parent == other
        assert (await sandbox.run(f"ls; cat {before.name}/ours")).stdout == f"{before.name}\n"
        for command in (f"echo theirs > {before.name}/ours", f"mv {before.name} gone"):
            assert not (await sandbox.run(command)).ok
        with pytest.raises(UsageError, match=r"keeps its own records, and landlock cannot hide it"):
            await OsSandbox.open(shared, Landlock())
        monkeypatch.setattr(_temporary, "_OTHER_ROOTS", ())
        with pytest.raises(UsageError, match="set TMPDIR to a directory outside of the workspace"):
            await OsSandbox.open(shared, Bubblewrap())
    assert temporary_directory().parent == shared
    assert (before / "ours").read_text() == "ours"


async def test_the_filter_is_a_sealed_file_without_a_name(tmp_path: Path) -> None:
    async with await OsSandbox.open(tmp_path, Bubblewrap()) as sandbox:
        argv, _ = sandbox.behind_walls(["true"])
        file = argv[argv.index(next(word for word in argv if word.startswith("/proc/")))]
        assert os.readlink(file).startswith("/memfd:")
        descriptor = os.open(file, os.O_RDWR)
        for change in (
            partial(os.pwrite, descriptor, b"x", 0),
            partial(os.ftruncate, descriptor, 0),
        ):
            with pytest.raises(PermissionError):
                change()
        os.close(descriptor)
        refused = await sandbox.run(["python3", "-c", "import os; os.memfd_create('x')"])
        assert "Function not implemented" in refused.stderr


# -- modules ------------------------------------------------------------------------------------


async def test_modules_that_commands_could_write_are_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with caplog.at_level(logging.WARNING, "toolwright"):
        await (await OsSandbox.open(tmp_path / "data", Bubblewrap())).close()
        assert caplog.messages == []
        for _ in range(2):
            await (await OsSandbox.open(tmp_path, Bubblewrap())).close()
    [told] = caplog.messages
    assert repr(str(tmp_path)) in told
    assert "PYTHONSAFEPATH=1" in told


# -- a whole program ----------------------------------------------------------------------------


PROGRAM = """
import json, os, shlex, sys, anyio
from pathlib import Path
from toolwright.builtin import BestExecutor
from toolwright.errors import UsageError

async def main():
    here, decoy = Path.cwd(), Path(sys.argv[1])
    script = ("#!/bin/sh", f"touch {decoy}", f'exec {os.path.realpath(sys.executable)} "$@"')
    lines = "; ".join(f"echo {shlex.quote(line)}" for line in script)
    first = f"rm -f .venv/bin/python; ({lines}) > .venv/bin/python; chmod +x .venv/bin/python; echo tried"
    async with BestExecutor(here) as executor:
        tried = await executor.run(first)
        second = await executor.run("echo hello")
    print(json.dumps([executor.is_sandbox, tried.stdout, second.stdout, decoy.exists()]))

anyio.run(main)
"""


def test_with_the_environment_in_the_workspace_the_second_command_runs_nothing_of_the_first(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    venv.create(project / ".venv", symlinks=True, with_pip=False)
    [packages] = project.glob(".venv/lib/*/site-packages")
    (packages / "all.pth").write_text("\n".join(path for path in sys.path if os.path.isdir(path)))
    done = subprocess.run(
        [project / ".venv" / "bin" / "python", "-P", "-c", PROGRAM, str(tmp_path / "decoy")],
        cwd=project, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, "tried\n", "hello\n", False]


async def test_file_tools_do_not_write_what_the_next_command_would_run(project: Path) -> None:
    files = FilesystemBackend(project)
    (project / "l").symlink_to("tools/.venv/bin")
    for path in (
        "/tools/.venv/bin/python",
        "/tools/.venv/new/deep/file",
        "/l/python",
        "/tools/.venv/x",
    ):
        with pytest.raises(PermissionError, match="this program runs from it"):
            await files.write(path, b"theirs")
    assert ours(project) == ["ours", "ours"]
    assert not (project / "tools" / ".venv" / "new").exists()
    await files.write("/tools/mine", b"mine")
    assert (await files.read("/tools/.venv/bin/python")).data == b"ours"
    inside = FilesystemBackend(project / "tools" / ".venv" / "lib" / "site-packages")
    with pytest.raises(PermissionError, match="this program runs from it"):
        await inside.write("/package.py", b"theirs")
