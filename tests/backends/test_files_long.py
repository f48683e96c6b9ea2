"""Long texts are worked on in pieces: the answers are the same, and nobody else waits for them."""

import gc
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import anyio
import anyio.to_thread
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
T = TypeVar("T")
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
    assert list(rope.lines(2)) == [line[:2] for line in lines]
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


class Steps:
    """The longest single operation of the threads that work for the event loop, in their CPU time.

    The interpreter changes threads between operations (opcodes), never within one that keeps the
    interpreter to itself: so the loop waits for one of them at most, however busy the machine is.
    """

    def __init__(self) -> None:
        self.longest, self.where = 0.0, ""

    def watched(self, func: Callable[..., T]) -> Callable[..., T]:
        """`func`, each of whose operations is timed."""

        def run(*args: Any) -> T:
            began, at = time.thread_time(), "its start"

            def seen(frame: FrameType, event: str, arg: object) -> Any:
                nonlocal began, at
                took = time.thread_time() - began
                if took > self.longest:
                    self.longest, self.where = took, at
                frame.f_trace_opcodes = True
                at = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                began = time.thread_time()
                return seen

            sys.settrace(seen)
            try:
                return func(*args)
            finally:
                sys.settrace(None)

        return run


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Steps]:
    """Watches everything that is handed to a thread, without the interpreter's garbage collection."""
    steps, hand_over = Steps(), anyio.to_thread.run_sync

    async def run_sync(func: Callable[..., T], *args: Any, **settings: Any) -> T:
        return await hand_over(steps.watched(func), *args, **settings)

    monkeypatch.setattr(anyio.to_thread, "run_sync", run_sync)
    gc.disable()
    yield steps
    gc.enable()


async def _time_on_the_loop(work: Callable[[], Awaitable[object]]) -> float:
    """The CPU time that all of `work` takes in the thread of the event loop."""
    began = time.thread_time()
    await work()
    return time.thread_time() - began


def test_an_operation_on_a_long_text_is_seen_to_be_long(steps: Steps) -> None:
    text = "x" * 20_000_000
    steps.watched(lambda: text.replace("x", "yy"))()
    assert steps.longest > 0.01


@pytest.mark.parametrize("kind", ["lines", "latin", "one line"])
async def test_a_missed_edit_in_50_mb_holds_the_loop_up_for_less_than_50_ms(
    kind: str, steps: Steps
) -> None:
    line = {
        "lines": b"some words in a line" * 5000 + b"\n",
        "latin": b"words \xe9 " * 10_000 + b"\r\n",
    }
    data = line.get(kind, b"abcdefghij ")
    data *= 50_000_000 // len(data)

    async def work() -> None:
        with pytest.raises(ToolError):
            await edited(data, Edit(old="some word in a line of txt", new="x"))

    assert await _time_on_the_loop(work) < 0.025
    assert steps.longest < 0.025, steps.where


async def test_a_search_without_ripgrep_leaves_the_loop_free(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(_LONG)
    files = FilesystemBackend(tmp_path, ripgrep=False)
    share = await _share_of_the_longest_wait(lambda: grep(files, Query(pattern="77+")))
    assert share < 0.5


async def test_a_search_with_ripgrep_leaves_the_loop_free(tmp_path: Path, steps: Steps) -> None:
    (tmp_path / "many.txt").write_bytes(b"a line of many words\n" * 200)
    (tmp_path / "one.txt").write_bytes(b"a line of \xc3\xa9 " * 500_000)
    (tmp_path / "latin.txt").write_bytes(b"line \xe9\r\n" * 200)
    files = FilesystemBackend(tmp_path)

    async def work() -> None:
        await grep(files, Query(pattern="lin.", context=1))

    assert await _time_on_the_loop(work) < 0.025
    assert steps.longest < 0.025, steps.where


async def test_a_search_in_memory_leaves_the_loop_free() -> None:
    files = StateBackend(State(StateTable()))
    for number in range(400):
        await files.write(f"/{number % 80}/{number}.txt", b"hay\n" * 50)
    assert await _share_of_the_longest_wait(lambda: find(files, "**/*7.txt")) < 0.5
    assert await _share_of_the_longest_wait(lambda: grep(files, Query(pattern="h.x"))) < 0.5
