"""Which file runs when a file or a module is named: that one, whatever else has its name."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.cli.program import here

from toolwright.errors import UsageError
from toolwright.kits import _import, import_object, load_agent_file


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(_import, "_added", [])
    before = set(sys.modules)
    yield
    for name in sys.modules.keys() - before:
        module = sys.modules[name]
        places = [*getattr(module, "__path__", ()), getattr(module, "__file__", None) or ""]
        if any(place.startswith(str(tmp_path)) for place in places):
            del sys.modules[name]


def write(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text or f"def which() -> str:\n    return {str(file)!r}\n")
    return file


def which(name: str, *places: Path) -> str:
    return import_object(f"{name}:which", *places)()


@pytest.mark.parametrize("name", ["tools.py", "tools", "./tools", "sub/tools.py", "sub.tools"])
def test_two_projects_in_one_process_have_their_own_files(tmp_path: Path, name: str) -> None:
    projects = [tmp_path / "alpha", tmp_path / "beta", tmp_path / "alpha"]
    for project in projects:
        write(project / "tools.py")
        write(project / "sub/tools.py")
        write(project / "sub/__init__.py", "#")
    inner = "sub/" if "sub" in name else ""
    assert [which(name, place) for place in projects] == [
        f"{place}/{inner}tools.py" for place in projects
    ]


def test_functions_of_one_agent_are_of_the_files_that_it_names(tmp_path: Path) -> None:
    for project in ("proj", "shared"):
        body = f'"""Say where."""\n    return "{project}"\n'
        text = f"def mine() -> str:\n    {body}def other() -> str:\n    {body}"
        write(tmp_path / project / "tools.py", text)
    functions = "[tools.py:mine, ../shared/tools.py:other]"
    write(tmp_path / "proj/agent.yaml", f"tools: {{preset: none, functions: {functions}}}\n")
    tools: Any = load_agent_file(tmp_path / "proj/agent.yaml").agent.tools
    assert [tool() for tool in tools] == ["proj", "shared"]


@pytest.mark.parametrize("name", ["json", "os", "sys", "toolwright", "pytest", "__main__"])
def test_a_file_may_have_the_name_of_a_module_that_is_loaded(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / f"{name}.py")
    loaded = sys.modules[name]
    assert which(f"{name}.py", tmp_path) == str(file)
    assert which(f"{tmp_path}/{name}.py") == str(file)
    assert sys.modules[name] is loaded


def test_a_file_beside_a_package_of_its_name_is_the_file(tmp_path: Path) -> None:
    file, package = write(tmp_path / "helpers.py"), write(tmp_path / "helpers/__init__.py")
    deep, other = write(tmp_path / "a/helpers.py"), write(tmp_path / "a/helpers/__init__.py")
    assert which("helpers.py", tmp_path) == str(file)
    assert which("a/helpers.py", tmp_path) == str(deep)
    for name in ("helpers", "./helpers", "helpers/__init__.py"):
        assert which(name, tmp_path) == str(package)
    assert which("a/helpers", tmp_path) == str(other)
    assert which("helpers.py", tmp_path) == str(file)


@pytest.mark.parametrize("name", ["my-tools.py", "my.tools.py", "v1.2/tools.py", "class.py"])
def test_a_file_need_not_have_the_name_of_a_module(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / name)
    assert which(name, tmp_path) == str(file)


def test_a_file_is_loaded_once_under_its_own_name_where_that_is_free(tmp_path: Path) -> None:
    write(tmp_path / "toolwright_wares.py", "class Ware: ...\n")
    ware = import_object("toolwright_wares.py:Ware", tmp_path)
    assert ware.__module__ == "toolwright_wares"
    assert import_object("toolwright_wares:Ware", tmp_path) is ware
    write(tmp_path / "json.py", "class Ware: ...\n")
    assert import_object("json.py:Ware", tmp_path) is import_object("json.py:Ware", tmp_path)


def test_what_a_file_under_another_name_defines_is_whole(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "import toolwright_neighbour\n"
        "@dataclass\nclass Point:\n    after: Point | None = None\n"
        "def which() -> str: return toolwright_neighbour.which()\n"
    )
    write(tmp_path / "json.py", text)
    neighbour = write(tmp_path / "toolwright_neighbour.py")
    point = import_object("json.py:Point", tmp_path)
    assert pickle.loads(pickle.dumps(point())) == point()
    assert get_type_hints(point) == {"after": point | None}
    assert which("json.py", tmp_path) == str(neighbour)


def test_what_is_installed_wins_over_a_neighbour_that_an_agent_could_have_written(
    tmp_path: Path,
) -> None:
    write(tmp_path / "near/toolwright_installed.py")
    installed = write(tmp_path / "site-packages/toolwright_installed.py")
    sys.path.append(str(installed.parent))
    write(tmp_path / "near/wares.py", "from toolwright_installed import which\n")
    assert which("wares.py", tmp_path / "near") == str(installed)
    assert sys.path[-1] == str(tmp_path / "near")
    before = list(sys.path)
    which("toolwright_installed.py", installed.parent)
    assert sys.path == before


def test_of_two_places_the_one_that_was_named_last_comes_first(tmp_path: Path) -> None:
    for project in ("alpha", "beta", "alpha"):
        write(tmp_path / project / "wares.py")
        which("wares.py", tmp_path / project)
    assert sys.path[-2:] == [str(tmp_path / "alpha"), str(tmp_path / "beta")]


def test_a_package_whose_name_is_taken_finds_its_own_parts(tmp_path: Path) -> None:
    for project in ("alpha", "beta"):
        write(tmp_path / project / "desk/__init__.py", "#")
        write(tmp_path / project / "desk/near.py")
        write(tmp_path / project / "desk/tools.py", "from .near import which\n")
    for project in ("alpha", "beta"):
        assert which("desk/tools.py", tmp_path / project) == f"{tmp_path}/{project}/desk/near.py"


def test_a_folder_without_a_package_gives_way_to_nothing_of_its_name(tmp_path: Path) -> None:
    file = write(tmp_path / "json/tools.py")
    assert which("json/tools.py", tmp_path) == str(file)


def test_a_file_that_fails_is_loaded_anew(tmp_path: Path) -> None:
    file = write(tmp_path / "json.py", "from json import nothing_of_this_name\n")
    with pytest.raises(UsageError, match="cannot be imported"):
        which("json.py", tmp_path)
    file.write_text("def which() -> str:\n    return 'now, with other words than before'\n")
    assert which("json.py", tmp_path) == "now, with other words than before"


@pytest.mark.parametrize("name", ["./notes.txt", "./notes", "folder.py", "./folder", "./.py"])
def test_what_is_no_python_file_is_told(tmp_path: Path, name: str) -> None:
    write(tmp_path / "notes.txt")
    write(tmp_path / "notes")
    write(tmp_path / ".py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="There is no Python file"):
        which(name, tmp_path)


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        ("x = 1\ndef f(:\n", "SyntaxError: invalid syntax.", "2: def f(:"),
        ("if 1:\n\tx=1\n        y=2\n", "TabError: inconsistent use of tabs", "3: y=2"),
        ("import os\nos.environ['NOPE']\n", "KeyError: 'NOPE'.", "2: os.environ['NOPE']"),
        ("def f():\n    1 / 0\n\n\nf()\n", "ZeroDivisionError: ", "5: f()\n  {file}:2: 1 / 0"),
        ("x = '\udcff'\n", "SyntaxError: (unicode error) 'utf-8' codec", "1: x = '"),
        ("\nimport nosuch\n", "No module named 'nosuch'.", "2: import nosuch"),
        ("from toolwright import Agnt\n", "cannot import name 'Agnt'", "1: from toolwright import"),
        (
            "from toolwright import Agent\nAgent(nam='x')\n",
            "Agent has no setting 'nam'.",
            "2: Agent(nam='x')",
        ),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_own_lines_alone(
    tmp_path: Path, text: str, told: str, line: str
) -> None:
    file = tmp_path / "tools.py"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as caught:
        which("tools.py", tmp_path)
    first, _, steps = str(caught.value).partition("\n  ")
    assert first.startswith(f"'tools.py:which' cannot be imported: {told}")
    assert steps.startswith(f"{file}:{line.format(file=file)}")
    assert steps.count(":") <= line.count(":") + 1


def test_a_file_that_ends_the_program_is_told_where_to_put_it(tmp_path: Path) -> None:
    write(tmp_path / "tools.py", "import sys\nsys.exit()\n")
    with pytest.raises(UsageError, match=r"line 2 of .*tools.py ends the program right away"):
        which("tools.py", tmp_path)


def test_a_mistake_in_a_file_is_no_crash_of_a_command(tmp_path: Path) -> None:
    write(tmp_path / "tools.py", "x = 1 / 0\n")
    write(tmp_path / "agent.yaml", "name: a\ntools:\n  functions:\n    - tools.py:x\n")
    step = f"\n  {tmp_path}/tools.py:1: x = 1 / 0\n"
    named = "'tools.py:x' cannot be imported: ZeroDivisionError: division by zero."
    for words, where in {
        ("config", "check"): "agent.yaml:4: ",
        ("run", "hi"): "agent.yaml:4: ",
        ("tools", "list", "-a", "tools.py:x"): "",
        ("check", "-a", "tools.py:x"): "",
        ("serve", "tools.py:x"): "",
        ("worker", "tools.py:x"): "",
    }.items():
        told = here(*words, cwd=tmp_path, check=2, TOOLWRIGHT_MODEL="me").stderr
        assert told == f"{where}{named}{step}"
