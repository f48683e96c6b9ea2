"""Search a directory with the ripgrep program."""

import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

import anyio

from toolwright._temporary import remove_tree, temporary_directory, temporary_root
from toolwright.backends._own_paths import closed_below, find_program, records_below
from toolwright.backends.files._confined import open_directory, open_file
from toolwright.backends.files._files import Files
from toolwright.backends.files._find import Wanted
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._grep import (
    FileMatches,
    Grepped,
    Mode,
    Query,
    is_simple,
    searchable,
)
from toolwright.backends.files._ignore import NEVER_SEARCHED, rules_above
from toolwright.backends.files._landlock import start_confined
from toolwright.backends.files._paths import sorted_in_steps, tree_order
from toolwright.backends.files._ripgrep_output import (
    Parsed,
    parse_counts,
    parse_files,
    parse_lines,
    parse_paths,
)
from toolwright.backends.files._rope import in_thread_if_long
from toolwright.backends.files._text import read_text
from toolwright.concurrency import in_io_thread, wait_in_thread
from toolwright.errors import ToolError

__all__ = ["Ripgrep", "ripgrep_program"]

T = TypeVar("T")
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
"""No settings of the machine or its user, and of the ignore files at most `.gitignore`."""
_MODES: dict[Mode, str] = {"lines": "--json", "files": "--files-with-matches", "counts": "--count"}
_PARSERS = {"lines": parse_lines, "files": parse_files, "counts": parse_counts}
_TIMEOUT = 60.0
_EMPTY = re.compile(r"[\\^$|]")
"""Without any of these a simple pattern stands for one sign at least."""
_MOST_COPIES = 1000
_COPIES_SIZE = 32 * 1024 * 1024
_MEANS_MORE = re.compile(r"[*?\[\]{}\\]")


def ripgrep_program(root: str) -> str | None:
    """Where ripgrep is: beside this Python, as its wheel puts it there, or on the PATH.

    Never in `root` or the current directory: what searches files is not one of them.
    """
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    return str(beside) if beside.is_file() else find_program("rg", outside=[Path(root), Path.cwd()])


