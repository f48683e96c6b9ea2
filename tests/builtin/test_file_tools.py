"""The file tools of a deep agent."""

import base64
from pathlib import Path

import pytest
from dirty_equals import IsStr
from inline_snapshot import snapshot
from tests.builtin._answers import Session, call

from toolwright.backends.files import FilesystemBackend, StateBackend
from toolwright.builtin import file_tools
from toolwright.errors import UsageError
from toolwright.messages import BlobPart

pytestmark = pytest.mark.anyio

_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _in_state() -> Session:
    return Session(file_tools(lambda ctx: StateBackend(ctx.state)))


@pytest.mark.row("000-17", "000-22", "000-26", "000-28")
async def test_files_are_written_listed_and_read() -> None:
    session = _in_state()
    assert await session.json(
        "write_file", file_path="/src/a.py", content="import os\n"
    ) == snapshot({"status": "success", "path": "/src/a.py"})
    assert await session.json("ls", path="/") == snapshot(
        {
            "status": "success",
            "entries": [
                {"path": "/src", "is_dir": True, "size": 0, "modified_at": IsStr()},
            ],
        }
    )
    assert await session.json("read_file", file_path="/src/a.py") == snapshot(
        {"status": "success", "content": "     1\timport os"}
    )
    assert (await session.runner.state("s"))["files"]["/src/a.py"]["content"] == "import os\n"


async def test_parallel_writes_are_all_kept() -> None:
    session = _in_state()
    results = await session.answers(
        *(call("write_file", file_path=f"/{n}.txt", content="x") for n in range(20))
    )
    assert [result.status for result in results] == ["ok"] * 20
    assert len((await session.json("ls", path="/"))["entries"]) == 20


@pytest.mark.row("000-20", "000-23")
async def test_a_file_is_read_in_pages() -> None:
    session = _in_state()
    content = "".join(f"line {n}\n" for n in range(2150))
    await session.json("write_file", file_path="/long.txt", content=content)
    first = (await session.json("read_file", file_path="/long.txt"))["content"]
    assert first.startswith("     1\tline 0\n     2\tline 1\n")
    assert first.endswith(
        "  2000\tline 1999\n... (150 more lines. Use offset=2000 to continue reading)"
    )
    rest = (await session.json("read_file", file_path="/long.txt", offset=2000))["content"]
    assert rest.startswith("  2001\tline 2000\n")
    assert rest.endswith("  2150\tline 2149")
    few = (await session.json("read_file", file_path="/long.txt", offset=1, limit=1))["content"]
    assert few == "     2\tline 1\n... (2148 more lines. Use offset=2 to continue reading)"


async def test_pages_of_wide_lines_end_before_the_output_limit() -> None:
    session = _in_state()
    await session.json("write_file", file_path="/wide.txt", content=f"{'x' * 999}\n" * 100)
    page = (await session.json("read_file", file_path="/wide.txt"))["content"]
    assert page.endswith("... (61 more lines. Use offset=39 to continue reading)")


async def test_a_page_of_one_endless_line_stays_within_the_limit() -> None:
    session = _in_state()
    await session.json("write_file", file_path="/endless.txt", content="é" * 100_000)
    page = (await session.json("read_file", file_path="/endless.txt"))["content"]
    assert len(page.encode()) < 41_000
    assert page.endswith("more characters; use grep in it)")


@pytest.mark.row("000-25")
async def test_long_lines_come_in_numbered_pieces() -> None:
    session = _in_state()
    content = "short\n" + "y" * 12_000 + "\nend"
    await session.json("write_file", file_path="/a.txt", content=content)
    lines = (await session.json("read_file", file_path="/a.txt"))["content"].split("\n")
    assert [line.split("\t")[0].strip() for line in lines] == ["1", "2.1", "2.2", "2.3", "3"]
    assert [len(line.split("\t")[1]) for line in lines] == [5, 5000, 5000, 2000, 3]


