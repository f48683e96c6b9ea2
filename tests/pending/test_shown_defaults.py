"""What a call leaves out is shown as it will be used, and is made once."""

import dataclasses
import enum
import itertools
import threading
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, BeforeValidator, Field, SecretStr

from toolwright import (
    Agent,
    Approve,
    FunctionTool,
    Result,
    Rule,
    Runner,
    ToolContext,
    code_mode,
    rules,
)
from toolwright.messages import ToolEnded
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ran: list[Any] = []
counter = itertools.count()


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


async def answered(runner: Runner, result: Result, answer: Any = None) -> Result:
    [pending] = result.pending
    await runner.answer(result.session_id, pending.call_id, answer or Approve())
    return await runner.resume(result.session_id)


# -- defaults of functions -------------------------------------------------------------------------


class Color(enum.Enum):
    RED = "red"


class Box(BaseModel):
    size: int = 3


UNSET, LOCK = object(), threading.Lock()
SHOWN: dict[str, tuple[Any, Any, Any]] = {
    "a yes": (bool, True, True),
    "a number": (int, 7, 7),
    "a number without a type": (Any, 7, 7),
    "a text": (str, "all", "all"),
    "a list": (list[int], [1], [1]),
    "a dict": (dict[str, int], {"a": 1}, {"a": 1}),
    "an enum": (Color, Color.RED, "red"),
    "a day": (date, date(2026, 1, 31), "2026-01-31"),
    "a path": (Path, Path("/srv"), "/srv"),
    "no end": (float, float("inf"), "Infinity"),
    "a model": (Box, Box(), {"size": 3}),
    "of another type": (int, "x", "x"),
}
UNSHOWN: dict[str, tuple[Any, Any]] = {
    "nothing": (str | None, None),
    "a mark of the program's": (Any, UNSET),
    "what cannot be told": (Any, LOCK),
    "a secret": (SecretStr, SecretStr("x")),
    "an object without a type": (Any, Path("/srv")),
}


def paying(kind: Any, default: Any, **settings: Any) -> FunctionTool[Any, Any]:
    def pay(to: str, how: Any = default, more: int = 0) -> str:
        """Pay."""
        ran.append((to, how))
        return "paid"

    pay.__annotations__["how"] = kind
    return FunctionTool(pay, require_confirmation=True, **settings)


def runner_for(tool: Any, *calls: Any, **settings: Any) -> Runner:
    return Runner(Agent(name="a", model=ScriptedModel(*calls, "."), tools=[tool], **settings))


@pytest.mark.parametrize("what", SHOWN)
async def test_the_default_of_a_parameter_is_shown_and_is_what_runs(what: str) -> None:
    kind, default, shown = SHOWN[what]
    runner = runner_for(paying(kind, default), call("pay", to="ann"))
    paused = await runner.run("go")
    assert list(paused.pending[0].arguments.items()) == [("to", "ann"), ("how", shown), ("more", 0)]
    assert (await answered(runner, paused)).status == "done"
    assert ran == [("ann", default)]


@pytest.mark.parametrize("what", UNSHOWN)
async def test_a_default_that_json_has_no_form_for_is_left_to_the_function(what: str) -> None:
    kind, default = UNSHOWN[what]
    runner = runner_for(paying(kind, default), call("pay", to="ann"))
    paused = await runner.run("go")
    assert paused.pending[0].arguments == {"to": "ann", "more": 0}
    await answered(runner, paused, Approve(arguments={"to": "bob", "more": 0}))
    assert ran == [("bob", default)]


@pytest.mark.parametrize("what", [name for name in SHOWN if name != "of another type"])
@pytest.mark.parametrize("sent", ["as shown", "left out"])
async def test_an_edit_keeps_a_default_whether_it_is_sent_or_left_out(what: str, sent: str) -> None:
    kind, default, _ = SHOWN[what]
    runner = runner_for(paying(kind, default), call("pay", to="ann"))
    paused = await runner.run("go")
    shown = paused.pending[0].arguments if sent == "as shown" else {}
    done = await answered(runner, paused, Approve(arguments={**shown, "to": "bob"}))
    assert (done.status, ran) == ("done", [("bob", default)])


async def test_leaving_out_what_the_model_gave_shows_the_default_before_it_runs() -> None:
    runner = runner_for(paying(str, "all"), call("pay", to="ann", how="some"))
    again = await answered(runner, await runner.run("go"), Approve(arguments={"to": "ann"}))
    assert (again.status, again.pending[0].arguments["how"], ran) == ("paused", "all", [])


@pytest.mark.parametrize("when", ["how == True", lambda how: how])
async def test_rules_see_defaults(when: Any) -> None:
    policy = rules(Rule.deny("pay", when=when), otherwise="allow")
    plain = FunctionTool(paying(bool, True).func)
    for given, runs in (({}, 0), ({"how": False}, 1)):
        await runner_for(plain, call("pay", to="ann", **given), policy=policy).run("go")
        assert len(ran) == runs