class Ripgrep:
    """Runs ripgrep on a directory."""

    def __init__(self, program: str, root: str) -> None:
        self._program = program
        self._root = root

    async def find(self, files: Files, wanted: Wanted) -> tuple[list[str], bool]:
        """Paths of the files that are wanted, and whether these are all."""
        await in_io_thread(_demand_directory, self._root, wanted.start)
        by_ripgrep = wanted.glob.simple_name is not None
        parse = partial(parse_paths, wants=None if by_ripgrep else wanted.matches)
        ran = await self._run(files, ["--files", *_only(wanted.glob)], wanted, parse)
        return await in_io_thread(sorted_in_steps, ran.found, tree_order), ran.complete

    async def grep(self, files: Files, query: Query) -> Grepped:
        """All that `query` asks for."""
        try:
            await in_io_thread(_demand_directory, self._root, query.start)
        except NotADirectoryError:
            found, others = await self._in_file(query), [query.start]
        else:
            found = await self._below(files, query)
            others = await self._not_utf8(files, query)
        matches = {item.path: item for item in found.files}
        await self._search_again(files, query, others, matches)
        return await in_io_thread(Grepped.within, query, list(matches.values()), found.complete)

    async def _search_again(
        self, files: Files, query: Query, paths: Sequence[str], found: dict[str, FileMatches]
    ) -> None:
        """Search files that are not UTF-8 as they are shown, in place of what was found in them."""
        copies: dict[str, bytes] = {}
        doubtful = list(found) if found and await self._finds_nothing(query) else []
        for path in dict.fromkeys([*paths, *doubtful]):
            try:
                data = (await files.read(path)).data
            except OSError:
                continue
            copy = await in_thread_if_long(len(data), _copy_to_search, data)
            if copy is not None:
                found.pop(path, None)
                copies[path] = copy
            if len(copies) >= _MOST_COPIES or sum(map(len, copies.values())) >= _COPIES_SIZE:
                found.update(await self._in_copies(query, copies))
                copies = {}
        found.update(await self._in_copies(query, copies))

    async def _finds_nothing(self, query: Query) -> bool:
        """Whether the pattern is found in an empty line."""
        if query.literal or (is_simple(query) and not _EMPTY.search(query.pattern)):
            return False
        return bool(await self._in_copies(replace(query, mode="files"), {"/": b"\n"}))

    async def _in_copies(self, query: Query, copies: Mapping[str, bytes]) -> dict[str, FileMatches]:
        """What is found in files with these bytes, by path."""
        if not copies:
            return {}
        paths, anywhere = list(copies), replace(query, glob=None)
        place = await in_io_thread(temporary_directory)
        try:
            await in_io_thread(_write, place, list(copies.values()))
            found = await self._in_place(place, paths, anywhere)
        finally:
            with anyio.CancelScope(shield=True):
                await in_io_thread(remove_tree, place)
        return {item.path: item for item in found.files}

    async def _in_place(self, place: Path, paths: Sequence[str], query: Query) -> Grepped:
        async def run(mode: Mode) -> Grepped:
            parse = partial(_PARSERS[mode], query=query)
            options = [*_ALWAYS, "--no-ignore", "--sort=path", *_options(query, mode)]
            arguments = [*options, "--", str(place)]
            ran = await self._finish(arguments, parse, readable=[str(place)])
            named = [replace(item, path=paths[int(item.path[-6:])]) for item in ran.found]
            return Grepped(files=named, complete=ran.complete)

        found = await run("files" if query.mode == "files" else "counts")
        shows_lines = found.files and query.mode == "lines"
        return _with_lines(found, await run("lines")) if shows_lines else found

    async def _below(self, files: Files, query: Query) -> Grepped:
        """Search a directory; when there are more lines than wanted, count them all apart."""

        async def run(mode: Mode, *more: str) -> Grepped:
            parse = partial(_PARSERS[mode], query=query)
            ran = await self._run(files, [*more, *_options(query, mode)], query, parse)
            return Grepped(files=ran.found, complete=ran.complete)

        found = await run(query.mode)
        if query.mode != "lines" or (found.complete and found.total < query.limit):
            return found
        counted = await run("counts")
        # In order, so that what there is room for is the beginning.
        return _with_lines(counted, await run("lines", "--sort=path"))

    async def _in_file(self, query: Query) -> Grepped:
        """Search one file, handed over already opened."""

        async def run(mode: Mode) -> Grepped:
            parse = partial(_PARSERS[mode], query=replace(query, glob=None))
            closed = closed_below(self._root, to_writing=False)
            with open_file(self._root, query.start, closed=closed) as descriptor:
                options = [*_ALWAYS, "--with-filename", *_options(query, mode), "-"]
                ran = await self._finish(options, parse, descriptor)
            named = [replace(item, path=query.start) for item in ran.found]
            return Grepped(files=named, complete=ran.complete)

        # Only the lines come with the news that a file is binary.
        found = await run("lines")
        if found.files and not (found.complete and found.total < query.limit):
            found = _with_lines(await run("counts"), found)
        if query.mode == "lines":
            return found
        only_named = query.mode == "files"
        return Grepped(
            files=[
                FileMatches(path=item.path, count=1 if only_named else item.count)
                for item in found.files
            ]
        )

    async def _not_utf8(self, files: Files, query: Query) -> list[str]:
        """Files that ripgrep may have understood otherwise than they are shown.

        Plain ASCII is found whatever a file's encoding is; anything else may be another character
        in it.
        """
        if query.literal and query.pattern.isascii() and query.mode != "lines":
            return []
        every_line = ["--files-with-matches", "--invert-match", "--line-regexp", "--regexp=.*"]
        parse = partial(parse_paths, wants=query.wants)
        return (await self._run(files, [*every_line, *_only(query.glob)], query, parse)).found

    async def _run(
        self,
        files: Files,
        options: Sequence[str],
        where: Query | Wanted,
        parse: Callable[[IO[bytes]], Parsed[T]],
    ) -> Parsed[T]:
        above = await rules_above(files, where.start) if where.gitignore else []
        with _ignoring(above) as rules:
            ignoring = [f"--ignore-file={path}" for path in rules]
            if not where.gitignore:
                ignoring.append("--no-ignore")
            # The path comes after `--`, and begins with `./`: it can never be an option.
            hidden = await in_io_thread(_hiding, self._root)
            arguments = [*_ALWAYS, *hidden, *ignoring, *options, "--", f".{where.start}"]
            return await self._finish(arguments, parse, readable=[self._root, *rules])

    async def _finish(
        self,
        arguments: Sequence[str],
        parse: Callable[[IO[bytes]], Parsed[T]],
        stdin: int = subprocess.DEVNULL,
        readable: Sequence[str] = (),
    ) -> Parsed[T]:
        process = await in_io_thread(self._start, arguments, stdin, readable)
        try:
            with anyio.move_on_after(_TIMEOUT):
                return await wait_in_thread(_collect, process, parse, abandon_on_cancel=True)
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


