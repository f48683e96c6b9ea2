"""What a person is shown, what an approval covers and what runs are the same, field by field."""

import enum
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    RootModel,
    SecretBytes,
    SecretStr,
    field_serializer,
    model_serializer,
    model_validator,
)
from pydantic_core import core_schema

from toolwright import (
    Agent,
    Approve,
    FunctionTool,
    Hooks,
    Result,
    Runner,
    Tool,
    ToolContext,
    UsageError,
    Workflow,
    rules,
)
from toolwright.messages import Redactor, ToolEnded
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Exact, Rule, apply_edit, digest_of_arguments, with_approval

pytestmark = pytest.mark.anyio

ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


class Login(BaseModel):
    user: str
    password: SecretStr


class Order(BaseModel):
    to: str
    cents: int = Field(exclude=True)


class Card(BaseModel):
    number: str

    @field_serializer("number")
    def masked(self, number: str) -> str:
        return f"…{number[-4:]}"


class Terse(BaseModel):
    to: str
    cents: int

    @model_serializer
    def only_to(self) -> dict[str, Any]:
        return {"to": self.to}


@dataclass
class Quiet:
    to: str
    cents: int = field(repr=False)


class Aliased(BaseModel):
    cents: int = Field(validation_alias=AliasChoices("amount", "cents"), repr=False)


class Root(RootModel[SecretStr]):
    pass


class Odd:
    """An object of somebody's, whose text says nothing."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<Odd>"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(cls, core_schema.int_schema())


class Locked(Odd):
    """One that cannot be told from others at all."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.lock = threading.Lock()


def taking(kind: Any, **more: Any) -> Tool:
    """A tool that takes one value of a type, and asks first."""

    def take(value: Any) -> str:
        """Take it."""
        ran.append(value)
        return "taken"

    take.__annotations__["value"] = kind
    return FunctionTool(take, require_confirmation=True, **more)


def runner_for(*tools: Any, script: Any, **settings_: Any) -> Runner:
    return Runner(Agent(name="a", model=ScriptedModel(*script, "."), tools=tools, **settings_))


async def answered(runner: Runner, result: Result, answer: Any = None) -> Result:
    [pending] = result.pending
    await runner.answer(result.session_id, pending.call_id, answer or Approve())
    return await runner.resume(result.session_id)


ALIKE: dict[str, tuple[Any, Any, Any]] = {
    "a secret": (SecretStr, "a", "b"),
    "secret bytes": (SecretBytes, "a", "b"),
    "a secret in a model": (Login, {"user": "u", "password": "a"}, {"user": "u", "password": "b"}),
    "a secret as a root": (Root, "a", "b"),
    "secrets in a list": (list[SecretStr], ["a", "b"], ["b", "a"]),
    "secrets by name": (dict[str, SecretStr], {"x": "a"}, {"x": "b"}),
    "an excluded field": (Order, {"to": "Bob", "cents": 1}, {"to": "Bob", "cents": 2}),
    "a masked field": (Card, {"number": "11114444"}, {"number": "22224444"}),
    "a model that writes itself": (Terse, {"to": "Bob", "cents": 1}, {"to": "Bob", "cents": 2}),
    "a field without a repr": (Quiet, {"to": "Bob", "cents": 1}, {"to": "Bob", "cents": 2}),
    "an alias": (Aliased, {"amount": 1}, {"cents": 2}),
    "one or the other": (date | str, "2026-01-31", "2026-02-31"),
}


