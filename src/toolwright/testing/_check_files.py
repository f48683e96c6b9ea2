"""What every `Files` backend must do, as checks that its author can run."""

from collections.abc import Callable, Coroutine
from typing import Any

import anyio

from toolwright.backends.files import (
    ABSENT,
    FileChanged,
    Files,
    Glob,
    Query,
    Wanted,
    find,
    find_in,
    grep,
)
from toolwright.errors import ToolError
from toolwright.testing._checks import raises, run_checks

__all__ = ["FILES_CHECKS", "check_files"]

_HOSTILE = ("../etc/passwd", "/../etc/passwd", "/a/../../etc/passwd", "~/x", "/~root/x", "C:\\x",
            "/C:/x", "relative", "", "/a\0b", "/\ud800")  # fmt: skip


async def check_files(factory: Callable[[], Files]) -> None:
    """Run every check on a fresh, empty backend from `factory`; the first failure is raised."""
    await run_checks(FILES_CHECKS, factory)


async def check_what_is_written_is_read(files: Files) -> None:
    """Bytes come back as they were, text or not, and a version goes with them."""
    for content in (b"", b"text\n", b"\xff\xfe\0\x80", "é🎉".encode(), b"\r\nmixed\n"):
        version = await files.write("/dir/a file ü.bin", content)
        loaded = await files.read("/dir/a file ü.bin")
        assert (loaded.data, loaded.version) == (content, version)


async def check_an_empty_backend_has_a_root(files: Files) -> None:
    """The root can be listed before anything is in it."""
    assert await files.ls("/") == []


async def check_directories_come_with_their_files(files: Files) -> None:
    """A list has files and directories directly in a directory, by path."""
    for path in ("/b.txt", "/a/x.txt", "/a/deep/er/y.txt", "/ab/z.txt"):
        await files.write(path, b"four")
    listed = await files.ls("/")
    assert [(e.path, e.is_dir) for e in listed] == [("/a", True), ("/ab", True), ("/b.txt", False)]
    assert [e.path for e in await files.ls("/a")] == ["/a/deep", "/a/x.txt"]
    file = (await files.ls("/a"))[1]
    assert file.size == 4
    assert file.modified_at.endswith("+00:00")


async def check_what_is_missing_is_said(files: Files) -> None:
    """Missing files and directories, and each in place of the other, are told apart."""
    await files.write("/dir/file", b"")
    await raises(FileNotFoundError, files.read("/nothing"))
    await raises(FileNotFoundError, files.ls("/nothing"))
    await raises(IsADirectoryError, files.read("/dir"))
    await raises(NotADirectoryError, files.ls("/dir/file"))
    await raises(IsADirectoryError, files.write("/dir", b""))
    await raises(NotADirectoryError, files.write("/dir/file/below", b""))


async def check_paths_are_made_normal(files: Files) -> None:
    """Different spellings of a path are one file."""
    await files.write("//dir/./a.txt", b"once")
    assert (await files.read("/dir//a.txt")).data == b"once"
    assert [entry.path for entry in await files.ls("/dir/")] == ["/dir/a.txt"]


async def check_hostile_paths_are_refused(files: Files) -> None:
    """No path that climbs, or is none, gets anywhere."""
    for path in _HOSTILE:
        await raises(ToolError, files.read(path))
        await raises(ToolError, files.ls(path))
        await raises(ToolError, files.write(path, b"x"))


async def check_a_new_file_never_overwrites(files: Files) -> None:
    """Of many writers that expect no file, one wins."""
    outcomes: list[str] = []

    async def create(name: str) -> None:
        try:
            await files.write("/new.txt", name.encode(), expected=ABSENT)
        except FileExistsError:
            outcomes.append("refused")
        else:
            outcomes.append(name)

    await _together(create, "abcdefgh")
    assert outcomes.count("refused") == 7
    (winner,) = (name for name in outcomes if name != "refused")
    assert (await files.read("/new.txt")).data == winner.encode()


