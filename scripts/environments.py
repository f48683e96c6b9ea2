"""Run the tests in other environments: the lowest versions that are allowed, and other Pythons.

python scripts/environments.py lowest [--core] [pytest arguments …]
python scripts/environments.py pythons
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Cheap ones, whose packages are small and whose tests start no server.
CORE_EXTRAS = ("cli", "files", "openai", "openapi", "search", "skills", "sql", "tracing", "web")
# What belongs to the core and to those extras, and takes seconds.
CORE_TESTS = (
    "tests/tools",
    "tests/skills",
    "tests/backends/test_network.py",
    "tests/backends/test_special_addresses.py",
    "tests/kits/test_yaml.py",
    "tests/agent/test_wrong_arguments.py",
    "tests/agent/test_workflows.py",
    "tests/models/test_openai_chat.py",
)
# These need packages that ask for newer versions of ours, or are not about versions at all.
LEFT_OUT = (
    "tests/bench",
    "tests/docs",
    "tests/packaging",
    "tests/serve/test_serve_openapi.py",
    "tests/serve/test_workbench_mounted.py",
    "tests/test_wall_of_shame.py",
    "tests/sources/mcp/test_other_servers.py",
    "tests/sources/mcp/test_mcp_config_file.py",
)
# What files of tests import though the tests that need it are left out.
IMPORTED = ("playwright",)
UNREACHABLE = 75
"""What the program ends with when packages cannot be fetched."""


def main(words: Sequence[str]) -> int:
    """Do what the command line asks."""
    match words:
        case ["lowest", "--core", *rest]:
            return _lowest("lowest-core", CORE_EXTRAS, [*CORE_TESTS, *rest])
        case ["lowest", *rest]:
            left_out = [f"--ignore={path}" for path in LEFT_OUT]
            return _lowest("lowest", ["all"], [*left_out, "-m", "not npm and not browser", *rest])
        case ["pythons"]:
            return max(_python(version) for version in PYTHONS)
    print(__doc__)
    return 2


def _lowest(name: str, extras: Sequence[str], words: Sequence[str]) -> int:
    imported = IMPORTED if extras == ["all"] else ()
    lowest = ("--resolution", "lowest-direct", *imported)
    home = _environment(name, sys.executable, extras, *lowest)
    if home is None:
        return UNREACHABLE
    untried = sorted(_untried(home, extras))
    if untried:
        print("These lower bounds are never installed; raise them:", *untried, sep="\n  ")
        return 1
    return _pytest(home, words)


def _untried(home: Path, extras: Sequence[str]) -> Iterator[str]:
    """The lower bounds that something else raises, so that nobody knows whether they are true.

    The core's are tried without most extras, whose packages ask for newer ones.
    """
    project = _pyproject()["project"]
    optional = project["optional-dependencies"]
    whole = extras == ["all"]
    named = [name for name in optional if name != "all"] if whole else extras
    lines = [line for name in named for line in optional[name]]
    [packages] = home.glob("lib/python*/site-packages")
    installed = {_name(d.name): d.version for d in metadata.distributions(path=[str(packages)])}
    for line in {*lines, *(() if whole else project["dependencies"])}:
        bound = re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", line)
        if bound and _numbers(installed[_name(bound[1])]) != _numbers(bound[2]):
            yield f"{bound[0]} (installed: {installed[_name(bound[1])]})"


def _name(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def _numbers(version: str) -> list[str]:
    """`1`, `1.0` and `1.0.0` are the same version."""
    numbers = version.split(".")
    while numbers[-1] == "0":
        numbers.pop()
    return numbers


def _python(version: str) -> int:
    """The core's tests on another Python; one that is not on this machine is left out."""
    found = _interpreter(version)
    if found is None:
        print(f"Python {version}: skipped, there is none on this machine")
        return 0
    locked = ("--constraint", str(ROOT / "constraints.txt"))
    home = _environment(f"python-{version}", found, CORE_EXTRAS, *locked)
    if home is None:
        print(f"Python {version}: skipped, packages cannot be fetched")
        return 0
    ended = _pytest(home, CORE_TESTS)
    print(f"Python {version} ({found}): {'passed' if ended == 0 else 'FAILED'}")
    return ended


def _interpreter(version: str) -> str | None:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    of_pyenv = sorted(pyenv.glob(f"{version}.*/bin/python"))
    for candidate in (*map(str, of_pyenv), shutil.which(f"python{version}")):
        if candidate is not None and _is(candidate, version):
            return candidate
    return None


def _is(python: str, version: str) -> bool:
    """Whether it runs and is that version; a shim may be there without anything behind it."""
    told = subprocess.run([python, "-V"], capture_output=True, text=True)
    return told.returncode == 0 and told.stdout.startswith(f"Python {version}.")


def _environment(name: str, python: str, extras: Sequence[str], *settings: str) -> Path | None:
    """An environment below `.venvs`, made once per set of dependencies.

    None when packages cannot be fetched.
    """
    described = _pyproject()
    asked = (described["project"], described["dependency-groups"]["test"], [*_pins()])
    digest = hashlib.sha256(repr((asked, python, extras, settings)).encode()).hexdigest()
    home = ROOT / ".venvs" / f"{name}-{digest[:12]}"
    home.parent.mkdir(exist_ok=True)
    with (home.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (home / "complete").exists():
            return home
        for old in home.parent.glob(f"{name}-{'[0-9a-f]' * 12}"):
            shutil.rmtree(old)
        pins = home.parent / f"{name}.pins.txt"
        pins.write_text("".join(_pins()))
        # With pip, which the tools that install packages run.
        subprocess.run([UV, "venv", "-q", "--seed", "--python", python, str(home)], check=True)
        install = [UV, "pip", "install", "-q", "--python", str(home), "--constraint", str(pins)]
        wanted = ["--editable", f"{ROOT}[{','.join(extras)}]", "--group", "test"]
        done = subprocess.run(
            [*install, *settings, *wanted],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            unreachable = re.search(
                r"(?i)failed to fetch|dns error|connect|timed? ?out", done.stderr
            )
            if unreachable is None:
                raise SystemExit(f"The packages of {name!r} do not fit together.")
            return None
        (home / "complete").touch()
    return home


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _pins() -> Iterator[str]:
    """The locked versions of the test tools, which are not what is tried out here."""
    group = [*_pyproject()["dependency-groups"]["test"], *IMPORTED]
    for line in (ROOT / "constraints.txt").read_text().splitlines(keepends=True):
        if line.partition("==")[0] in group:
            yield line


def _pytest(home: Path, words: Sequence[str]) -> int:
    python = home / "bin" / "python"
    options = ["-q", "-p", "no:cacheprovider", "--inline-snapshot=disable"]
    path = os.pathsep.join([str(home / "bin"), os.environ["PATH"], str(Path(UV).parent)])
    environment = {**os.environ, "PATH": path}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    ended = subprocess.run([python, "-m", "pytest", *options, *words], cwd=ROOT, env=environment)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