@pytest.mark.parametrize("name", ALIKE)
async def test_an_approval_of_some_arguments_never_covers_others_that_look_alike(name: str) -> None:
    kind, one, other = ALIKE[name]
    script = [call("take", value=one), call("take", value=one), call("take", value=other)]
    runner = runner_for(taking(kind), script=script)
    paused = await runner.run("go")
    again = await answered(runner, paused, Approve(remember="arguments"))
    assert (again.status, len(ran)) == ("paused", 2), "the same are covered, the others are not"
    assert (await answered(runner, again)).status == "done"
    assert len(ran) == 3


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (Order, {"to": "Bob", "cents": 1}, {"to": "Bob", "cents": 1}),
        (Card, {"number": "11114444"}, {"number": "11114444"}),
        (Terse, {"to": "Bob", "cents": 1}, {"to": "Bob", "cents": 1}),
        (Quiet, {"to": "Bob", "cents": 1}, {"to": "Bob", "cents": 1}),
        (Aliased, {"cents": 1}, {"amount": 1}),
        (Login, {"user": "u", "password": "hunter2"}, {"user": "u", "password": "**********"}),
        (Annotated[float, Field(allow_inf_nan=True)], float("nan"), "NaN"),
        (set[int], [2, 1, 2], [1, 2]),
        (dict[int, str], {"1": "a"}, {"1": "a"}),
        (bytes, "text", "text"),
        (Iterable[int], [1, "2"], [1, 2]),
    ],
)
async def test_the_question_shows_every_field_and_a_mark_for_what_is_secret(
    kind: Any, value: Any, shown: Any
) -> None:
    runner = runner_for(taking(kind), script=[call("take", value=value)])
    paused = await runner.run("go")
    assert paused.pending[0].arguments == {"value": shown}
    assert "hunter2" not in str(paused.pending)
    assert (await answered(runner, paused)).status == "done"
    assert len(ran) == 1
    if kind == Iterable[int]:
        assert ran == [[1, 2]], "looking at it has not used it up"


async def test_what_cannot_be_shown_is_said_to_be_so_and_is_not_remembered() -> None:
    runner = runner_for(taking(Odd), script=[call("take", value=1), call("take", value=1)])
    paused = await runner.run("go")
    [pending] = paused.pending
    assert pending.hint.endswith("Not shown in full: value.")
    assert pending.arguments == {"value": "<Odd> (not shown in full: a value of type Odd)"}
    with pytest.raises(UsageError, match=r"not shown in full.*cannot be remembered.*still waits"):
        await answered(runner, paused, Approve(remember="arguments"))
    again = await answered(runner, paused)
    assert (again.status, [odd.value for odd in ran]) == ("paused", [1])


async def test_a_question_about_a_change_that_does_not_fit_says_what_is_not_shown() -> None:
    runner = runner_for(taking(Odd), script=[call("take", value=1)])
    paused = await runner.run("go")
    changed = f"{paused.pending[0].arguments['value']} and more"
    again = await answered(runner, paused, Approve(arguments={"value": changed}))
    assert again.pending[0].hint.startswith("The changed arguments do not fit")
    assert again.pending[0].hint.endswith("Not shown in full: value.")


async def test_an_approval_of_what_cannot_be_shown_holds_for_no_other_value() -> None:
    values = iter([1, 99, 99])

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {"value": next(values)}

    runner = runner_for(
        taking(Odd), script=[call("take", value=5)], hooks=Hooks(before_tool=before_tool)
    )
    again = await answered(runner, await runner.run("go"))
    assert (again.status, ran) == ("paused", [])
    await answered(runner, again)
    assert [odd.value for odd in ran] == [99]


async def test_what_cannot_be_told_from_other_values_is_denied_where_a_person_would_be_asked() -> (
    None
):
    result = await runner_for(taking(Locked), script=[call("take", value=1)]).run("go")
    [ended] = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert (ended.status, ran) == ("denied", [])
    assert ended.text.startswith("Denied: nobody could see or approve what is in ['value']: ")


def stepping() -> FunctionTool[Any, Any]:
    def step(steps: dict[str, str], note: str = "") -> str:
        """Take steps in their order."""
        ran.append(list(steps))
        return "taken"

    return FunctionTool(step, require_confirmation=True)


async def test_a_remembered_approval_does_not_cover_keys_in_another_order() -> None:
    steps = {"backup": "1", "wipe": "2"}
    turned = dict(reversed(steps.items()))
    script = [
        call("step", steps=steps),
        call("step", note="", steps=steps),
        call("step", steps=turned),
    ]
    runner = runner_for(stepping(), script=script)
    paused = await runner.run("go")
    again = await answered(runner, paused, Approve(remember="arguments"))
    assert (again.status, ran) == ("paused", [["backup", "wipe"]] * 2)


async def test_keys_that_a_person_puts_in_another_order_stay_there() -> None:
    runner = runner_for(stepping(), script=[call("step", steps={"wipe": "2", "backup": "1"})])
    paused = await runner.run("go")
    edit = {"steps": {"backup": "1", "wipe": "2"}, "note": ""}
    await answered(runner, paused, Approve(arguments=edit))
    assert ran == [["backup", "wipe"]]


