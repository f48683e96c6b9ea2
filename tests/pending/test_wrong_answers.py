"""An answer that cannot be used is refused with the reason, and the call still waits."""

import reprlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from toolwright import Agent, Approve, Reject, Runner, UsageError, deferred_tool, tool
from toolwright.builtin import ask_user, ask_user_for, get_user_choice
from toolwright.messages import Given, SignedIn, TextPart, ToolCall
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output

pytestmark = pytest.mark.anyio


class Delivery(BaseModel):
    """Where something goes."""

    street: str


class Handle:
    """Not JSON."""

    def __repr__(self) -> str:
        return "Handle()"


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@tool(require_confirmation=True)
def wipe(disk: str) -> str:
    """Wipe a disk."""
    return "wiped"


@deferred_tool()
def order(item: str) -> None:
    """Order something."""


@tool
def pick() -> Output:
    """Let a person choose, without a schema."""
    return Output.pending(kind="choice", payload={"options": ["tea", 7]})


@tool
def tell() -> Output:
    """Ask for anything at all."""
    return Output.pending(kind="input")


@tool
def sign() -> Output:
    """Ask for a yes, with a form to fill in."""
    schema = {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]}
    return Output.pending(kind="confirmation", schema=schema)


form = ask_user_for(Delivery, name="form", description="Ask where to deliver.")
CALLS: dict[str, Any] = {
    "wipe": call("wipe", disk="sda"),
    "order": call("order", item="lamp"),
    "ask_user": call("ask_user", question="Which city?"),
    "get_user_choice": call("get_user_choice", options=["tea", "5"]),
    "pick": call("pick"),
    "tell": call("tell"),
    "sign": call("sign"),
    "form": call("form"),
}
TOOLS = [wipe, order, ask_user, get_user_choice, pick, tell, sign, form]
SIGNED_IN = SignedIn(key="answer:1")
NOT_TEXT = [None, 5, 1.5, True, ["a"], {"a": 1}, b"Oslo", str, Handle(), ("a", "b"), SIGNED_IN]
WRONG = [
    *[("ask_user", value) for value in (*NOT_TEXT, Approve(), Given(value=5), Output(text="a"))],
    *[("get_user_choice", value) for value in (*NOT_TEXT, Approve(), "wine", "", "TEA", "tea ")],
    *[("pick", value) for value in ("7", "wine", None, True, ["tea"], Approve(), Handle())],
    *[("tell", value) for value in (Handle(), Handle, float("nan"), b"x", deep(201), deep(5000))],
    *[("form", value) for value in ({}, None, "Long Lane", {"street": ["x"]}, [], Handle())],
    *[("order", value) for value in (Approve(), SIGNED_IN, Given(status="pending"))],  # type: ignore[arg-type]
    ("order", Given(content=("text",))),  # type: ignore[arg-type]
    ("order", Output.pending(kind="input")),
    *[("wipe", value) for value in (*NOT_TEXT[:2], "yes", Given(value=True), {"kind": "given"})],
    ("wipe", SIGNED_IN),
    ("wipe", {"kind": "approve", "remember": "no"}),
    ("wipe", {"kind": "approve", "arguments": "sdb"}),
    ("wipe", {"kind": "approve", "arguments": [1]}),
    ("wipe", {"kind": "approve", "arguments": {"disk": deep(5000)}}),
    ("wipe", {"kind": "approve", "payload": Handle()}),
    ("wipe", Approve(arguments={"disk": {1, 2}})),
    ("wipe", Approve(kind="reject")),  # type: ignore[arg-type]
    ("wipe", Reject(reason=5)),  # type: ignore[arg-type]
    ("wipe", {"kind": "reject", "reason": None}),
    ("wipe", Reject(kind="approve")),  # type: ignore[arg-type]
    ("sign", Approve(payload={"by": 5.5, "x": Handle})),
    ("sign", Approve(payload={})),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=reprlib.repr)
async def test_a_wrong_answer_is_refused_and_the_call_waits_on(name: str, value: Any) -> None:
    runner = Runner(Agent(name="a", model=ScriptedModel(CALLS[name], "."), tools=TOOLS))
    paused = await runner.run("go", session_id="s")
    with pytest.raises(UsageError, match=paused.pending[0].call_id) as refused:
        await runner.answer("s", paused.pending[0].call_id, value)
    assert len(str(refused.value)) < 3000
    assert await runner.pending("s") == list(paused.pending)


RIGHT = [
    ("ask_user", "5", "5"),
    ("ask_user", "", ""),
    ("ask_user", "a\0b\ud800", "a\0b\ud800"),
    ("get_user_choice", "5", "5"),
    ("pick", 7, "7"),
    ("pick", "tea", "tea"),
    ("form", Delivery(street="Long Lane"), '{"street":"Long Lane"}'),
    ("form", {"street": "Long Lane"}, '{"street":"Long Lane"}'),
    ("tell", {"kind": "approve"}, '{"kind":"approve"}'),
    ("tell", "x" * 1_000_000, "x" * 1_000),
    ("order", Given(value="came", content=(TextPart("It came."),)), "It came."),
    ("order", Handle, "Handle"),
    ("wipe", Approve(payload=None), "wiped"),
    ("wipe", {"kind": "approve", "arguments": {"disk": "sdb"}}, "wiped"),
    ("wipe", Reject(reason="\ud800"), "\ud800"),
]


@pytest.mark.parametrize(("name", "value", "read"), RIGHT, ids=reprlib.repr)
async def test_a_right_answer_reaches_the_model_from_any_process(
    name: str, value: Any, read: str, tmp_path: Path
) -> None:
    address = f"sqlite:///{tmp_path}/s.db"

    def runner_at(*script: Any) -> Runner:
        return Runner(Agent(name="a", model=ScriptedModel(*script), tools=TOOLS), store=address)

    async with runner_at(CALLS[name]) as one:
        paused = await one.run("go", session_id="s")
    async with runner_at() as two:
        assert await two.answer("s", paused.pending[0].call_id, value) == "accepted"
    async with runner_at(".") as three:
        done = await three.resume("s")
    assert done.status == "done"
    assert read in done.history[-2].results[0].text  # type: ignore[union-attr]


async def test_an_answer_that_comes_before_its_question_is_not_taken_for_it() -> None:
    asks = ToolCall(call_id="c1", name="order", arguments='{"item": "lamp"}')
    runner = Runner(Agent(name="a", model=ScriptedModel(asks, "."), tools=TOOLS))
    listed = runner.store.open_calls

    async def list_and_then_open(app_name: str, session_id: str | None = None) -> Any:
        found = await listed(app_name, session_id)
        if await runner.store.find("app", "s") is None:
            await runner.run("go", session_id="s")
        return found

    runner.store.open_calls = list_and_then_open  # type: ignore[method-assign]
    assert await runner.answer("s", "c1", "too early") == "unknown"
    assert [pending.call_id for pending in await runner.pending("s")] == ["c1"]
    assert await runner.answer("s", "c1", "came") == "accepted"
    assert (await runner.resume("s")).history[-2].results[0].text == "came"  # type: ignore[union-attr]
