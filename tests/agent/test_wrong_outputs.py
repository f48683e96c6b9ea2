"""A wrong value of a tool is that call's error: nothing is stored that cannot be read back."""

import logging
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from toolwright import Agent, BlobPart, Output, Runner, TextPart, ToolContext, tool
from toolwright.backends.sql import SqlStore
from toolwright.errors import SettingError, StoreError, UnreadableError, UsageError
from toolwright.messages import (
    Actions,
    ModelMessage,
    ModelReplied,
    Pending,
    PendingOpened,
    PendingRequest,
    ReasoningPart,
    RunEnded,
    ToolEnded,
    ToolMessage,
    ToolResult,
    decode_event,
    encode_event,
)
from toolwright.testing import ScriptedModel, call

TEXTS = [None, 5, 1.5, True, "", "text", "\udcff", b"\xff", bytearray(b"a"), Path("x"), object()]
LISTS = [["a"], ("a",), {"a": 1}, {1: 2}, str, TextPart("a"), [TextPart("a")], (None,)]
JUNK = st.sampled_from([*TEXTS, *LISTS])
make_text: Any = TextPart
make_blob: Any = BlobPart
make_output: Any = Output


def given_fields(*kinds: Any) -> st.SearchStrategy[tuple[Any, dict[str, Any]]]:
    """A class, and for some of its fields values of any kind."""

    def of(kind: Any) -> st.SearchStrategy[tuple[Any, dict[str, Any]]]:
        known = {f.name: JUNK for f in fields(kind)}
        return st.tuples(st.just(kind), st.fixed_dictionaries({}, optional=known))

    return st.sampled_from(kinds).flatmap(of)


def result_event(content: tuple[Any, ...], data: Any = None) -> ToolEnded:
    return ToolEnded(
        result=ToolResult(call_id="c", name="n", status="ok", content=content, data=data)
    )


@given(given_fields(TextPart, BlobPart))
def test_a_part_is_refused_when_it_is_made_or_can_be_read_back(made: tuple[Any, Any]) -> None:
    kind, values = made
    try:
        part = kind(**values)
    except TypeError:  # a `SettingError`, or Python's own for what is missing
        return
    assert decode_event(encode_event(result_event((part,)))).result.content == (part,)


@given(given_fields(Output))
def test_an_output_is_refused_when_it_is_made_or_can_be_read_back(made: tuple[Any, Any]) -> None:
    kind, values = made
    try:
        output = kind(**values)
    except SettingError:
        return
    read = decode_event(encode_event(result_event(output.content)))
    assert read.result.content == output.content


@given(given_fields(PendingRequest))
def test_a_question_is_refused_when_it_is_made_or_can_be_read_back(made: tuple[Any, Any]) -> None:
    kind, values = made
    try:
        asked = kind(**{"kind": "input", **values})
    except SettingError:
        return
    pending = Pending(
        call_id="c", name="n", kind=asked.kind, hint=asked.hint, schema=asked.schema,
        payload=asked.payload, deadline=asked.timeout, blocking=asked.blocking, rule=asked.rule,
    )  # fmt: skip
    read = decode_event(encode_event(PendingOpened(pending=pending))).pending
    assert (read.hint, read.rule, read.kind) == (asked.hint, asked.rule, asked.kind)


