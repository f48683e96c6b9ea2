"""The tools of a working directory."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tests.builtin._answers import Session, call

from toolwright.builtin import workspace_tools
from toolwright.messages import BlobPart

pytestmark = pytest.mark.anyio


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(workspace_tools(tmp_path))


def test_the_tools_have_the_documented_names_and_parameters(tmp_path: Path) -> None:
    shown = {
        tool.name: list(tool.spec.parameters["properties"]) for tool in workspace_tools(tmp_path)
    }
    assert shown == snapshot(
        {
            "read": ["path", "offset", "limit"],
            "write": ["path", "content"],
            "edit": ["path", "old_text", "new_text"],
            "bash": ["command", "timeout"],
            "grep": [
                "pattern",
                "path",
                "glob",
                "case_sensitive",
                "context_lines",
                "max_results",
            ],
            "find": ["path", "pattern", "type", "max_results"],
            "ls": ["path", "show_hidden"],
        }
    )


@pytest.mark.row("002-09", "002-27", "002-28")
async def test_a_file_is_written_read_and_overwritten(session: Session, tmp_path: Path) -> None:
    assert await session.text("write", path="a/b.md", content="# Notes\n") == snapshot(
        "Created a/b.md (8B)."
    )
    assert await session.text("read", path="a/b.md") == "# Notes\n"
    assert await session.text("read", path=str(tmp_path / "a/b.md")) == "# Notes\n"
    assert await session.text("write", path="./a/b.md", content="new") == snapshot(
        "Overwrote a/b.md (3B)."
    )
    assert (tmp_path / "a/b.md").read_text() == "new"


@pytest.mark.row("002-10", "002-11", "002-13", "002-14")
async def test_long_files_are_read_in_pages(session: Session, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    first = await session.text("read", path="long.txt")
    assert first.startswith("1\n2\n")
    assert first.endswith(
        "2000\n[Lines 1-2000 of 5000, 23.3KB in all. Use offset=2001 to continue.]"
    )
    some = await session.text("read", path="long.txt", offset=10, limit=2)
    assert some == "10\n11\n[Lines 10-11 of 5000, 23.3KB in all. Use offset=12 to continue.]"
    last = await session.text("read", path="long.txt", offset=4999)
    assert last == "4999\n5000\n[Lines 4999-5000 of 5000, 23.3KB in all.]"


@pytest.mark.row("002-12")
@pytest.mark.parametrize("content", ["x" * 200_000, "é" * 200_000, ("y" * 999 + "\n") * 200])
async def test_no_page_is_larger_than_the_limit(
    session: Session, tmp_path: Path, content: str
) -> None:
    (tmp_path / "wide.txt").write_text(content)
    page = await session.text("read", path="wide.txt")
    assert len(page.encode()) <= 50 * 1024
    assert "read_output" not in page


async def test_a_file_too_large_to_be_held_is_refused_but_searched(
    session: Session, tmp_path: Path
) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.write(b"needle\n" + b"hay\n" * 17_000_000)
    refused = await session.answer("read", path="huge.log")
    assert refused.text == snapshot("Larger than 64MB; search it with grep: huge.log")
    assert await session.text("grep", pattern="needle") == "huge.log:1: needle"


async def test_images_are_shown_and_binary_files_are_not(session: Session, tmp_path: Path) -> None:
    (tmp_path / "dot.gif").write_bytes(b"GIF89a\0")
    (tmp_path / "data.bin").write_bytes(b"\0\1\2")
    image = await session.answer("read", path="dot.gif")
    assert image.content == (BlobPart(media_type="image/gif", data=b"GIF89a\0", name="dot.gif"),)
    refused = await session.answer("read", path="data.bin")
    assert refused.text == "'data.bin' is a binary file of 3B and cannot be read as text."


async def test_what_a_file_holds_decides_and_not_its_name(session: Session, tmp_path: Path) -> None:
    (tmp_path / "logo").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "page.png").write_text("<html>Not found</html>")
    (tmp_path / "empty.webp").write_bytes(b"")
    (tmp_path / "notes.gif").write_text("GIF89a begins each of them")
    (tmp_path / "sound.webp").write_bytes(b"RIFF\4\0\0\0WAVE")
    image = await session.answer("read", path="logo")
    [part] = image.content
    assert (part.media_type, part.name) == ("image/png", "logo")  # type: ignore[union-attr]
    assert await session.text("read", path="page.png") == "<html>Not found</html>"
    assert await session.text("read", path="notes.gif") == "GIF89a begins each of them"
    assert (await session.answer("read", path="empty.webp")).text == ""
    assert "is a binary file" in (await session.answer("read", path="sound.webp")).text


@pytest.mark.row("002-23")
async def test_an_edit_keeps_everything_else(session: Session, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbfx = 1\r\ny = 2")
    result = await session.answer("edit", path="a.py", old_text="x = 1\n", new_text="x = 3\n")
    assert result.text == snapshot(
        "Edited a.py at line 1. The text was found by overlooking line endings."
    )
    assert result.data == snapshot(
        {"path": "a.py", "line": 1, "removed": "x = 1\n", "added": "x = 3\n"}
    )
    assert (tmp_path / "a.py").read_bytes() == b"\xef\xbb\xbfx = 3\r\ny = 2"


async def test_what_changed_since_it_was_read_is_not_overwritten(
    session: Session, tmp_path: Path
) -> None:
    await session.text("write", path="a.txt", content="mine")
    (tmp_path / "a.txt").write_text("a person's")
    refused = await session.answer("write", path="a.txt", content="mine again")
    assert refused.status == "error"
    assert refused.text == snapshot(
        "File changed since it was read: a.txt. Read it again, then repeat the change."
    )
    assert (tmp_path / "a.txt").read_text() == "a person's"


async def test_parallel_edits_of_one_file_are_all_made(session: Session, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join("abcdefgh"))
    results = await session.answers(
        *(call("edit", path="a.txt", old_text=n, new_text=n.upper()) for n in "abcdefgh")
    )
    assert [result.status for result in results] == ["ok"] * 8
    assert (tmp_path / "a.txt").read_text() == "\n".join("ABCDEFGH")


@pytest.mark.row("002-24", "002-25", "002-26")
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("read", {"path": "no.txt"}, "File not found: no.txt"),
        ("read", {"path": "."}, "Is a directory, not a file: ."),
        ("read", {"path": "a.txt", "offset": 0}, "offset and limit count from 1"),
        ("read", {"path": "a.txt", "offset": 7}, "past the end of the file, which has 1 lines"),
        ("read", {"path": "/etc/passwd"}, "'/etc/passwd' is outside the working directory"),
        ("read", {"path": "../x"}, "'../x' is outside the working directory"),
        ("write", {"path": "a.txt/b", "content": ""}, "Not a directory: a.txt/b"),
        ("edit", {"path": "b.txt", "old_text": "x", "new_text": "y"}, "File not found: b.txt"),
        ("edit", {"path": "a.txt", "old_text": "x", "new_text": "y"}, "old_text not found"),
        ("edit", {"path": "a.txt", "old_text": "a", "new_text": "b"}, "old_text appears 2 times"),
        ("grep", {"pattern": "("}, "unclosed group"),
        ("grep", {"pattern": "x", "max_results": 0}, "max_results must be 1 or more"),
        ("ls", {"path": "nothing"}, "File not found: nothing"),
        ("bash", {"command": "x", "timeout": -1}, "timeout must be more than 0"),
    ],
)
async def test_mistakes_are_explained(
    session: Session, tmp_path: Path, name: str, arguments: dict[str, object], message: str
) -> None:
    (tmp_path / "a.txt").write_text("a a")
    result = await session.answer(name, **arguments)
    assert result.status == "error"
    assert message in result.text


@pytest.mark.row("002-32", "002-33", "002-34", "002-35")
async def test_grep_shows_matches_with_context(session: Session, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.go").write_text("one\nfunc Handler\nthree\nfour\nfive\nfunc other\n")
    (tmp_path / "b.txt").write_text("FUNC\n")
    assert await session.text("grep", pattern="func", glob="*.go") == snapshot(
        "src/a.go:2: func Handler\nsrc/a.go:6: func other"
    )
    assert await session.text("grep", pattern="FUNC", case_sensitive=True) == "b.txt:1: FUNC"
    assert await session.text("grep", pattern="func", path="src", context_lines=1) == snapshot(
        """\