@pytest.mark.row("000-21")
async def test_images_are_shown_as_images(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(_PNG)
    result = await Session(file_tools(FilesystemBackend(tmp_path))).answer(
        "read_file", file_path="/dot.png"
    )
    assert result.content[1] == BlobPart(media_type="image/png", data=_PNG, name="dot.png")


@pytest.mark.row("000-33", "000-38")
async def test_a_file_is_edited() -> None:
    session = _in_state()
    await session.json("write_file", file_path="/a.py", content="x = 1\ny = 1\n")
    arguments = {"file_path": "/a.py", "old_string": "1", "new_string": "2"}
    assert await session.json("edit_file", **arguments) == snapshot(
        {
            "status": "error",
            "message": "old_string appears 2 times. Provide more context to make it unique, or set replace_all=True. It begins on lines 1, 2.",
        }
    )
    assert await session.json("edit_file", **arguments, replace_all=True) == snapshot(
        {"status": "success", "path": "/a.py", "occurrences": 2}
    )
    content = (await session.json("read_file", file_path="/a.py"))["content"]
    assert content == "     1\tx = 2\n     2\ty = 2"


async def test_parallel_edits_of_one_file_are_all_made() -> None:
    session = _in_state()
    names = "abcdefghij"
    await session.json("write_file", file_path="/a.txt", content="\n".join(names))
    results = await session.answers(
        *(call("edit_file", file_path="/a.txt", old_string=n, new_string=n.upper()) for n in names)
    )
    assert [result.status for result in results] == ["ok"] * 10
    assert (await session.runner.state("s"))["files"]["/a.txt"]["content"] == "\n".join(
        names.upper()
    )


async def test_an_edit_of_a_file_that_changed_since_it_was_read_is_refused(tmp_path: Path) -> None:
    session = Session(file_tools(FilesystemBackend(tmp_path)))
    await session.json("write_file", file_path="/a.txt", content="one two")
    (tmp_path / "a.txt").write_text("one two three")
    edit = {"file_path": "/a.txt", "old_string": "one", "new_string": "1"}
    refused = await session.json("edit_file", **edit)
    assert refused["message"] == snapshot(
        "Error: file changed since it was read: /a.txt. Read it again, then repeat the change."
    )
    await session.json("read_file", file_path="/a.txt")
    assert (await session.json("edit_file", **edit))["status"] == "success"
    assert (tmp_path / "a.txt").read_text() == "1 two three"


@pytest.mark.row(
    "000-12",
    "000-13",
    "000-14",
    "000-15",
    "000-18",
    "000-24",
    "000-27",
    "000-34",
    "000-35",
    "000-36",
)
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ls", {"path": "../etc/passwd"}, "Path traversal not allowed: ../etc/passwd"),
        ("ls", {"path": "/nothing"}, "Error: file not found: /nothing"),
        ("read_file", {"file_path": "/no.txt"}, "Error: file not found: /no.txt"),
        ("read_file", {"file_path": "/d"}, "Error: is a directory, not a file: /d"),
        (
            "write_file",
            {"file_path": "/d/a.txt", "content": ""},
            "File already exists: /d/a.txt. Use edit_file to modify.",
        ),
        (
            "edit_file",
            {"file_path": "/d/a.txt", "old_string": "a", "new_string": "a"},
            "old_string and new_string are identical",
        ),
        (
            "edit_file",
            {"file_path": "/d/a.txt", "old_string": "zzz", "new_string": "a"},
            "old_string not found in file content. Read the file to see what it has now.",
        ),
        ("glob", {"pattern": "*", "path": "~"}, "Path traversal not allowed: ~"),
        ("grep", {"pattern": "a\nb"}, IsStr(regex=r"(?s).*cannot be searched for.*first line\.")),
        (
            "read_file",
            {"file_path": "/d/a.txt", "offset": 9},
            "Error: offset 9 is past the end of the file (1 lines)",
        ),
    ],
)
async def test_mistakes_are_answered_with_a_message(
    name: str, arguments: dict[str, object], message: str
) -> None:
    session = _in_state()
    await session.json("write_file", file_path="/d/a.txt", content="text")
    result = await session.answer(name, **arguments)
    assert result.status == "error"
    assert await session.json(name, **arguments) == {"status": "error", "message": message}