async def test_an_approval_of_a_default_covers_the_same_value_written_out() -> None:
    calls = [call("pay", to="a"), call("pay", to="a", how=True), call("pay", to="a", how=False)]
    runner = runner_for(paying(bool, True), *calls)
    again = await answered(runner, await runner.run("go"), Approve(remember="arguments"))
    assert (again.pending[0].arguments["how"], ran) == (False, [("a", True)] * 2)


# -- defaults that are made when a call is read ----------------------------------------------------


def fresh() -> str:
    return f"id-{next(counter)}"


class Order(BaseModel):
    to: str
    id: str = Field(default_factory=fresh)
    at: datetime = Field(default_factory=datetime.now)


@dataclasses.dataclass
class Parcel:
    to: str
    id: str = dataclasses.field(default_factory=fresh)


class Mixed(BaseModel):
    """With a field that is another one each time that it is read, and a secret beside."""

    cents: Annotated[int, BeforeValidator(lambda euros: euros * 100)]
    pin: SecretStr
    id: str = Field(default_factory=fresh)


MADE: dict[str, tuple[Any, Any]] = {
    "a model": (Order, {"to": "ann"}),
    "a dataclass": (Parcel, {"to": "ann"}),
    "in a list": (list[Order], [{"to": "ann"}, {"to": "bob", "id": "mine"}]),
    "by name": (dict[str, Parcel], {"x": {"to": "ann"}}),
    "beside a secret": (Mixed, {"cents": 1, "pin": "1234"}),
}


def taking(kind: Any) -> FunctionTool[Any, Any]:
    def take(value: Any, key: Annotated[str, Field(default_factory=fresh)] = "") -> str:
        """Take."""
        ran.append({"value": value, "key": key})
        return "taken"

    take.__annotations__["value"] = kind
    return FunctionTool(take, require_confirmation=True)


def ids(shown: Any) -> list[str]:
    """All ids in it, in order."""
    if isinstance(shown, str):
        return [shown] if shown.startswith("id-") or shown == "mine" else []
    if isinstance(shown, dict | list):
        parts = shown.values() if isinstance(shown, dict) else shown
        return [found for part in parts for found in ids(part)]
    return ids(vars(shown)) if hasattr(shown, "__dict__") else []


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("what", MADE)
async def test_what_is_made_when_a_call_is_read_is_made_once(
    what: str, restarted: bool, tmp_path: Path
) -> None:
    kind, value = MADE[what]
    store: Any = f"sqlite:///{tmp_path}/s.db" if restarted else "memory://"
    script = [call("take", value=value), "."]
    runner = Runner(
        Agent(name="a", model=ScriptedModel(*script), tools=[taking(kind)]), store=store
    )
    paused = await runner.run("go", session_id="s")
    if restarted:
        await runner.close()
        agent = Agent(name="a", model=ScriptedModel("."), tools=[taking(kind)])
        runner = Runner(agent, store=store)
    assert (await answered(runner, paused)).status == "done"
    assert ids(ran) == ids(paused.pending[0].arguments)
    await runner.close()


async def test_an_edit_of_the_rest_keeps_what_was_made() -> None:
    runner = runner_for(taking(Order), call("take", value={"to": "ann"}))
    paused = await runner.run("go")
    shown = paused.pending[0].arguments
    edit = {**shown, "value": {**shown["value"], "to": "bob"}}
    assert (await answered(runner, paused, Approve(arguments=edit))).status == "done"
    assert (ran[0]["value"].to, ids(ran)) == ("bob", ids(shown))


async def test_it_is_made_once_for_a_tools_own_question_and_in_code() -> None:
    def ask(order: Order, tool_context: ToolContext) -> str:
        """Ask."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Sure?")
            return ""
        ran.append(order)
        return "done"

    for tools, made in (
        (FunctionTool(ask), call("ask", order={"to": "ann"})),
        (code_mode([taking(Order)]), call("run_code", code="await take(value={'to': 'ann'})")),
    ):
        ran.clear()
        runner = runner_for(tools, made)
        paused = await runner.run("go")
        shown = paused.pending[0].arguments
        assert (await answered(runner, paused)).status == "done"
        assert ids(ran) == ids(shown) != []


class Account(BaseModel):
    to: str
    password: SecretStr = Field(default_factory=lambda: SecretStr(fresh()))


async def test_a_secret_that_is_made_anew_cannot_be_approved_and_the_model_is_told() -> None:
    given = {"to": "ann", "password": "hunter2"}
    runner = runner_for(
        taking(Account), call("take", value={"to": "ann"}), call("take", value=given)
    )
    paused = await runner.run("go")
    [ended] = [event.result for event in paused.events if isinstance(event, ToolEnded)]
    assert (ended.status, "give all arguments" in ended.text) == ("denied", True)
    assert (await answered(runner, paused)).status == "done"
    assert [made["value"].password.get_secret_value() for made in ran] == ["hunter2"]
