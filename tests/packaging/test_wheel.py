"""The package as users get it: built, installed into an empty environment, and used there."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests._units import UNITS
from tests.docs._snippets import ROOT
from tests.packaging.test_star_import import LOOK

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = set(PROJECT["optional-dependencies"]) - {"all"}
# Extras that only add a driver, a protocol or a listener to what another extra brings.
QUIET = {
    "agui",
    "cluster",
    "mysql",
    "objects",
    "postgres",
    "search",
    "skills",
    "temporal",
    "tracing",
}
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([UV, "build", "-q", "--out-dir", str(folder), str(ROOT)], check=True)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    [found] = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and the core's dependencies."""
    home = tmp_path_factory.mktemp("core") / "venv"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, str(home)], check=True)
    install = [UV, "pip", "install", "-q", "--python", str(home)]
    subprocess.run(
        [*install, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], check=True
    )
    return home / "bin" / "python"


def run(python: Path, *words: str, cwd: Path) -> str:
    done = subprocess.run([python, "-I", *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_the_web_page_the_types_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "toolwright/py.typed" in names
    for file in ("index.html", "assets/index.js", "assets/index.css"):
        assert f"toolwright/serve/static/{file}" in names
    assert {name.split("/")[0] for name in names} == {
        "toolwright",
        f"toolwright-{PROJECT['version']}.dist-info",
    }
    assert wheel.stat().st_size < 1_600_000


def test_the_source_package_has_the_sources_and_nothing_of_the_tests(dist: Path) -> None:
    [found] = dist.glob("*.tar.gz")
    with tarfile.open(found) as package:
        tops = {name.split("/")[1] for name in package.getnames() if "/" in name}
    wanted = {"src", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO"}
    assert tops - {".gitignore"} == wanted


def test_the_quick_start_runs_where_only_the_core_is_installed(
    python: Path, tmp_path: Path
) -> None:
    for snippet in ("readme/ten_lines", "start/first_agent"):
        shutil.copy(ROOT / "docs" / "snippets" / f"{snippet}.py", tmp_path / "quick.py")
        assert run(python, "quick.py", cwd=tmp_path)


def test_every_missing_extra_is_named(python: Path, tmp_path: Path) -> None:
    script = Path(__file__).with_name("_missing_extras.py")
    said = json.loads(run(python, str(script), *UNITS, cwd=tmp_path))
    assert {name: text for name, text in said.items() if "pip install" not in text} == {}
    named = set(re.findall(r"toolwright\[([\w-]+)\]", " ".join(said.values())))
    assert named - EXTRAS == set()
    assert EXTRAS - QUIET - named == set()


def test_the_whole_package_can_be_looked_at_where_only_the_core_is_installed(
    python: Path, tmp_path: Path
) -> None:
    assert run(python, "-c", LOOK, cwd=tmp_path) == "looked\n"
    use = "from toolwright import McpToolset\nMcpToolset()"
    done = subprocess.run([python, "-I", "-c", use], cwd=tmp_path, capture_output=True, text=True)
    assert "pip install 'toolwright[mcp]'" in done.stderr


def test_the_command_line_names_its_extra(python: Path, tmp_path: Path) -> None:
    program = python.with_name("toolwright")
    assert "Usage: toolwright COMMAND" in subprocess.check_output([program], text=True)
    done = subprocess.run([program, "run", "hi"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "The command line needs an extra: pip install 'toolwright[cli]'\n"


def test_the_core_stays_small(wheel: Path, python: Path, tmp_path: Path) -> None:
    listed = subprocess.run(
        [UV, "pip", "list", "-q", "--format", "json", "--python", str(python)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = [package["name"] for package in json.loads(listed.stdout)]
    count = "import sys, toolwright; toolwright.Agent; print(len(sys.modules))"
    modules = int(run(python, "-c", count, cwd=tmp_path))
    print(
        f"wheel: {wheel.stat().st_size / 1000:.0f} kB; core: {len(packages) - 1} dependencies "
        f"({', '.join(sorted(packages))}); import and Agent: {modules} modules"
    )
    assert len(packages) <= 16
    assert modules < 400
