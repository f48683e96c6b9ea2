"""However long an output is, and whatever is written in it, secrets are taken out beside the loop, in time."""

import json
import logging
import threading
import time
import tracemalloc
from typing import Any

import anyio
import pytest

from toolwright import Agent, Output, Runner, ToolContext, ToolError, tool
from toolwright._spellings import Spellings
from toolwright.agent import _presented
from toolwright.messages import Redactor, TextPart, ToolEnded, ToolProgress
from toolwright.testing import ScriptedModel, call

KEY = "sk-live-0123456789abcdefghijklmnopqrstuv"
UNIT = "%41&#65;\\u0041=41''\"\"\n00 41:"
"""Something of everything that secrets may be escaped with."""


def hostile(letters: int) -> str:
    """Escapes of all kinds, and the key in between, so that every reading has it."""
    part = UNIT * 100 + KEY
    return (part * (letters // len(part) + 1))[:letters] + KEY


def results_of(events: Any) -> list[Any]:
    return [event.result for event in events if isinstance(event, ToolEnded)]


def run_of(made: Any) -> Runner:
    @tool
    def show(ctx: ToolContext) -> Any:
        """Show it."""
        ctx.run.redactor.add(KEY)
        return made(ctx)

    return Runner(Agent(name="a", model=ScriptedModel(call("show"), "."), tools=[show]))


def test_the_work_and_the_memory_grow_with_the_length_and_no_more() -> None:
    redactor = Redactor([KEY, f"Bearer {KEY}"])
    short, long = hostile(30_000), hostile(240_000)

    def seconds(text: str) -> float:
        began = time.thread_time()
        assert KEY not in redactor.exact(text)
        return time.thread_time() - began

    assert seconds(long) < 16 * min(seconds(short), seconds(short))
    tracemalloc.start()
    redactor.exact(hostile(60_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize("at", [16_384 - 20, 2 * 16_384 - 3, 40_000])
@pytest.mark.parametrize("spelled", [KEY, "".join(f"%{ord(c):02X}" for c in KEY), json.dumps(KEY.encode().hex(":"))])  # fmt: skip
def test_a_secret_is_found_where_a_long_text_is_read_in_pieces(at: int, spelled: str) -> None:
    text = "x" * at + "\n" + spelled + "\n" + "y" * 40_000
    assert Redactor([KEY]).exact(text).replace('"', "") == (
        "x" * at + "\n[redacted]\n" + "y" * 40_000
    )


def test_the_places_are_those_of_the_whole_text_whatever_its_length() -> None:
    one = f"a {KEY} b %73{KEY[1:]} c \\u0073{KEY[1:]} &#115;{KEY[1:]} "
    spellings = Spellings([KEY.encode()])
    once = spellings.find(one.encode())
    assert len(once) == 4
    many = spellings.find((one * 500).encode())
    assert many == [(start + n * len(one), end + n * len(one)) for n in range(500) for start, end in once]  # fmt: skip


@pytest.mark.parametrize("letters", [0, 5, 10, 15, 52, 60, 100])
def test_a_beginning_and_an_end_have_no_half_of_a_secret(letters: int) -> None:
    redactor, text = Redactor([KEY]), "ü" * 10 + KEY + "é" * 50
    first = redactor.beginning(text, letters)
    assert ("ü" * 10 + "[redacted]" + "é" * 50).startswith(first)
    assert len(first) >= min(letters, 20)
    last = redactor.ending(text, letters) if letters else ""
    assert ("ü" * 10 + "[redacted]" + "é" * 50).endswith(last)
    assert "sk-" not in first
    assert "tuv" not in last


@pytest.mark.anyio
@pytest.mark.parametrize("as_data", [False, True])
async def test_a_long_output_is_searched_beside_the_loop(as_data: bool) -> None:
    text = hostile(300_000)
    async with run_of(lambda ctx: Output(text="x", data=[text]) if as_data else text) as runner:
        began = time.thread_time()
        events = (await runner.run("go", session_id="s")).events
        assert time.thread_time() - began < 0.25
        [result] = results_of(events)
        name = result.data["stored_as"] if as_data else result.text.split("saved as '")[1].split("'")[0]  # fmt: skip
        kept = await runner.output("s", name)
    assert KEY not in str(result)
    assert KEY not in kept
    assert kept.count("[redacted]") == text.count(KEY)


@pytest.mark.anyio
async def test_a_short_output_is_not_sent_to_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*args: Any) -> None:
        raise AssertionError("in a thread")

    monkeypatch.setattr(_presented, "in_stoppable_thread", fail)
    async with run_of(lambda ctx: Output(text=f"x {KEY}", data={"a": [KEY]})) as runner:
        [result] = results_of((await runner.run("go")).events)
    assert result.text == "x [redacted]"
    assert result.data == {"a": ["[redacted]"]}


@pytest.mark.anyio
async def test_what_is_too_long_to_be_searched_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_presented, "_MOST_SEARCHED", 60_000)
    text = "x" * 59_990 + KEY + "y" * 100_000
    async with run_of(lambda ctx: Output(text=text, data=[text])) as runner:
        [result] = results_of((await runner.run("go", session_id="s")).events)
        kept = await runner.output("s", result.text.split("saved as '")[1].split("'")[0])
    note = "[Only the first 60,000 of 160,030 letters were searched for secrets and kept.]"
    assert kept == "x" * 59_990 + f"[redacted]\n{note}"
    assert result.data == {"lost": "it is too long to be searched for secrets"}


@pytest.mark.anyio
async def test_the_parts_of_an_output_are_searched_up_to_one_length_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_presented, "_MOST_SEARCHED", 20_000)
    parts = (TextPart("y" * 15_000),)
    async with run_of(lambda ctx: Output(text="x" * 15_000, parts=parts)) as runner:
        [result] = results_of((await runner.run("go", session_id="s")).events)
    assert "[Only the first 5,000 of 15,000 letters were searched" in result.text


@pytest.mark.anyio
async def test_a_cancelled_call_ends_at_once_and_so_does_its_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = threading.Event(), threading.Event()
    exact = Redactor.beginning

    def noted(self: Redactor, text: str, letters: int, between: Any = None) -> str:
        if between is None:
            return exact(self, text, letters)
        begun.set()
        try:
            while True:
                exact(self, text, letters, between)
        finally:
            ended.set()

    monkeypatch.setattr(Redactor, "beginning", noted)
    async with run_of(lambda ctx: hostile(50_000)) as runner, anyio.create_task_group() as group:
        group.start_soon(runner.run, "go")
        await anyio.to_thread.run_sync(begun.wait, 20)
        with anyio.fail_after(5):
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                assert await anyio.to_thread.run_sync(ended.wait, 5)


@pytest.mark.anyio
async def test_progress_and_errors_are_cut_before_they_are_searched() -> None:
    def go(ctx: ToolContext) -> str:
        ctx.progress(hostile(3_000_000), [hostile(3_000_000)])
        raise ToolError(hostile(3_000_000))

    seen: list[ToolProgress] = []
    began = time.thread_time()
    async with run_of(go) as runner:
        async for event in runner.stream("go"):
            seen += [event] if isinstance(event, ToolProgress) else []
            [*results] = results_of([event])
            assert KEY not in str(results)
    assert time.thread_time() - began < 1
    [progress] = seen
    assert 0 < len(progress.text) <= 32_800
    assert KEY not in progress.text
    assert progress.data == {"lost": "it is too long to be searched for secrets"}


def test_a_long_text_for_the_log_is_cut_while_there_are_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    redactor = Redactor([KEY])
    began = time.thread_time()
    logging.getLogger("some.library").warning(hostile(3_000_000))
    assert time.thread_time() - began < 0.5
    assert redactor
    assert KEY not in caplog.text
    assert caplog.messages[0].endswith(" more letters)")
    assert len(caplog.messages[0]) < 33_000