src/a.go-1- one
src/a.go:2: func Handler
src/a.go-3- three
--
src/a.go-5- five
src/a.go:6: func other\
"""
    )
    assert await session.text("grep", pattern="func", max_results=1) == snapshot(
        "b.txt:1: FUNC\n[1 of 3 matches; narrow the search or raise max_results]"
    )
    assert await session.text("grep", pattern="nothing") == "No matches found."


@pytest.mark.row("002-37", "002-38", "002-40")
async def test_find_takes_globs_and_parts_of_names(session: Session, tmp_path: Path) -> None:
    for name in ("src/main.py", "src/deep/main_test.py", "docs/main.md", ".gitignore", "x.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("*.log" if name == ".gitignore" else "")
    assert await session.text("find", pattern="*_test.py") == "src/deep/main_test.py"
    assert await session.text("find", pattern="main") == snapshot(
        "docs/main.md\nsrc/deep/main_test.py\nsrc/main.py"
    )
    assert await session.text("find", type="dir") == "docs/\nsrc/\nsrc/deep/"
    assert await session.text("find", path="src", pattern="deep") == "src/deep/"
    assert await session.text("find", pattern="src/*.py", type="file") == "src/main.py"
    assert await session.text("find", pattern="*.log") == "Nothing found."
    assert await session.text("find", max_results=1) == snapshot(
        ".gitignore\n[1 of 7 results; narrow the search or raise max_results]"
    )


@pytest.mark.row("002-39")
async def test_find_finds_empty_directories(session: Session, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("gone/\n")
    for name in ("a/empty", "gone/empty"):
        (tmp_path / name).mkdir(parents=True)
    assert await session.text("find", pattern="empty", type="dir") == "a/empty/"
    assert await session.text("find") == ".gitignore\na/\na/empty/"


@pytest.mark.row("002-41", "002-42", "002-43")
async def test_ls_shows_sizes_and_hides_dotfiles(session: Session, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("four")
    (tmp_path / ".env").write_text("")
    lines = (await session.text("ls")).split("\n")
    assert lines[0].startswith("      4B  20")
    assert lines[0].endswith("  a.txt")
    assert lines[1].endswith("  sub/")
    assert lines[2] == "[1 hidden; use show_hidden to see them]"
    assert ".env" in await session.text("ls", show_hidden=True)
    assert await session.text("ls", path="sub") == "(empty)"
