"""Whatever state an object has and wherever it sits: it is shown or said not to be, and covered."""

import json
from collections import UserDict
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Annotated, Any, Self

import pydantic.dataclasses
import pytest
from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    PrivateAttr,
    RootModel,
    SecretStr,
    Tag,
    model_validator,
)

from toolwright import Agent, Approve, FunctionTool, Rule, Runner, Tool, rules
from toolwright.messages import Redactor
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Exact, digest_of_arguments

pytestmark = pytest.mark.anyio

ran: list[int] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


# -- kinds of objects, all made from {"to": …, "cents": …} ------------------------------------------


@dataclass
class FieldMadeLater:
    to: str
    cents: InitVar[int]
    total: int = field(init=False)

    def __post_init__(self, cents: int) -> None:
        self.total = cents


@dataclass(slots=True)
class SlotMadeLater:
    to: str
    cents: InitVar[int]
    total: int = field(init=False, repr=False, compare=False)

    def __post_init__(self, cents: int) -> None:
        self.total = cents


@dataclass
class AttributeMadeLater:
    to: str
    cents: InitVar[int]

    def __post_init__(self, cents: int) -> None:
        self.total = cents


class _Slotted:
    __slots__ = ("__total",)

    def keep(self, cents: int) -> None:
        self.__total = cents


@dataclass(slots=True)
class PrivateSlotOfABase(_Slotted):
    to: str
    cents: InitVar[int]

    def __post_init__(self, cents: int) -> None:
        self.keep(cents)


@pydantic.dataclasses.dataclass
class PydanticDataclass:
    to: str
    cents: InitVar[int]
    total: int = field(init=False, default=0)

    def __post_init__(self, cents: int) -> None:
        self.total = cents


class _Wrapped(BaseModel):
    to: str

    @model_validator(mode="wrap")
    @classmethod
    def keep(cls, given: Any, handler: Any) -> Self:
        made = handler({"to": given["to"]})
        made.hide(given["cents"])
        return made

    def hide(self, cents: int) -> None:
        raise NotImplementedError


class Private(_Wrapped):
    _cents: int = PrivateAttr(0)

    def hide(self, cents: int) -> None:
        self._cents = cents


class PastTheModel(_Wrapped):
    def hide(self, cents: int) -> None:
        object.__setattr__(self, "cents", cents)


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    to: str


class OneNameForTwo(BaseModel):
    a: int = Field(validation_alias=AliasPath("cents"))
    x: str = Field(validation_alias="a")

    @model_validator(mode="before")
    @classmethod
    def move(cls, given: Any) -> Any:
        return {"cents": given["cents"], "a": given["to"]}


class PrivateBesideARoot(RootModel[str]):
    _cents: int = PrivateAttr(0)

    @model_validator(mode="wrap")
    @classmethod
    def keep(cls, given: Any, handler: Any) -> Self:
        made = handler(given["to"])
        made._cents = given["cents"]
        return made


def made_by(make: Any) -> Any:
    return Annotated[Any, PlainValidator(lambda given: make(given["to"], given["cents"]))]


class Text(str):
    cents: int


class Number(int):
    cents: int


class Listed(list[str]):
    cents: int


class Named(dict[str, str]):
    cents: int


class Mapped(UserDict[str, str]):
    cents: int


class Guarded(SecretStr):
    cents: int


def _with_cents(kind: Any) -> Any:
    def make(to: str, cents: int) -> Any:
        made = kind(to)
        made.cents = cents
        return made

    return make


class Pay(BaseModel):
    to: str


class Refund(BaseModel):
    to: str


BY_SIZE = Annotated[
    Annotated[Pay, Tag("1")] | Annotated[Refund, Tag("2")],
    Discriminator(lambda given: str(given["cents"])),
]

KINDS: dict[str, Any] = {
    "a dataclass's field that it makes itself": FieldMadeLater,
    "a slot that it makes itself": SlotMadeLater,
    "an attribute that is no field": AttributeMadeLater,
    "a private slot of a base": PrivateSlotOfABase,
    "a pydantic dataclass": PydanticDataclass,
    "a private attribute": Private,
    "an attribute set past the model": PastTheModel,
    "what a model takes beside its fields": Extra,
    "two fields of one name": OneNameForTwo,
    "a private attribute beside a root": PrivateBesideARoot,
    "an attribute of a text": made_by(_with_cents(Text)),
    "an attribute of a number": made_by(lambda to, cents: _with_cents(Number)(len(to), cents)),
    "an attribute of a list": made_by(lambda to, cents: _with_cents(Listed)([to], cents)),
    "an attribute of a dict": made_by(lambda to, cents: _with_cents(Named)({"to": to}, cents)),
    "an attribute of a mapping": made_by(lambda to, cents: _with_cents(Mapped)({"to": to}, cents)),
    "an attribute of a secret": made_by(_with_cents(Guarded)),
}


class Around(BaseModel):
    inner: Any


