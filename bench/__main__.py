"""Measure what the framework costs, beside a bare loop and other frameworks.

python -m bench [--quick] [--only WORD …] [--json FILE] [--all]
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench._others import run_others
from bench._peers import PEERS, Measured, Peer, measure, python_of
from bench._rows import ROWS
from bench._table import table

RESULTS = Path(__file__).with_name("results")


def main() -> None:
    options = _options()
    peers = [peer for peer in PEERS if _wanted(peer.name, options.only, [p.name for p in PEERS])]
    rows = [row for row in ROWS if _wanted(row, options.only, list(ROWS))]
    print(_machine(), flush=True)
    path = options.json or RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    found: dict[str, Measured] = {}
    for peer in peers:
        found[peer.name] = _measure_all(peer, rows, quick=options.quick)
        _keep(found, path)
    print(f"{table(found)}\n\nas JSON: {path}")
    if options.all:
        run_others()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = ", ".join([*(peer.name for peer in PEERS), *ROWS])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, each once")
    parser.add_argument("--only", action="append", default=[], help=f"repeatable; any of: {names}")
    parser.add_argument("--json", type=Path, help="where the numbers go")
    parser.add_argument("--all", action="store_true", help="also the benchmarks of single features")
    options = parser.parse_args()
    unknown = set(options.only) - {peer.name for peer in PEERS} - set(ROWS)
    if unknown:
        parser.error(f"--only does not know {sorted(unknown)}; it takes {names}")
    return options


def _wanted(name: str, only: Sequence[str], kind: Sequence[str]) -> bool:
    """Whether `name` was asked for; naming none of a kind asks for all of it."""
    return name in only or not set(only) & set(kind)


def _measure_all(peer: Peer, rows: Sequence[str], *, quick: bool) -> Measured:
    measured = Measured()
    try:
        python = python_of(peer)
    except RuntimeError as error:
        measured.problems["all rows"] = str(error)
        return measured
    for row in rows:
        _say(f"{peer.name}: {row}")
        measure(peer, python, row, measured, quick=quick)
    _say("")
    return measured


def _say(what: str) -> None:
    """Tell a person who waits what is being done; nothing in a file or a pipe."""
    if sys.stderr.isatty():
        print(f"\r{what:40}\r", end="", file=sys.stderr, flush=True)


def _keep(found: Mapping[str, Measured], path: Path) -> None:
    """After each framework, so that stopping early loses little."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({name: asdict(one) for name, one in found.items()}, indent=1))


def _machine() -> str:
    return f"Python {platform.python_version()} on {platform.machine()}, processor time, medians"


if __name__ == "__main__":
    main()