def _collect(
    process: subprocess.Popen[bytes], parse: Callable[[IO[bytes]], Parsed[T]]
) -> Parsed[T]:
    """What ripgrep prints, up to a limit; an error only when it prints nothing at all."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        parsed = parse(process.stdout)
        if not parsed.complete:
            process.kill()
            return parsed
        message = process.stderr.read().decode("utf-8", "replace")
        if process.wait() == 2 and message and not parsed.found:
            raise ToolError(f"The search failed. {message.removeprefix('rg: ').strip()}")
        return parsed


@contextmanager
def _ignoring(rules: Sequence[str]) -> Iterator[list[str]]:
    """A file of rules that ripgrep would not find by itself, if there are any."""
    if not rules:
        yield []
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=temporary_root()) as file:
        file.write("\n".join(rules))
        file.flush()
        yield [file.name]


def _with_lines(counted: Grepped, shown: Grepped) -> Grepped:
    """All the files with their counts, and the lines of those whose lines were read."""
    lines = {item.path: item.lines for item in shown.files}
    files = [replace(item, lines=lines.get(item.path, ())) for item in counted.files]
    return Grepped(files=files, complete=counted.complete)


def _copy_to_search(data: bytes) -> bytes | None:
    """A file that ripgrep understands otherwise than it is shown, as UTF-8; None if it does not.

    Those are the ones in latin-1, and those that end with a `\\r`: to ripgrep, an empty line follows
    it, but only where one matches.
    """
    ends_with_return = data[-4:].rstrip(b"\0").endswith(b"\r")
    if not ends_with_return and read_text(data).encoding != "latin-1":
        return None
    rope = searchable(data)
    text = b"" if rope is None else rope.encoded("utf-8").partition(b"\0")[0]
    return text[:-1] + b"\n" if text.endswith(b"\r") else text


def _write(place: Path, copies: Sequence[bytes]) -> None:
    for number, data in enumerate(copies):
        (place / f"{number:06}").write_bytes(data)


def _options(query: Query, mode: Mode) -> list[str]:
    """Options for `query`. Text from outside stands only behind an `=`."""
    options = [_MODES[mode], "--crlf"]
    if mode == "lines":
        options.append(f"--max-count={query.limit}")
        options.append(f"--context={query.context}")
    options.append("--ignore-case" if query.ignore_case else "--case-sensitive")
    if query.literal:
        options.append("--fixed-strings")
    return [*options, *_only(query.glob), f"--regexp={query.pattern}"]


def _only(glob: Glob | None) -> list[str]:
    """Options that limit ripgrep to a glob, where that is possible.

    As a type of file, because ripgrep's option for globs would bring ignored files back.
    """
    if glob is None or glob.simple_name is None:
        return []
    return [f"--type-add=wanted:{glob.simple_name}", "--type=wanted"]


def _demand_directory(root: str, path: str) -> None:
    with open_directory(root, path, closed=closed_below(root, to_writing=False)):
        pass


def _hiding(root: str) -> list[str]:
    """Options that leave out what this program keeps for itself."""
    below = (path.relative_to(root) for path in records_below(Path(root)))
    return [f"--glob=!/{_MEANS_MORE.sub(_escaped, str(path))}" for path in below]


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
