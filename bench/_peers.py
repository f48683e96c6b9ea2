"""The frameworks that are compared, and how to run a measurement of one."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tests._venvs import venv_python

from bench._rows import Numbers

__all__ = ["BARE", "OURS", "PEERS", "Measured", "Peer", "measure", "python_of"]

ROOT = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 900
BARE, OURS = "bare loop", "toolwright"


@dataclass(frozen=True, slots=True)
class Peer:
    """A framework: its name, its file below `peers`, and its pins below `requirements`."""

    name: str
    module: str
    requirements: str


PEERS = (
    Peer(BARE, "bare", "bench-toolwright"),
    Peer(OURS, "toolwright", "bench-toolwright"),
    Peer("pydantic-ai", "pydantic_ai", "bench-pydantic-ai"),
    Peer("openai-agents", "openai_agents", "bench-openai-agents"),
    Peer("google-adk", "google_adk", "bench-google-adk"),
    Peer("langchain", "langchain", "bench-langchain"),
    Peer("deepagents", "deepagents", "bench-langchain"),
    Peer("agno", "agno", "bench-agno"),
    Peer("smolagents", "smolagents", "bench-smolagents"),
)


@dataclass(slots=True)
class Measured:
    """What is known of one framework so far."""

    version: str = ""
    numbers: Numbers = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    """Why a row has no numbers."""


def python_of(peer: Peer) -> Path:
    """The Python of the framework's environment, made if it is not there yet."""
    try:
        return venv_python(peer.requirements)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"{peer.name} could not be installed: {error}") from error


def measure(peer: Peer, python: Path, row: str, measured: Measured, *, quick: bool) -> None:
    """Run one row and add what came out."""
    # A process imports only once; the other rows repeat their work themselves.
    runs = 5 if row == "build" and not quick else 1
    try:
        found = [_run(python, peer.module, row, *["--quick"] * quick) for _ in range(runs)]
    except RuntimeError as error:
        measured.problems[row] = str(error)
        return
    measured.version = found[0]["version"]
    for label in found[0]["numbers"]:
        measured.numbers[label] = median(one["numbers"][label] for one in found)


def _run(python: Path, *arguments: str) -> dict[str, Any]:
    """What one fresh process has measured."""
    try:
        done = subprocess.run(
            [str(python), "-m", "bench._worker", *arguments],
            cwd=ROOT, env=_environment(), capture_output=True, text=True, timeout=LIMIT_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {LIMIT_SECONDS} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        raise RuntimeError(said[-1][:200])
    return json.loads(done.stdout.splitlines()[-1])


def _environment() -> dict[str, str]:
    """Only what a program needs: no proxies, keys or settings that change what a framework does."""
    kept = {
        name: os.environ[name] for name in ("HOME", "LANG", "PATH", "TMPDIR") if name in os.environ
    }
    # Ours is measured from the source that is here, with nothing but its own dependencies.
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "0"}