async def check_a_changed_file_is_not_overwritten(files: Files) -> None:
    """A writer that has read another version, or a file that has gone, is refused."""
    old = await files.write("/a.txt", b"old")
    new = await files.write("/a.txt", b"new", expected=old)
    assert new != old
    await raises(FileChanged, files.write("/a.txt", b"late", expected=old))
    assert (await files.read("/a.txt")).data == b"new"
    await raises(FileChanged, files.write("/never.txt", b"late", expected=old))


async def check_parallel_writers_lose_nothing(files: Files) -> None:
    """Files that are written at once are all there afterwards."""

    async def create(name: str) -> None:
        await files.write(f"/p/{name}", name.encode())

    await _together(create, "abcdefghijklmnop")
    assert len(await files.ls("/p")) == 16


async def check_globs_are_found(files: Files) -> None:
    """`*` stays in a directory, `**` crosses them, braces are alternatives."""
    for path in ("/a.py", "/b.ts", "/src/c.py", "/src/x/d.py", "/src/x/.hidden.py", "/src/y/e.ts"):
        await files.write(path, b"text")
    assert await _found(files, "*.py") == ["/a.py"]
    everywhere = ["/a.py", "/src/c.py", "/src/x/.hidden.py", "/src/x/d.py"]
    assert await _found(files, "**/*.py") == everywhere
    assert await _found(files, "src/{x,y}/[de].*") == ["/src/x/d.py", "/src/y/e.ts"]
    assert await _found(files, "*/?.py") == ["/src/c.py"]
    assert await _found(files, "*.py", "/src") == ["/src/c.py"]
    assert await _found(files, "/src/*.py", "/src/x") == ["/src/c.py"]
    assert await _found(files, "../*.py", "/src") == []
    assert await _found(files, "**/*.rs") == []
    await raises(FileNotFoundError, find(files, "*", "/nothing"))


async def check_text_is_found(files: Files) -> None:
    """Literal text and regular expressions, with the lines around them."""
    await files.write("/a.py", b"import os\nimport re\n\nx = a.b\n")
    await files.write("/src/b.txt", b"IMPORT sys\r\nlast aXb")
    await files.write("/src/c.bin", b"import\0binary")
    await files.write("/src/d.txt", "héllo import\n".encode("latin-1"))
    assert await _grep(files, Query(pattern="a.b", literal=True)) == [("/a.py", 4, "x = a.b")]
    any_case = await _grep(files, Query(pattern="^import", ignore_case=True, start="/src"))
    assert any_case == [("/src/b.txt", 1, "IMPORT sys")]
    ending = await _grep(files, Query(pattern="(os|sys)$", glob=Glob("*.txt", anywhere=True)))
    assert ending == [("/src/b.txt", 1, "IMPORT sys")]
    around = await grep(files, Query(pattern="re", context=1, start="/a.py"))
    assert [line.number for line in around.files[0].lines] == [1, 2, 3]
    counted = await grep(files, Query(pattern="import", mode="counts"))
    assert [(item.path, item.count) for item in counted.files] == [("/a.py", 2), ("/src/d.txt", 1)]
    accents = await grep(files, Query(pattern="h.llo", start="/src"))
    assert [item.lines[0].text for item in accents.files] == ["héllo import"]
    accent = Query(pattern="é", literal=True, mode="counts")
    assert [(i.path, i.count) for i in (await grep(files, accent)).files] == [("/src/d.txt", 1)]
    named = await grep(files, Query(pattern="import", mode="files"))
    assert [item.path for item in named.files] == ["/a.py", "/src/d.txt"]
    await raises(ToolError, grep(files, Query(pattern="(")))


async def check_many_matches_are_counted(files: Files) -> None:
    """Counts are of all matches, and of the lines those come that are wanted, from the beginning."""
    for name in "ba":
        await files.write(f"/{name}.txt", b"needle\n" * 12_000)
    counted = await grep(files, Query(pattern="needle", mode="counts"))
    assert [item.count for item in counted.files] == [12_000, 12_000]
    found = await grep(files, Query(pattern="needle", limit=12_001))
    assert (found.total, [len(item.lines) for item in found.files]) == (24_000, [12_000, 1])


