"""What a call leaves out is shown as it will be used, and is made once."""

import dataclasses
import enum
import itertools
import threading
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PrivateAttr, SecretStr

from toolwright import (
    Agent,
    Approve,
    FunctionTool,
    Hooks,
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


def told(result: Result) -> str:
    """What the model reads of the one call that was denied."""
    [ended] = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert ended.status == "denied"
    return ended.text


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
IN_PART = "(not shown in full: a value of type object)"


class Login(BaseModel):
    to: str = "eve"
    cents: int = 99_999_900
    key: SecretStr = SecretStr("k")


MARKED: dict[str, tuple[Any, Any, Any]] = {
    "a secret": (SecretStr, SecretStr("x"), "**********"),
    "with a secret": (Login, Login(), {"to": "eve", "cents": 99_999_900, "key": "**********"}),
    "with a secret, without a type": (list, [Login(key=SecretStr("k")), 5],
        [{"to": "eve", "cents": 99_999_900, "key": "**********"}, 5]),
    "an object without a type": (Any, Path("/srv"), "/srv"),
    "a mark of the program's": (Any, UNSET, IN_PART),
}  # fmt: skip


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


@pytest.mark.parametrize("edited", ["no", "as shown", "left out"])
@pytest.mark.parametrize("what", MARKED)
async def test_a_default_that_json_cannot_say_is_shown_with_marks_and_stays_the_same_object(
    what: str, edited: str
) -> None:
    kind, default, shown = MARKED[what]
    runner = runner_for(paying(kind, default), call("pay", to="ann"))
    paused = await runner.run("go")
    seen = paused.pending[0].arguments["how"]
    assert seen == shown or (shown is IN_PART and seen.endswith(IN_PART))
    same = {"how": seen} if edited == "as shown" else {}
    edit = None if edited == "no" else {"to": "bob", "more": 0, **same}
    done = await answered(runner, paused, Approve(arguments=edit))
    assert (done.status, len(ran)) == ("done", 1)
    assert ran[0][1] is default


async def test_a_default_with_a_secret_is_covered_whole() -> None:
    login = Login()
    runner = runner_for(paying(Login, login), call("pay", to="ann"), call("pay", to="ann"))
    paused = await runner.run("go")
    login.key = SecretStr("another")
    again = await answered(runner, paused, Approve(remember="arguments"))
    assert (again.status, ran) == ("paused", [])
    done = await answered(runner, again, Approve(remember="arguments"))
    assert (done.status, len(ran)) == ("done", 2)


async def test_a_default_that_has_changed_since_it_was_shown_is_as_it_was_shown() -> None:
    options = {"cents": 1}
    runner = runner_for(paying(dict[str, int], options), call("pay", to="ann"))
    paused = await runner.run("go")
    options["cents"] = 99_999_900
    assert (await answered(runner, paused)).status == "done"
    assert ran == [("ann", {"cents": 1})]


async def test_a_secret_among_defaults_without_a_type_is_never_shown() -> None:
    login = Login()
    runner = runner_for(paying(list, [login]), call("pay", to="ann"))
    paused = await runner.run("go")
    login.cents = 5
    again = await answered(runner, paused)
    assert again.pending[0].arguments["how"] == [{"to": "eve", "cents": 5, "key": "**********"}]


async def test_none_says_that_nothing_was_given_and_is_not_shown() -> None:
    runner = runner_for(paying(str | None, None), call("pay", to="ann"))
    paused = await runner.run("go")
    assert paused.pending[0].arguments == {"to": "ann", "more": 0}
    await answered(runner, paused, Approve(arguments={"to": "bob", "more": 0}))
    assert ran == [("bob", None)]


async def test_a_default_that_cannot_be_told_from_others_is_refused_and_can_be_hidden() -> None:
    done = await runner_for(paying(Any, LOCK), call("pay", to="ann")).run("go")
    assert "what is in ['how']" in told(done)
    assert "hidden=" in told(done)
    runner = runner_for(paying(Any, LOCK, hidden=["how"]), call("pay", to="ann"))
    assert (await answered(runner, await runner.run("go"))).status == "done"
    assert ran == [("ann", LOCK)]


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
    assert "'value.password' would be different again" in told(paused)
    assert "Where the call takes such a value, give it" in told(paused)
    assert (await answered(runner, paused)).status == "done"
    assert [made["value"].password.get_secret_value() for made in ran] == ["hunter2"]


# -- what moves ------------------------------------------------------------------------------------


@dataclasses.dataclass
class Clock:
    """A clock that a test moves: two readings in a row are the same."""

    now: int = 0

    def read(self) -> str:
        return f"id-at-{self.now}"


clock = Clock()


class Timed(BaseModel):
    to: str
    at: str = Field(default_factory=clock.read)


class TimedLogin(BaseModel):
    """Left out as a whole, with a time and a secret in it."""

    at: str = Field(default_factory=clock.read)
    key: SecretStr = SecretStr("k")


class Priced(BaseModel):
    to: str
    cents: int = 5


def timed(value: Timed, login: TimedLogin = Field(default_factory=TimedLogin)) -> str:  # noqa: B008
    """Take."""
    ran.append({"value": value, "login": login})
    return "taken"


def with_hooks(tool: Any, before: Any, *calls: Any) -> Runner:
    return runner_for(tool, *calls, hooks=Hooks(before_tool=before))


def look(ctx: ToolContext, tool: Any, args: Any) -> None:
    """A hook that changes nothing."""


@pytest.mark.parametrize("hook", [None, look])
async def test_a_default_made_of_the_time_is_what_was_shown_however_late_the_answer(
    hook: Any,
) -> None:
    tool = FunctionTool(timed, require_confirmation=True)
    runner = with_hooks(tool, hook, call("timed", value={"to": "ann"}))
    paused = await runner.run("go")
    clock.now += 1
    assert (await answered(runner, paused)).status == "done"
    assert ids([ran[0]["value"], ran[0]["login"]]) == ids(paused.pending[0].arguments)
    assert ran[0]["login"].key.get_secret_value() == "k"


async def test_what_has_not_moved_is_not_read_again_beside_what_has() -> None:
    doubled = Annotated[int, AfterValidator(lambda cents: cents * 2)]

    def pay(cents: doubled = 5, at: Annotated[str, Field(default_factory=clock.read)] = "") -> str:  # type: ignore[invalid-annotation]
        """Pay."""
        ran.append((cents, at))
        return "paid"

    runner = runner_for(FunctionTool(pay, require_confirmation=True), call("pay"))
    paused = await runner.run("go")
    clock.now += 1
    assert (await answered(runner, paused)).status == "done"
    assert ran == [(5, paused.pending[0].arguments["at"])]


async def test_hooks_see_what_was_read_and_not_what_they_made_of_it() -> None:
    def one_less(ctx: ToolContext, tool: Any, args: Any) -> Any:
        return {**args, "cents": args["cents"] - 1}

    def pay(cents: int = 5, at: Annotated[str, Field(default_factory=clock.read)] = "") -> str:
        """Pay."""
        ran.append((cents, at))
        return "paid"

    runner = with_hooks(FunctionTool(pay, require_confirmation=True), one_less, call("pay"))
    paused = await runner.run("go")
    shown = paused.pending[0].arguments
    clock.now += 1
    assert (await answered(runner, paused)).status == "done"
    assert (ran, shown["cents"]) == ([(4, shown["at"])], 4)


class Private(BaseModel):
    to: str
    _id: str = PrivateAttr(default_factory=fresh)


@dataclasses.dataclass
class Uninitialised:
    to: str
    id: str = dataclasses.field(init=False, default_factory=fresh)


class Appending(BaseModel):
    to: Annotated[str, AfterValidator(lambda to: to + fresh())]


@pytest.mark.parametrize("hook", [None, look])
@pytest.mark.parametrize(
    ("kind", "place"),
    [(Private, "value._id"), (Uninitialised, "value.id"), (Appending, "value.to")],
)
async def test_what_no_call_can_give_is_refused_with_its_place_and_what_to_do(
    kind: Any, place: str, hook: Any
) -> None:
    done = await with_hooks(taking(kind), hook, call("take", value={"to": "ann"})).run("go")
    assert f"since '{place}' would be different again by then" in told(done)
    assert "it is for the tool's author" in told(done)


async def test_nobody_is_asked_for_ever_about_what_a_hook_makes_anew() -> None:
    def stamp(ctx: ToolContext, tool: Any, args: Any) -> Any:
        return {**args, "how": fresh()}

    runner = with_hooks(paying(str, ""), stamp, call("pay", to="ann"))
    result = await runner.run("go")
    for _ in range(2):
        result = await answered(runner, result)
    assert (result.status, ran) == ("done", [])
    assert "approved twice, and 'how' was different again each time" in told(result)


async def test_a_hook_that_wants_something_else_meanwhile_is_asked_about_once_more() -> None:
    wants = iter(["a", "b", "b"])

    def change(ctx: ToolContext, tool: Any, args: Any) -> Any:
        return {**args, "how": next(wants)}

    runner = with_hooks(paying(str, ""), change, call("pay", to="ann"))
    again = await answered(runner, await runner.run("go"))
    assert again.pending[0].arguments["how"] == "b"
    await answered(runner, again)
    assert ran == [("ann", "b")]


async def test_a_secret_made_of_the_time_is_asked_about_twice_and_then_refused() -> None:
    class Sealed(BaseModel):
        key: SecretStr = Field(default_factory=lambda: SecretStr(clock.read()))

    runner = runner_for(taking(Sealed), call("take", value={}))
    result = await runner.run("go")
    for _ in range(2):
        clock.now += 1
        result = await answered(runner, result)
    assert "something that is not shown was different again" in told(result)
    assert ran == []


@pytest.mark.parametrize("kind", [Order, Parcel])
async def test_an_edit_that_leaves_out_what_is_made_is_shown_once_more_and_then_runs(
    kind: Any,
) -> None:
    runner = runner_for(taking(kind), call("take", value={"to": "ann"}))
    again = await answered(
        runner, await runner.run("go"), Approve(arguments={"value": {"to": "b"}})
    )
    shown = again.pending[0].arguments
    assert (await answered(runner, again)).status == "done"
    assert (ran[0]["value"].to, ids(ran)) == ("b", ids(shown))


async def test_what_an_edit_leaves_alone_is_not_read_again() -> None:
    def pay(order: Mixed, note: str) -> str:
        """Pay."""
        ran.append((order.cents, note))
        return "paid"

    order = {"cents": 1, "pin": "1234"}
    runner = runner_for(
        FunctionTool(pay, require_confirmation=True), call("pay", order=order, note="a")
    )
    paused = await runner.run("go")
    edit = {**paused.pending[0].arguments, "note": "b"}
    assert (await answered(runner, paused, Approve(arguments=edit))).status == "done"
    assert ran == [(100, "b")]


@dataclasses.dataclass(eq=False)
class Holder:
    """What can be copied, and not be compared with its copy."""

    make: Any


async def test_what_a_hook_leaves_alone_is_not_read_again() -> None:
    def shout(ctx: ToolContext, tool: Any, args: Any) -> Any:
        return {**args, "to": args["to"].upper()}

    for kind, default in ((Any, UNSET), (Any, LOCK), (Any, Holder(lambda: 1)), (Login, Login())):
        ran.clear()
        plain = FunctionTool(paying(kind, default).func)
        await with_hooks(plain, shout, call("pay", to="ann")).run("go")
        assert ran == [("ANN", default)]
        assert ran[0][1] is default


async def test_a_hook_cannot_make_a_secret_visible_by_accident() -> None:
    def more(ctx: ToolContext, tool: Any, args: Any) -> Any:
        return {**args, "how": [*args["how"], 6]}

    runner = with_hooks(paying(list, [Login()]), more, call("pay", to="ann"))
    result = await runner.run("go")
    [ended] = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert "whose type does not say what in it is secret" in ended.text
    assert ran == []
