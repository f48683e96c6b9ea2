"""Search a directory with the ripgrep program."""

import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from toolwright.backends.files._confined import open_directory, open_file
from toolwright.backends.files._files import Files
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._grep import Grepped, Query
from toolwright.backends.files._ignore import NEVER_SEARCHED, rules_above
from toolwright.backends.files._landlock import start_confined
from toolwright.backends.files._ripgrep_output import (
    parse_counts,
    parse_files,
    parse_lines,
    parse_paths,
)
from toolwright.concurrency import in_io_thread, wait_in_thread
from toolwright.errors import ToolError

__all__ = ["Ripgrep", "ripgrep_program"]

_ALWAYS = (
    "--no-config",
    "--no-messages",
    "--hidden",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-ignore-dot",
    "--null",
    *(f"--glob=!{name}/" for name in NEVER_SEARCHED),
)
"""No settings of the machine or its user, and of the ignore files only `.gitignore`."""
_MODES = {"lines": "--json", "files": "--files-with-matches", "counts": "--count"}
_PARSERS = {"lines": parse_lines, "files": parse_files, "counts": parse_counts}
_MAX_OUTPUT = 16 * 1024 * 1024
_TIMEOUT = 60.0


def ripgrep_program() -> str | None:
    """Where ripgrep is: beside this Python, as its wheel puts it there, or on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    return str(beside) if beside.is_file() else shutil.which("rg")


class Ripgrep:
    """Runs ripgrep on a directory."""

    def __init__(self, program: str, root: str) -> None:
        self._program = program
        self._root = root

    async def find(self, files: Files, glob: Glob, start: str) -> tuple[list[str], bool]:
        """Paths of the files below `start` that match, and whether these are all."""
        await in_io_thread(_demand_directory, self._root, start)
        ran = await self._run(files, ["--files", *_only(glob)], start)
        paths = parse_paths(ran.output)
        if glob.simple_name is None:
            skip = len(start.rstrip("/")) + 1
            paths = [path for path in paths if glob.matches(path[skip:])]
        return sorted(paths), ran.complete

    async def grep(self, files: Files, query: Query) -> Grepped:
        """All that `query` asks for."""
        try:
            await in_io_thread(_demand_directory, self._root, query.start)
        except NotADirectoryError:
            return await self._grep_file(query)
        ran = await self._run(files, _options(query), query.start)
        parse = _PARSERS[query.mode]
        found = await in_io_thread(parse, ran.output)
        wanted = sorted((item for item in found if query.wants(item.path)), key=lambda i: i.path)
        return Grepped(files=wanted, complete=ran.complete)

    async def _grep_file(self, query: Query) -> Grepped:
        """Search one file, handed over already opened."""
        with open_file(self._root, query.start) as descriptor:
            ran = await self._finish([*_ALWAYS, *_options(query, "lines"), "-"], descriptor)
        found = parse_lines(ran.output, named=query.start)
        return Grepped(files=[f.in_mode(query.mode) for f in found], complete=ran.complete)

    async def _run(self, files: Files, options: Sequence[str], start: str) -> "_Ran":
        with _ignoring(await rules_above(files, start)) as rules:
            ignoring = [f"--ignore-file={path}" for path in rules]
            # The path comes after `--`, and begins with `./`: it can never be an option.
            arguments = [*_ALWAYS, *ignoring, *options, "--", f".{start}"]
            return await self._finish(arguments, readable=[self._root, *rules])

    async def _finish(
        self,
        arguments: Sequence[str],
        stdin: int = subprocess.DEVNULL,
        readable: Sequence[str] = (),
    ) -> "_Ran":
        process = await in_io_thread(self._start, arguments, stdin, readable)
        try:
            with anyio.move_on_after(_TIMEOUT):
                return await wait_in_thread(_collect, process, abandon_on_cancel=True)
            raise ToolError(f"The search took over {_TIMEOUT:.0f} seconds; search a smaller part.")
        finally:
            # Ends an abandoned reader too: it reads to the end of the pipes.
            process.kill()
            with anyio.CancelScope(shield=True):
                await wait_in_thread(process.wait)

    def _start(
        self, arguments: Sequence[str], stdin: int, readable: Sequence[str]
    ) -> subprocess.Popen[bytes]:
        return start_confined(
            [self._program, *arguments],
            readable,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._root,
            env={},
        )


@dataclass(frozen=True, slots=True)
class _Ran:
    output: bytes
    complete: bool


def _collect(process: subprocess.Popen[bytes]) -> _Ran:
    """Output up to a limit; an error only when there is no output at all."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        output = process.stdout.read(_MAX_OUTPUT)
        if len(output) == _MAX_OUTPUT:
            process.kill()
            return _Ran(output, complete=False)
        message = process.stderr.read().decode("utf-8", "replace")
        if process.wait() == 2 and message and not output:
            raise ToolError(f"The search failed. {message.removeprefix('rg: ').strip()}")
        return _Ran(output, complete=True)


@contextmanager
def _ignoring(rules: Sequence[str]) -> Iterator[list[str]]:
    """A file of rules that ripgrep would not find by itself, if there are any."""
    if not rules:
        yield []
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("\n".join(rules))
        file.flush()
        yield [file.name]


def _options(query: Query, mode: str = "") -> list[str]:
    """Options for `query`. Text from outside stands only behind an `=`."""
    options = [_MODES[mode or query.mode], "--crlf", f"--max-count={query.limit}"]
    options.append("--ignore-case" if query.ignore_case else "--case-sensitive")
    if query.literal:
        options.append("--fixed-strings")
    if query.context:
        options.append(f"--context={query.context}")
    return [*options, *_only(query.glob), f"--regexp={query.pattern}"]


def _only(glob: Glob | None) -> list[str]:
    """Options that limit ripgrep to a glob, where that is possible.

    As a type of file, because ripgrep's option for globs would bring ignored files back.
    """
    if glob is None or glob.simple_name is None:
        return []
    return [f"--type-add=wanted:{glob.simple_name}", "--type=wanted"]


def _demand_directory(root: str, path: str) -> None:
    with open_directory(root, path):
        pass
