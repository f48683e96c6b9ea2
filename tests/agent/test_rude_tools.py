"""A tool that ends or cancels things it does not own is told to the model like any other error."""

import asyncio
import sys
from typing import Any

import anyio
import pytest

from toolwright import Agent, Runner, ToolError, tool
from toolwright.messages import RunEnded
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool
async def leaves() -> str:
    """Ends the program."""
    sys.exit(3)


@tool
def leaves_in_a_thread() -> str:
    """Ends the program, from a thread."""
    sys.exit(4)


@tool
async def waits_for_a_cancelled_task() -> str:
    """Awaits something that somebody else has cancelled."""
    task = asyncio.ensure_future(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    return str(await task)


@tool
async def fine() -> str:
    """A sibling."""
    await anyio.lowlevel.checkpoint()
    return "fine"


@pytest.mark.parametrize("rude", [leaves, leaves_in_a_thread, waits_for_a_cancelled_task])
@pytest.mark.parametrize("siblings", [0, 2])
async def test_the_run_goes_on_and_siblings_finish(rude: Any, siblings: int) -> None:
    model = ScriptedModel([call(rude.name), *[call("fine")] * siblings], "Sorry.")
    result = await Agent(name="a", model=model, tools=[rude, fine]).run("go")
    assert (result.status, result.text) == ("done", "Sorry.")
    first, *others = result.history[2].results  # type: ignore[union-attr]
    assert first.status == "error"
    assert ("SystemExit" in first.text) or ("CancelledError" in first.text)
    assert [other.text for other in others] == ["fine"] * siblings


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class SpeechlessToolError(ToolError):
    __str__ = SpeechlessError.__str__


@pytest.mark.parametrize("kind", [SpeechlessError, SpeechlessToolError])
async def test_an_exception_that_cannot_say_what_it_is_does_not_end_the_run(
    kind: type[Exception],
) -> None:
    @tool
    def fails() -> str:
        """Fails without a word."""
        raise kind

    model = ScriptedModel(call("fails"), "Sorry.")
    result = await Agent(name="a", model=model, tools=[fails]).run("go")
    assert (result.status, result.text) == ("done", "Sorry.")
    [told] = result.history[2].results  # type: ignore[union-attr]
    assert told.status == "error"
    assert "its message cannot be read: RuntimeError" in told.text


async def test_a_model_that_fails_without_a_word_is_the_reason_of_the_end() -> None:
    def fail(request: ModelRequest) -> str:
        raise SpeechlessError

    runner = Runner(Agent(name="a", model=ScriptedModel(fail)))
    with pytest.raises(SpeechlessError):
        await runner.run("go", session_id="s")
    ended = (await runner.events("s"))[-1]
    assert isinstance(ended, RunEnded)
    assert ended.reason == "SpeechlessError: (its message cannot be read: RuntimeError)"


async def test_a_run_that_is_really_cancelled_ends() -> None:
    started = anyio.Event()

    @tool
    async def hang() -> str:
        """Never ends."""
        started.set()
        await anyio.sleep_forever()
        return ""

    task = asyncio.ensure_future(
        Agent(name="a", model=ScriptedModel(call("hang"), "."), tools=[hang]).run("go")
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
