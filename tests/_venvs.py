"""Python environments of their own for packages whose pins clash with ours, made once."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests._fetched import FETCHED

__all__ = ["find_uv", "venv_python"]

_ROOT = Path(__file__).resolve().parents[1]


def venv_python(name: str) -> Path:
    """The Python of the environment with the packages of `requirements/<name>.txt`.

    The first call makes it, and so does the first after the file has changed, or for another
    Python; later ones, from any process, find it there.
    """
    wanted = (_ROOT / "requirements" / f"{name}.txt").read_text()
    digest = hashlib.sha256(f"{sys.version} {sys.base_prefix}\n{wanted}".encode()).hexdigest()
    home = FETCHED / "venvs" / f"{name}-{digest[:12]}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            _make(name, home)
    return home / "bin" / "python"


def find_uv() -> str:
    """The program `uv`: this environment's, or where the tests were started from."""
    return shutil.which("uv") or str(Path(sys.executable).parent / "uv")


def _make(name: str, home: Path) -> None:
    uv = find_uv()
    requirements = str(_ROOT / "requirements" / f"{name}.txt")
    subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, str(home)], check=True)
    subprocess.run(
        [uv, "pip", "install", "-q", "--python", str(home), "-r", requirements], check=True
    )
    (home / "complete").touch()