def _around(kind: Any) -> Any:
    return type("AroundIt", (Around,), {"__annotations__": {"inner": kind}})


PLACES: dict[str, tuple[Any, Any]] = {
    "by itself": (lambda kind: kind, lambda given: given),
    "in a list": (lambda kind: list[kind], lambda given: [given]),
    "by name": (lambda kind: dict[str, kind], lambda given: {"n": given}),
    "in a model": (_around, lambda given: {"inner": given}),
}


def taking(kind: Any) -> Tool:
    def take(value: Any) -> str:
        """Take it."""
        ran.append(value)
        return "taken"

    take.__annotations__["value"] = kind
    return FunctionTool(take, require_confirmation=True)


def read(tool: Tool, given: Any) -> Exact:
    return Exact(tool.parse(json.dumps({"value": given})))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [*KINDS, "a type that the call chooses"])
def test_state_is_covered_by_a_digest_and_is_shown_or_said_not_to_be(kind: str, place: str) -> None:
    type_at, given_at = PLACES[place]
    tool = taking(type_at(KINDS.get(kind, BY_SIZE)))
    one, same, other = (
        digest_of_arguments(tool.parse(json.dumps({"value": given_at({"to": "Bob", "cents": n})})))
        for n in (1, 1, 2)
    )
    assert one == same
    assert one != other
    if kind in KINDS:
        card = read(tool, given_at({"to": "Bob", "cents": 777}))
        assert "777" in json.dumps(card.shown) or card.unseen(Redactor())
    assert not read(tool, given_at({"to": "Bob", "cents": 1})).unknowable


@pytest.mark.parametrize("kind", [FieldMadeLater, Private, OneNameForTwo])
async def test_an_approval_of_one_cent_does_not_cover_all_the_money(kind: Any) -> None:
    calls = [call("take", value={"to": "Bob", "cents": cents}) for cents in (1, 99_999_900)]
    runner = Runner(Agent(name="a", model=ScriptedModel(*calls, "."), tools=[taking(kind)]))
    paused = await runner.run("go", session_id="s")
    remember: Any = False if kind is OneNameForTwo else "arguments"
    await runner.answer("s", paused.pending[0].call_id, Approve(remember=remember))
    assert ((await runner.resume("s")).status, len(ran)) == ("paused", 1)


async def test_a_rule_sees_what_an_object_makes_itself() -> None:
    policy = rules(Rule.deny("take", when="value['total'] > 10"), otherwise="allow")
    runner = Runner(
        Agent(
            name="a",
            model=ScriptedModel(call("take", value={"to": "Bob", "cents": 11}), "."),
            tools=[FunctionTool(taking(FieldMadeLater).func)],  # type: ignore[attr-defined]
            policy=policy,
        )
    )
    assert ((await runner.run("go")).status, ran) == ("done", [])


class Greeting(BaseModel):
    """One that makes its private part from its fields."""

    to: str
    note: str = ""
    _text: str = PrivateAttr("")

    def model_post_init(self, context: Any, /) -> None:
        self._text = f"Hello {self.to}"


@pytest.mark.parametrize(
    ("edit", "status", "told"),
    [
        ({"note": "soon"}, "done", ["Hello Ann"]),
        ({"to": "Bob"}, "paused", []),
        ({"_text": "Go away"}, "paused", []),
    ],
    ids=["beside it", "what it is made from", "itself"],
)
async def test_an_edit_keeps_what_an_object_makes_itself_or_asks_again(
    edit: dict[str, str], status: str, told: list[str]
) -> None:
    runner = Runner(
        Agent(
            name="a",
            model=ScriptedModel(call("take", value={"to": "Ann"}), "."),
            tools=[taking(Greeting)],
        )
    )
    paused = await runner.run("go", session_id="s")
    shown = paused.pending[0].arguments["value"]
    assert shown == {"to": "Ann", "note": "", "_text": "Hello Ann"}
    edited = Approve(arguments={"value": {**shown, **edit}})
    await runner.answer("s", paused.pending[0].call_id, edited)
    after = await runner.resume("s")
    assert (after.status, [made._text for made in ran]) == (status, told)  # type: ignore[attr-defined]


class Looked(BaseModel):
    to: str

    @cached_property
    def shouted(self) -> str:
        return self.to.upper()


async def test_what_is_worked_out_when_somebody_looks_does_not_change_the_digest() -> None:
    seen = taking(Looked).parse('{"value": {"to": "Bob"}}')
    before = digest_of_arguments(seen)
    assert seen["value"].shouted == "BOB"
    assert digest_of_arguments(seen) == before


def test_no_kind_of_object_is_listed_that_is_not_one() -> None:
    """The matrix would prove nothing of a kind whose cents are lost on the way."""
    for name, kind in KINDS.items():
        made = taking(kind).parse('{"value": {"to": "Bob", "cents": 777}}')["value"]
        parts = [getattr(made, at, None) for at in ("cents", "total", "_cents", "a")]
        assert 777 in [*parts, getattr(made, "_Slotted__total", None)], name
