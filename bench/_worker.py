"""One measurement of one framework, in its own environment: prints the numbers as JSON.

python -m bench._worker <framework> <row> [--quick]
"""

import json
import sys

from bench._build import build


def main() -> None:
    peer, row, *flags = sys.argv[1:]
    numbers = build(peer) if row == "build" else measure(peer, row, quick="--quick" in flags)
    print(json.dumps({"version": version_of(peer), "numbers": numbers}))


def measure(peer: str, row: str, *, quick: bool) -> dict[str, float]:
    # Imported late: `build` counts modules.
    import asyncio
    import logging
    import warnings

    from bench._rows import QUICK, ROWS, Size

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    return asyncio.run(ROWS[row](peer, QUICK if quick else Size()))


def version_of(peer: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    package = sys.modules[f"bench.peers.{peer}"].PACKAGE
    try:
        return "" if package is None else version(package)
    except PackageNotFoundError:
        return "this source"


if __name__ == "__main__":
    main()
