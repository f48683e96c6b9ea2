"""The benchmarks of single features, which print tables of their own."""

import subprocess
import sys
from pathlib import Path

__all__ = ["run_others"]

ROOT = Path(__file__).resolve().parents[1]


def run_others() -> None:
    """Run every other program in this directory; one that fails does not stop the rest."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        print(f"\n== {path.stem}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"bench.{path.stem}"], cwd=ROOT)
        if done.returncode:
            print(f"{path.stem} ended with code {done.returncode}", flush=True)