@tool
async def neighbour() -> str:
    """Takes a moment."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    return "fine"


def wrong_tools() -> dict[str, Any]:
    def act(name: str, value: Any) -> Any:
        return lambda ctx: setattr(ctx.actions, name, value)

    return {
        "text of None": lambda ctx: make_text(None),
        "text of bytes": lambda ctx: make_text(b"\xff"),
        "source": lambda ctx: make_text("a", source=5),
        "media type": lambda ctx: make_blob(media_type=None, data=b"x"),
        "base64": lambda ctx: make_blob(media_type="image/png", data="not base64!"),
        "address": lambda ctx: make_blob(media_type="image/png", url=5),
        "name": lambda ctx: make_blob(media_type="image/png", data=b"x", name=Path("x.png")),
        "kind": lambda ctx: make_blob(media_type="image/png", data=b"x", kind="image"),
        "output": lambda ctx: make_output(text=5),
        "parts": lambda ctx: make_output(parts=["a"]),
        "lazy parts": lambda ctx: make_output(parts=(each for each in ["a"])),
        "status": lambda ctx: make_output(status="fine"),
        "confirmation": lambda ctx: ctx.request_confirmation(hint=50),
        "error as hint": lambda ctx: ctx.request_confirmation(hint=ValueError("too much")),
        "input": lambda ctx: ctx.request_input(schema="text"),
        "escalate": act("escalate", "yes"),
        "transfer": act("transfer_to_agent", object()),
        "artifacts": act("artifact_delta", {"a": "b"}),
    }


@pytest.mark.anyio
async def test_the_call_is_an_error_its_neighbours_finish_and_the_session_goes_on(
    tmp_path: Path,
) -> None:
    wrong = wrong_tools()

    @tool
    def does(what: str, tool_context: ToolContext) -> Any:
        """Does something wrong."""
        return wrong[what](tool_context)

    calls = [call("does", what=what) for what in wrong]
    address = f"sqlite:///{tmp_path}/s.db"
    agent = Agent(name="a", model=ScriptedModel([*calls, call("neighbour")], "ok"))
    async with Runner(agent.replace(tools=[does, neighbour]), store=address) as runner:
        ended = await runner.run("go", session_id="s")
        assert await runner.pending("s") == []
    [results] = [m.results for m in ended.history if isinstance(m, ToolMessage)]
    assert [r.status for r in results] == ["error"] * len(wrong) + ["ok"]
    assert all(r.text.startswith("SettingError: ") and " takes " in r.text for r in results[:-1])
    async with Runner(Agent(name="a", model=ScriptedModel("again")), store=address) as runner:
        assert (await runner.run("more", session_id="s")).text == "again"


@pytest.mark.anyio
async def test_versions_that_are_no_numbers_are_not_recorded() -> None:
    @tool
    def does(tool_context: ToolContext) -> str:
        """Writes what only the artifact service writes."""
        wrong: Any = tool_context.actions.artifact_delta
        wrong["a"], wrong["b"] = "first", 1
        return "ok"

    async with Runner(Agent(name="a", model=ScriptedModel(call("does"), "ok"), tools=[does])) as r:
        await r.run("go", session_id="s")
        [ended] = [event for event in await r.events("s") if isinstance(event, ToolEnded)]
    assert ended.actions == Actions(artifact_delta={"b": 1})


@pytest.mark.anyio
async def test_a_handler_that_returns_no_output_is_that_calls_error() -> None:
    async def run(args: Any, ctx: Any) -> Any:
        return "text"

    agent = Agent(name="a", model=ScriptedModel([call("neighbour"), call("neighbour")], "ok"))
    result = await agent.replace(tools=[neighbour.replace(run=run)]).run("go")
    assert isinstance(result.history[2], ToolMessage)
    assert "'neighbour' gave 'text'" in result.history[2].results[0].text


def test_a_question_without_a_hint_is_one() -> None:
    @tool
    def asks(tool_context: ToolContext) -> None:
        """Asks."""
        tool_context.request_confirmation(hint=None)

    result = Agent(name="a", model=ScriptedModel(call("asks")), tools=[asks]).run_sync("go")
    assert [pending.hint for pending in result.pending] == [""]


def test_what_is_shown_on_the_way_is_text() -> None:
    @tool
    async def counts(tool_context: ToolContext) -> str:
        """Counts."""
        shown: Any = 5
        tool_context.progress(shown)
        return "ok"

    async def main() -> list[Any]:
        agent = Agent(name="a", model=ScriptedModel(call("counts"), "ok"), tools=[counts])
        return [event async for event in agent.stream("go")]

    assert [e.text for e in anyio.run(main) if e.type == "tool_progress"] == ["5"]


# -- the last defence -------------------------------------------------------------------------


class WrongModel:
    """Says something that no model of ours says."""

    name = "wrong:1"

    async def respond(self, request: Any, on_delta: Any = None) -> ModelMessage:
        wrong: Any = 5
        return ModelMessage(parts=(ReasoningPart(text=wrong), TextPart("hi")), model=self.name)


@pytest.mark.anyio
async def test_an_event_that_cannot_be_read_back_is_not_stored(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/s.db"
    async with Runner(Agent(name="a", model=WrongModel()), store=address) as runner:
        with anyio.fail_after(10), pytest.raises(StoreError, match="cannot be read back"):
            await runner.run("go", session_id="s")
        stored = await runner.events("s")
        assert not any(isinstance(event, ModelReplied | RunEnded) for event in stored)


def test_what_has_another_shape_than_is_written_down_is_still_stored() -> None:
    wrong: Any = [TextPart("a")]
    assert decode_event(encode_event(result_event(wrong))).result.content == (TextPart("a"),)
    with pytest.raises(UsageError, match="ToolEnded cannot be read back"):
        encode_event(result_event(("a",)))


@pytest.mark.anyio
async def test_one_call_that_cannot_be_read_does_not_hide_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(require_confirmation=True)
    def wipe() -> str:
        """Wipe."""
        return "ok"

    agent = Agent(name="a", model=ScriptedModel(call("wipe"), call("wipe")), tools=[wipe])
    store = SqlStore(f"sqlite:///{tmp_path}/s.db")
    async with Runner(agent, store=store) as runner:
        for session in ("bad", "good"):
            await runner.run("go", session_id=session)
        bad = "SELECT key FROM toolwright_sessions WHERE session_id = 'bad'"

        def spoil(connection: Any) -> None:
            connection.execute(
                text(f"UPDATE toolwright_pending SET body = '{{}}' WHERE session_key = ({bad})")
            )

        await store.database.write(spoil)
        with caplog.at_level(logging.WARNING, "toolwright"):
            for _ in range(3):
                found = await store.open_calls(runner.app_name)
        assert [(row.scope.session_id, row.problem[:23]) for row in found] == [
            ("bad", "Unreadable pending call"),
            ("good", ""),
        ]
        assert [pending.session_id for pending in await runner.pending()] == ["good"]
        assert [r.message.count("'bad'") for r in caplog.records] == [1]
        with pytest.raises(UnreadableError, match="Unreadable pending call"):
            await store.open_calls(runner.app_name, "bad")


def test_what_a_tool_raises_can_be_written_to_a_log_file(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def say() -> str:
        """Say it."""
        raise ValueError("no \udcff")

    Agent(name="a", model=ScriptedModel(call("say"), "."), tools=[say]).run_sync("go")
    assert b"no \\udcff" in caplog.text.encode()