async def check_directories_are_found(files: Files) -> None:
    """Directories match a glob as files do, when they are asked for."""
    for path in ("/a/b/c.txt", "/a/build/d.txt", "/b/e.txt", "/.git/b/f"):
        await files.write(path, b"text")
    found = await find_in(files, Wanted(glob=Glob("**/b*"), directories=True))
    assert (found.paths, found.directories) == ([], ("/a/b", "/a/build", "/b"))


async def check_options_cannot_be_smuggled_in(files: Files) -> None:
    """Text that looks like an option of a search program is searched for as text."""
    for text in ("--pre=touch /tmp/pwned", "-e", "--", "--files", "-f/etc/passwd"):
        await files.write("/a.txt", f"x {text} y\n".encode())
        found = await _grep(files, Query(pattern=text, literal=True))
        assert found == [("/a.txt", 1, f"x {text} y")]
    await files.write("/--pre=x/b.txt", b"needle")
    assert await _grep(files, Query(pattern="needle", start="/--pre=x")) != []
    assert await _found(files, "--files") == []


async def check_ignored_files_are_left_out(files: Files) -> None:
    """`.gitignore` files count if asked, the inner ones more; version control is never searched
    from outside."""
    for path, text in {
        "/.gitignore": "*.log\n/build/\n",
        "/a.log": "needle",
        "/build/x.txt": "needle",
        "/src/build/y.txt": "needle",
        "/src/.gitignore": "!keep.log\nsecret\n",
        "/src/keep.log": "needle",
        "/src/in/b.log": "needle",
        "/src/in/secret": "needle",
        "/.git/config": "needle",
    }.items():
        await files.write(path, text.encode())
    seen = ["/src/build/y.txt", "/src/keep.log"]
    query = Query(pattern="needle", gitignore=True)
    assert [path for path, *_ in await _grep(files, query)] == seen
    assert (await find(files, "**/*.{txt,log}", gitignore=True)).paths == seen
    assert (await find(files, "**", "/src/in", gitignore=True)).paths == []
    assert (await find(files, "*", "/build", gitignore=True)).paths == ["/build/x.txt"]
    everything = ["/a.log", "/build/x.txt", "/src/build/y.txt", "/src/in/b.log", "/src/in/secret",
                  "/src/keep.log"]  # fmt: skip
    assert [path for path, *_ in await _grep(files, Query(pattern="needle"))] == everything
    assert await _found(files, "**/*.{txt,log}") == [p for p in everything if "secret" not in p]
    assert await _found(files, "*", "/.git") == ["/.git/config"]


async def _found(files: Files, pattern: str, start: str = "/") -> list[str]:
    found = await find(files, pattern, start, details=1000)
    assert [entry.path for entry in found.entries] == found.paths
    return found.paths


async def _grep(files: Files, query: Query) -> list[tuple[str, int, str]]:
    found = await grep(files, query)
    return [(item.path, line.number, line.text) for item in found.files for line in item.lines]


async def _together(work: Callable[[str], Coroutine[Any, Any, None]], names: str) -> None:
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(work, name)


FILES_CHECKS = (
    check_what_is_written_is_read,
    check_an_empty_backend_has_a_root,
    check_directories_come_with_their_files,
    check_what_is_missing_is_said,
    check_paths_are_made_normal,
    check_hostile_paths_are_refused,
    check_a_new_file_never_overwrites,
    check_a_changed_file_is_not_overwritten,
    check_parallel_writers_lose_nothing,
    check_globs_are_found,
    check_text_is_found,
    check_many_matches_are_counted,
    check_directories_are_found,
    check_options_cannot_be_smuggled_in,
    check_ignored_files_are_left_out,
)
