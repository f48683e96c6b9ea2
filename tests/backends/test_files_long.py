"""Long texts are worked on in pieces: the answers are the same, and nobody else waits for them."""

import gc
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.backends.files import (
    Edit,
    FilesystemBackend,
    Query,
    Rope,
    StateBackend,
    edited,
    find,
    grep,
)
from toolwright.errors import ToolError
from toolwright.tools import State, StateTable

pytestmark = pytest.mark.anyio
_PIECES = st.lists(st.text("ab\r\n", max_size=3), max_size=8)
_BREAK = re.compile(r"\r\n|\r|\n")


@given(_PIECES, st.text("ab\r\n", min_size=1, max_size=3))
def test_pieces_answer_as_the_whole_text_does(pieces: list[str], wanted: str) -> None:
    rope, text = Rope(pieces), "".join(pieces)
    assert (len(rope), str(rope), rope.encoded("utf-8")) == (len(text), text, text.encode())
    found = [at for at in range(len(text)) if text.startswith(wanted, at)]
    assert list(rope.occurrences(wanted)) == found
    pattern = re.compile(re.escape(wanted))
    assert list(rope.matches(pattern, 3)) == [match.span() for match in pattern.finditer(text)]
    lines = _BREAK.sub("\n", text).removesuffix("\n").split("\n") if text else []
    assert list(rope.lines()) == lines
    assert list(rope.newline_lines()) == (text.removesuffix("\n").split("\n") if text else [])
    assert rope.page(1, 2) == (lines[1:3], len(lines))
    for at in range(len(text) + 1):
        assert rope.slice(at, at + 4) == text[at : at + 4]
        assert rope.newlines_before(at) == text.count("\n", 0, at)
        assert rope.line_start(at) == max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        ends = _BREAK.search(text, at)
        assert rope.next_break(at) == (ends.span() if ends else (len(text), len(text)))


@given(st.binary(max_size=12))
def test_bytes_are_decoded_as_a_whole(data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            Rope.decoded(data, "utf-8")
    else:
        assert str(Rope.decoded(data, "utf-8")) == text


async def _share_of_the_longest_wait(work: Callable[[], Awaitable[object]]) -> float:
    """How much of the time that `work` took the event loop was held up at once, in CPU time."""
    start = time.process_time()
    longest = await _longest_wait(work)
    return longest / (time.process_time() - start)


async def _longest_wait(work: Callable[[], Awaitable[object]]) -> float:
    """How long `work` held up the event loop at once, in CPU time of all threads.

    Without the interpreter's own garbage collection, which looks at all that a process has, for
    tenths of a second, whoever made the object that set it off.
    """
    longest, done = 0.0, anyio.Event()

    async def watch() -> None:
        nonlocal longest
        while not done.is_set():
            before = time.process_time()
            await anyio.lowlevel.checkpoint()
            longest = max(longest, time.process_time() - before)

    gc.disable()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await work()
            done.set()
    finally:
        gc.enable()
    return longest


_LONG = "".join(f"line {n} of a long file — with a dash\n" for n in range(150_000)).encode()


@pytest.mark.parametrize("old", ["nowhere\nto be found", "line", "line 77777 of"])
async def test_an_edit_of_a_long_file_leaves_the_loop_free(old: str) -> None:
    async def work() -> None:
        with suppress(ToolError):
            await edited(_LONG, Edit(old=old, new="x"))

    assert await _share_of_the_longest_wait(work) < 0.5


async def _is_held_up(seconds: float, work: Callable[[], Awaitable[object]]) -> bool:
    """Whether `work` holds up the event loop for that long, whenever it is done.

    On a busy machine the loop's thread may have to wait for a processor while another goes on, so a
    single measurement can be too long. An operation that is too long is so each time.
    """
    for _ in range(5):
        if await _longest_wait(work) < seconds:
            return False
    return True


@pytest.mark.parametrize("kind", ["lines", "latin", "one line"])
async def test_a_missed_edit_in_50_mb_holds_the_loop_up_for_less_than_50_ms(kind: str) -> None:
    line = {"lines": b"some words in a line of text\n", "latin": b"words \xe9 in a line\r\n"}
    data = line.get(kind, b"abcdefghij ")
    data *= 50_000_000 // len(data)

    async def work() -> None:
        with pytest.raises(ToolError):
            await edited(data, Edit(old="some word in a line of txt", new="x"))

    assert not await _is_held_up(0.05, work)


async def test_a_search_without_ripgrep_leaves_the_loop_free(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(_LONG)
    files = FilesystemBackend(tmp_path, ripgrep=False)
    share = await _share_of_the_longest_wait(lambda: grep(files, Query(pattern="77+")))
    assert share < 0.5


async def test_a_search_with_ripgrep_leaves_the_loop_free(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_bytes(_LONG)
    (tmp_path / "one.txt").write_bytes(b"a line of \xc3\xa9 " * 200_000)
    (tmp_path / "latin.txt").write_bytes(b"line \xe9\r\n" * 20_000)
    files = FilesystemBackend(tmp_path)
    assert not await _is_held_up(0.05, lambda: grep(files, Query(pattern="lin.", context=1)))


async def test_a_search_in_memory_leaves_the_loop_free() -> None:
    files = StateBackend(State(StateTable()))
    for number in range(400):
        await files.write(f"/{number % 80}/{number}.txt", b"hay\n" * 50)
    assert await _share_of_the_longest_wait(lambda: find(files, "**/*7.txt")) < 0.5
    assert await _share_of_the_longest_wait(lambda: grep(files, Query(pattern="h.x"))) < 0.5