class Preset(BaseModel):
    """With a property that nothing but a validator gives a value."""

    to: str

    @cached_property
    def total(self) -> int:
        return 0

    @model_validator(mode="wrap")
    @classmethod
    def set_total(cls, given: Any, handler: Any) -> Any:
        made = handler({"to": given["to"]})
        made.__dict__["total"] = given["cents"]
        return made


class Counted(BaseModel):
    to: str
    cents: int

    @cached_property
    def total(self) -> int:
        return self.cents

    @cached_property
    def broken(self) -> int:
        raise ValueError("no")


class Speed(enum.Enum):
    SLOW = 1

    @classmethod
    def _missing_(cls, value: object) -> Any:
        made = object.__new__(cls)
        made._name_, made._value_ = "SLOW", 1
        made.real = value  # type: ignore[missing-attribute]
        return made


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Hiding:
    """Whose copy would have less than it has."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __reduce__(self) -> Any:
        return Hiding, (0,)


def test_a_property_that_was_set_is_shown_and_one_that_was_looked_at_is_not() -> None:
    one, other = (Preset.model_validate({"to": "ann", "cents": cents}) for cents in (1, 99))
    assert Exact({"a": one}).shown == {"a": {"to": "ann", "total": 1}}
    assert digest_of_arguments({"a": one}) != digest_of_arguments({"a": other})
    seen, unseen = (Counted(to="ann", cents=5) for _ in range(2))
    assert seen.total == 5
    assert Exact({"a": seen}).shown == {"a": {"to": "ann", "cents": 5}}
    assert digest_of_arguments({"a": seen}) == digest_of_arguments({"a": unseen})
    seen.__dict__["broken"] = 99
    assert Exact({"a": seen}).shown == {"a": {"to": "ann", "cents": 5, "broken": 99}}


def test_what_an_enum_makes_of_a_value_is_not_taken_for_a_member() -> None:
    assert Exact({"a": Speed.SLOW}).shown == {"a": 1}
    assert Exact({"a": Rights.READ | Rights.WRITE}).shown == {"a": 3}
    one, other = ({"a": Speed(cents)} for cents in (2, 99))
    assert Exact(one).unseen(Redactor()) == ["a"]
    assert digest_of_arguments(one) != digest_of_arguments(other)
    crafted = object.__new__(Rights)
    crafted._value_, crafted._name_ = 1, "WRITE"
    assert Exact({"a": crafted}).unseen(Redactor()) == ["a"]


def test_what_an_object_keeps_from_pickle_is_covered() -> None:
    one, other, same = ({"a": Hiding(cents)} for cents in (1, 99, 1))
    assert digest_of_arguments(one) != digest_of_arguments(other)
    assert digest_of_arguments(one) == digest_of_arguments(same)


def test_only_what_stands_under_its_name_is_known_by_it() -> None:
    def impostor() -> None: ...

    impostor.__module__, impostor.__qualname__ = __name__, "runner_for"
    named = type("Hiding", (), {"__module__": __name__})
    assert Exact({"a": impostor, "b": named}).unknowable == ["a", "b"]
    assert Exact({"a": runner_for, "b": Hiding, "c": len, "d": [1].copy}).unknowable == []
    one, other = ({"a": [cents].copy} for cents in (1, 99))
    assert digest_of_arguments(one) != digest_of_arguments(other)


@pytest.mark.parametrize("kind", [SecretStr, list[SecretStr], Odd])
async def test_a_stored_digest_of_a_secret_is_of_no_use_without_the_sessions_key(kind: Any) -> None:
    value: Any = {SecretStr: "1234", Odd: 1234}.get(kind, ["1234"])
    runner, other = (
        runner_for(taking(kind), script=[call("take", value=value)]) for _ in ("one", "other")
    )
    paused = await runner.run("go", session_id="s")
    args = taking(kind).parse(json.dumps({"value": value}))
    assert digest_of_arguments(args) not in paused.pending[0].question
    assert (await other.run("go")).pending[0].question != paused.pending[0].question
    assert digest_of_arguments(args, lambda: paused.state["_seal:"]) in paused.pending[0].question
    assert (await answered(runner, paused)).status == "done"


# -- edits ---------------------------------------------------------------------------------------


def login(user: str, password: SecretStr) -> str:
    """Log in."""
    ran.append((user, password.get_secret_value()))
    return "in"


LOGIN = FunctionTool(login, require_confirmation=True)
CALL = call("login", user="ann", password="hunter2")


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_edit_keeps_a_secret_that_was_not_changed(restarted: bool, tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    runner = Runner(Agent(name="a", model=ScriptedModel(CALL, "."), tools=[LOGIN]), store=store)
    paused = await runner.run("go", session_id="s")
    shown = paused.pending[0].arguments
    if restarted:
        runner = Runner(Agent(name="a", model=ScriptedModel("."), tools=[LOGIN]), store=store)
    done = await answered(runner, paused, Approve(arguments={**shown, "user": "bob"}))
    assert (done.status, ran) == ("done", [("bob", "hunter2")])
    told = next(m for m in reversed(done.history) if m.kind == "tool").results[0].text
    assert told.startswith('(A person changed the arguments to {"user": "bob", "password": "*****')
    await runner.close()


async def test_an_edit_may_change_a_secret_and_the_model_is_not_told_it() -> None:
    runner = runner_for(LOGIN, script=[CALL])
    edit = Approve(arguments={"user": "ann", "password": "correct horse"})
    done = await answered(runner, await runner.run("go"), edit)
    assert ran == [("ann", "correct horse")]
    assert "correct horse" not in str(done.history)


async def test_a_second_edit_keeps_what_the_first_one_changed() -> None:
    def pay(
        cents: Annotated[int, BeforeValidator(lambda euros: euros * 100)], pin: SecretStr
    ) -> str:
        """Pay."""
        ran.append((cents, pin.get_secret_value()))
        return "paid"

    tool = FunctionTool(pay, require_confirmation=True)
    runner = runner_for(tool, script=[call("pay", cents=1, pin="first")])
    first = Approve(arguments={"cents": 2, "pin": "second"})
    again = await answered(runner, await runner.run("go"), first)
    assert again.pending[0].arguments == {"cents": 200, "pin": "**********"}
    third = await answered(runner, again, Approve(arguments={"cents": 3, "pin": "**********"}))
    assert (third.pending[0].arguments["cents"], ran) == (300, [])
    await answered(runner, third)
    assert ran == [(300, "second")]


class Account(BaseModel):
    name: str
    pin: SecretStr = Field(min_length=12)


def rotate(accounts: list[Account], note: str = "") -> str:
    """Rotate."""
    ran.append([(a.name, a.pin.get_secret_value()) for a in accounts])
    return "rotated"


ROTATE = FunctionTool(rotate, require_confirmation=True)
PINS = ("123456789012", "abcdefghijkl")
ACCOUNTS = [{"name": "a", "pin": PINS[0]}, {"name": "b", "pin": PINS[1]}]
HIDDEN_PIN = "*" * 10


@pytest.mark.parametrize(
    ("edit", "runs"),
    [
        ([{"name": "a", "pin": HIDDEN_PIN}, {"name": "c", "pin": HIDDEN_PIN}],
         [("a", PINS[0]), ("c", PINS[1])]),
        ([{"name": "a", "pin": HIDDEN_PIN}, {"name": "b", "pin": "zzzzzzzzzzzz"}],
         [("a", PINS[0]), ("b", "zzzzzzzzzzzz")]),
        ([{"name": "b", "pin": HIDDEN_PIN}, {"name": "a", "pin": HIDDEN_PIN}], None),
        ([{"name": "b", "pin": HIDDEN_PIN}], None),
        ([{"name": "a", "pin": HIDDEN_PIN + "!"}, {"name": "b", "pin": HIDDEN_PIN}], None),
    ],
    ids=["one name", "one secret", "swapped", "one removed", "a mark with more"],
)  # fmt: skip
async def test_a_mark_never_stands_for_another_secret_than_it_stood_for(
    edit: Any, runs: Any
) -> None:
    runner = runner_for(ROTATE, script=[call("rotate", accounts=ACCOUNTS)])
    paused = await runner.run("go")
    after = await answered(runner, paused, Approve(arguments={"accounts": edit}))
    if runs is not None:
        assert (after.status, ran) == ("done", [runs])
        return
    assert (after.status, ran) == ("paused", [])
    assert "write that in full" in after.pending[0].hint
    await answered(runner, after)
    assert ran == [[("a", PINS[0]), ("b", PINS[1])]], "as it was called"


async def test_an_edit_keeps_what_was_redacted_because_it_is_a_credential() -> None:
    async def remember(ctx: ToolContext, tool: Tool, args: Args) -> None:
        ctx.run.redactor.add("tok-123456")

    def send(header: str, to: str) -> str:
        """Send."""
        ran.append((header, to))
        return "sent"

    runner = runner_for(
        FunctionTool(send, require_confirmation=True),
        script=[call("send", header="Bearer tok-123456", to="ann")],
        hooks=Hooks(before_tool=remember),
    )
    paused = await runner.run("go")
    shown = paused.pending[0].arguments
    assert shown == {"header": "Bearer [redacted]", "to": "ann"}
    await answered(runner, paused, Approve(arguments={**shown, "to": "bob"}))
    assert ran == [("Bearer tok-123456", "bob")]


async def test_what_a_tool_makes_of_an_edit_is_shown_before_it_runs() -> None:
    cents = Annotated[int, BeforeValidator(lambda euros: int(euros) * 100)]
    runner = runner_for(taking(cents), script=[call("take", value=1)])
    paused = await runner.run("go")
    assert paused.pending[0].arguments == {"value": 100}
    again = await answered(runner, paused, Approve(arguments={"value": 5}))
    assert (again.status, again.pending[0].arguments, ran) == ("paused", {"value": 500}, [])
    await answered(runner, again)
    assert ran == [500]


async def test_a_kept_secret_that_the_tool_would_change_is_not_run() -> None:
    class Doubled(BaseModel):
        to: str
        pin: Annotated[SecretStr, BeforeValidator(lambda pin: pin + pin)]

    runner = runner_for(taking(Doubled), script=[call("take", value={"to": "a", "pin": "1"})])
    paused = await runner.run("go")
    edit = Approve(arguments={"value": {"to": "b", "pin": HIDDEN_PIN}})
    again = await answered(runner, paused, edit)
    assert (again.status, ran) == ("paused", [])
    assert "'arguments.value.pin' was not changed, and would not be as it was" in str(again.pending)


async def test_a_hook_that_changes_one_argument_leaves_secrets_and_hidden_fields_alone() -> None:
    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {**args, "note": "seen"}

    def order(order: Order, key: SecretStr, note: str = "") -> str:
        """Order."""
        ran.append((order.cents, key.get_secret_value(), note))
        return "ordered"

    arguments = {"order": {"to": "Bob", "cents": 7}, "key": "hunter2"}
    agent = Agent(
        name="a",
        model=ScriptedModel(call("order", **arguments), "."),
        tools=[order],
        hooks=Hooks(before_tool=before_tool),
    )
    assert (await agent.run("go")).status == "done"
    assert ran == [(7, "hunter2", "seen")]


async def test_an_edit_is_of_what_a_hook_has_made_of_the_arguments() -> None:
    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {**args, "cents": args["cents"] + 10}

    def pay(cents: int, to: str, pin: SecretStr) -> str:
        """Pay."""
        ran.append((cents, to, pin.get_secret_value()))
        return "paid"

    runner = runner_for(
        FunctionTool(pay, require_confirmation=True),
        script=[call("pay", cents=1, to="ann", pin="1234")],
        hooks=Hooks(before_tool=before_tool),
    )
    paused = await runner.run("go")
    shown = paused.pending[0].arguments
    assert shown["cents"] == 11
    await answered(runner, paused, Approve(arguments={**shown, "to": "bob"}))
    assert ran == [(11, "bob", "1234")], "the cents that were shown, and not eleven and ten"


@pytest.mark.parametrize("then", ["secret", "cents", "nothing"])
async def test_what_a_hook_changes_after_an_edit_is_asked_about(then: str) -> None:
    passes: list[int] = []

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        passes.append(1)
        if len(passes) < 2 or then == "nothing":
            return args
        changed = {"cents": 99} if then == "cents" else {"pin": "hacked"}
        return {**args, **changed}

    def pay(cents: int, pin: SecretStr) -> str:
        """Pay."""
        ran.append((cents, pin.get_secret_value()))
        return "paid"

    runner = runner_for(
        FunctionTool(pay, require_confirmation=True),
        script=[call("pay", cents=1, pin="1234")],
        hooks=Hooks(before_tool=before_tool),
    )
    paused = await runner.run("go")
    edit = Approve(arguments={"cents": 2, "pin": "**********"})
    after = await answered(runner, paused, edit)
    expected = ("done", [(2, "1234")]) if then == "nothing" else ("paused", [])
    assert (after.status, ran) == expected


async def test_a_hook_that_only_looks_leaves_objects_as_they_are() -> None:
    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        assert args["value"].value == 3

    plain = FunctionTool(taking(Odd).func)  # type: ignore[attr-defined]
    agent = Agent(
        name="a",
        model=ScriptedModel(call("take", value=3), "."),
        tools=[plain],
        hooks=Hooks(before_tool=before_tool),
    )
    assert (await agent.run("go")).status == "done"
    assert [odd.value for odd in ran] == [3]


async def test_a_workflow_hands_on_values_that_were_judged_and_shown() -> None:
    class Cheap(Order):
        cents: int = Field(default=0, exclude=True)

    def make(text: str) -> Cheap:
        return Cheap(to="Bob", cents=99)

    def pay(order: Cheap) -> str:
        """Pay."""
        ran.append(order.cents)
        return "paid"

    def flow(paying: Tool) -> Workflow:
        edges = [("start", "make"), ("make", "pay")]
        return Workflow(name="w", nodes={"make": make, "pay": paying}, edges=edges)

    policy = rules(Rule.deny("pay", when="order['cents'] > 10", reason="much"), otherwise="allow")
    result = await flow(with_approval(FunctionTool(pay), policy)).run("go")
    assert (result.reason, ran) == ("Denied: much", [])
    paused = await flow(FunctionTool(pay, require_confirmation=True)).run("go")
    assert paused.pending[0].arguments == {"order": {"to": "Bob", "cents": 99}}
    await flow(FunctionTool(pay)).run("go")
    assert ran == [99]


# -- any values ----------------------------------------------------------------------------------

leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3),
    st.dates(), st.uuids(), st.builds(SecretStr, st.text(max_size=2)),
    st.builds(Odd, st.integers(0, 3)),
    st.builds(Order, to=st.just("x"), cents=st.integers(0, 3)),
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.frozensets(st.integers(0, 3), max_size=3),
    ),
    max_leaves=6,
)


def revealed(value: Any) -> Any:
    """A value that says all it is."""
    if isinstance(value, dict):
        return {key: revealed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [revealed(part) for part in value]
    if isinstance(value, SecretStr):
        return ("secret", value.get_secret_value())
    if isinstance(value, Odd):
        return ("odd", value.value)
    if isinstance(value, Order):
        return ("order", value.to, value.cents)
    return (type(value).__name__, repr(value) if isinstance(value, float) else value)


@settings(max_examples=300, deadline=None)
@given(values, values)
def test_two_values_have_one_digest_only_if_they_are_the_same(one: Any, other: Any) -> None:
    digests = [digest_of_arguments({"value": value}) for value in (one, other)]
    same = revealed(one) == revealed(other)
    # Plus and minus zero are written differently, and are the same number to most functions.
    assert (digests[0] == digests[1]) == same or "0.0" in repr((one, other))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), values, max_size=3))
def test_what_is_shown_is_json_without_secrets(args: dict[str, Any]) -> None:
    shown = Exact(args).shown
    assert shown.keys() == args.keys()
    assert Exact(args).shown == shown


def test_an_edit_of_nothing_gives_the_same_arguments() -> None:
    args = LOGIN.parse('{"user": "ann", "password": "hunter2"}')
    shown = Exact(args).shown
    again = apply_edit("login", LOGIN.parse, shown, shown, args)
    assert digest_of_arguments(again) == digest_of_arguments(args)


class _Cyclic:
    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(
    "make", [_Cyclic, lambda: (n for n in ()), lambda: lambda: 1, threading.Lock]
)
def test_what_is_endless_or_cannot_be_read_is_never_covered(make: Callable[[], Any]) -> None:
    value = make()
    assert digest_of_arguments({"v": value}) != digest_of_arguments({"v": value})
    assert Exact({"v": value}).unknowable == ["v"]
