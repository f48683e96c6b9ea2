"""Searching a large tree through `FilesystemBackend`, beside the ripgrep process itself.

    python bench/search.py [directory]

The same ripgrep does the work in both columns. Ours adds the ignore rules above the start, the
checks of confinement, and turning the output into values; the ratio is what that costs.
"""

import resource
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import partial

import anyio

from toolwright.backends.files import FilesystemBackend, Glob, Query, find, grep
from toolwright.backends.files._ripgrep import ripgrep_program

ROUNDS = 12
LIMIT = 1.3


def measure(theirs: Callable[[], object], ours: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of processor time of each, children included: the best of several rounds."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for kept, work in zip(times, (theirs, ours), strict=True):
            started = spent()
            work()
            kept.append((spent() - started) * 1000)
    return min(times[0]), min(times[1])


def spent() -> float:
    """Seconds of processor time so far, of this process and its ended children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run_ripgrep(directory: str, *options: str) -> None:
    """What a shell tool would do: run the program and take its output."""
    program = ripgrep_program()
    assert program
    same = ["--no-config", "--hidden", "-g!.git/", "--no-messages"]
    subprocess.run([program, *same, *options, "./"], cwd=directory, capture_output=True)


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("purelib")
    files = FilesystemBackend(directory)
    py = Glob("*.py", anywhere=True)
    rows = [
        ("grep, files", ["-l", "-e", "class \\w+Error"],
         partial(grep, files, Query(pattern="class \\w+Error", mode="files"))),
        ("grep, literal lines", ["-n", "-F", "-e", "raise NotImplementedError"],
         partial(grep, files, Query(pattern="raise NotImplementedError", literal=True))),
        ("grep, counts in *.py", ["-c", "--type-add=x:*.py", "-tx", "-e", "import"],
         partial(grep, files, Query(pattern="import", mode="counts", glob=py))),
        ("grep, nothing there", ["-l", "-e", "zzqqxxyy"],
         partial(grep, files, Query(pattern="zzqqxxyy", mode="files"))),
        ("glob **/*.pyi", ["--files", "-g", "**/*.pyi"], partial(find, files, "**/*.pyi")),
        ("glob **/*.py", ["--files", "-g", "**/*.py"], partial(find, files, "**/*.py")),
    ]  # fmt: skip
    print(f"{directory}\n{'':24}{'rg ms':>9}{'ours ms':>9}{'ratio':>8}")
    for name, options, ours in rows:
        theirs, mine = measure(partial(run_ripgrep, directory, *options), lambda: anyio.run(ours))  # noqa: B023
        ratio = mine / theirs
        print(f"{name:24}{theirs:9.0f}{mine:9.0f}{ratio:8.2f}{'' if ratio <= LIMIT else '  over'}")


if __name__ == "__main__":
    main()