@pytest.mark.row("000-41", "000-43")
async def test_files_are_found_by_glob() -> None:
    session = _in_state()
    for path in ("/src/a.ts", "/src/deep/b.tsx", "/c.md"):
        await session.json("write_file", file_path=path, content="x")
    found = await session.json("glob", pattern="**/*.{ts,tsx}")
    assert [entry["path"] for entry in found["entries"]] == ["/src/a.ts", "/src/deep/b.tsx"]
    assert await session.json("glob", pattern="*.rs", path="/src") == snapshot(
        {"status": "success", "entries": []}
    )


@pytest.mark.row("000-46", "000-48", "000-49", "000-51")
async def test_text_is_searched_literally_in_three_modes() -> None:
    session = _in_state()
    await session.json("write_file", file_path="/a.py", content="a.b\naxb\na.b\n")
    await session.json("write_file", file_path="/b.txt", content="a.b\n")
    assert await session.json("grep", pattern="a.b") == snapshot(
        {"status": "success", "result": "/a.py\n/b.txt"}
    )
    assert await session.json(
        "grep", pattern="a.b", glob="*.py", output_mode="content"
    ) == snapshot({"status": "success", "result": "/a.py:1:a.b\n/a.py:3:a.b"})
    assert await session.json("grep", pattern="a.b", output_mode="count") == snapshot(
        {"status": "success", "result": "/a.py: 2\n/b.txt: 1"}
    )
    assert await session.json("grep", pattern="zzz") == snapshot(
        {"status": "success", "result": "No matches found."}
    )


@pytest.mark.row("000-52")
async def test_a_search_that_finds_too_much_is_cut_at_a_line() -> None:
    session = _in_state()
    content = "needle in a haystack\n" * 5000
    await session.json("write_file", file_path="/a.txt", content=content)
    found = (await session.json("grep", pattern="needle", output_mode="content"))["result"]
    assert len(found) < 80_200
    assert found.endswith("more lines left out. Search for a longer text, or in fewer files.)")


@pytest.mark.row("000-50")
async def test_what_is_left_out_is_counted_to_the_last_line() -> None:
    session = _in_state()
    await session.json("write_file", file_path="/a.txt", content="needle\n" * 25_000)
    found = (await session.json("grep", pattern="needle", output_mode="content"))["result"]
    *shown, note = found.split("\n")
    assert note.startswith(f"... ({25_000 - len(shown)} more lines left out.")
    counted = await session.json("grep", pattern="needle", output_mode="count")
    assert counted["result"] == "/a.txt: 25000"


@pytest.mark.row("000-42")
@pytest.mark.parametrize("kind", ["state", "directory"])
async def test_glob_and_grep_find_what_is_there_whatever_ignore_files_say(
    kind: str, tmp_path: Path
) -> None:
    in_directory = Session(file_tools(FilesystemBackend(tmp_path)))
    session = _in_state() if kind == "state" else in_directory
    for path in ("/.gitignore", "/app.log", "/build/x.py"):
        content = "*.log\nbuild/\nneedle"
        await session.json("write_file", file_path=path, content=content)
    found = await session.json("grep", pattern="needle")
    assert found["result"] == "/.gitignore\n/app.log\n/build/x.py"
    for pattern, path in (("**/*.log", "/app.log"), ("build/*.py", "/build/x.py")):
        listed = await session.json("glob", pattern=pattern)
        assert [entry["path"] for entry in listed["entries"]] == [path]


@pytest.mark.row("000-09", "000-11")
@pytest.mark.parametrize("backend", [None, "dir", StateBackend])
def test_a_missing_backend_is_a_clear_error(backend: object) -> None:
    with pytest.raises(UsageError, match=r"No backend configured|is a class"):
        file_tools(backend)  # type: ignore[arg-type]


async def test_a_link_that_leads_out_is_refused_with_its_path_once(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path)
    session = Session(file_tools(FilesystemBackend(tmp_path / "inside")))
    assert await session.json("read_file", file_path="/link") == {
        "status": "error",
        "message": "Error: not permitted: the symbolic link leads out of the directory: /link",
    }
