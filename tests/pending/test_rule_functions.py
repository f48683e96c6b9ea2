"""Functions in rules are told apart by what they do and hold: a name alone makes no rule the same."""

import datetime
import enum
import functools
import importlib.util
import operator
import os
import re
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from toolwright import Agent, Rule, Runner, ToolContext, UsageError, reviewed_by, rules, tool
from toolwright.tasks import Orchestrator
from toolwright.tasks._registered import above_child
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Decision, Tool, digest_of_policy


@tool
def pay(cents: int = 0, to: str = "") -> str:
    """Pay."""
    return "paid"


def above(limit: Any) -> Callable[..., Any]:
    return lambda cents: bool(limit) and cents > 10


def nested(limit: int) -> Callable[..., Any]:
    def outer(cents: int) -> bool:
        return (lambda: cents > limit)()

    return outer


def by_default(limit: Any) -> Callable[..., Any]:
    def asks(cents: int, most: Any = limit) -> bool:
        return cents > most

    return asks


def by_keyword(limit: Any) -> Callable[..., Any]:
    def asks(cents: int, *, most: Any = limit) -> bool:
        return cents > most

    return asks


class Limit:
    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def __call__(self, cents: int) -> bool:
        return bool(cents > self.limit)

    def asks(self, cents: int) -> bool:
        return bool(cents > self.limit)


@dataclass(frozen=True, slots=True)
class Fixed:
    limit: Any

    def __call__(self, cents: int) -> bool:
        return bool(cents > self.limit)


class Slotted:
    __slots__ = ("limit",)

    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def __call__(self, cents: int) -> bool:
        return bool(cents > self.limit)


def over(limit: Any, cents: int) -> bool:
    return bool(cents > limit)


def itself(limit: Any) -> Callable[..., Any]:
    def asks(cents: int) -> bool:
        return cents > limit or (cents > 100 and bool(asks(cents - 1)))

    return asks


def wrapped(limit: Any) -> Callable[..., Any]:
    inner = by_default(limit)

    @functools.wraps(inner)
    def asks(**given: Any) -> Any:
        return inner(**given)

    return asks


class Level(enum.Enum):
    LOW = 10
    HIGH = 11


class Flags(enum.Flag):
    ONE = 1
    TWO = 2
    EIGHT = 8


class Cents(int):
    pass


MAKE: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "captured": above,
    "captured deeper": nested,
    "a default": by_default,
    "a keyword's default": by_keyword,
    "an object": Limit,
    "a frozen object": Fixed,
    "an object with slots": Slotted,
    "a method": lambda limit: Limit(limit).asks,
    "a partial": lambda limit: functools.partial(over, limit),
    "a partial's keyword": lambda limit: functools.partial(over, limit=limit),
    "a recursive one": itself,
    "a decorated one": wrapped,
    "a cached one": lambda limit: functools.lru_cache(by_default(limit)),
    "rules inside": lambda limit: above(rules(Rule.deny("pay", when=f"cents > {limit!r}"))),
    "in a list": lambda limit: above([limit]),
    "in a dict": lambda limit: above({"most": (1, {limit})}),
    "an enum": lambda limit: above(Level(limit)),
    "flags": lambda limit: above(Flags(limit)),
    "a number of a class": lambda limit: above(Cents(limit)),
    "a pattern": lambda limit: above(re.compile(f"{limit}")),
    "a number": lambda limit: above(Decimal(limit)),
    "an attribute": lambda limit: with_attribute(limit),
    "an attribute of a partial": lambda limit: part(limit),
    "a built-in method": lambda limit: above(frozenset({limit}).__contains__),
}
"""Functions of one name that hold `limit` in one way or another."""


def with_attribute(limit: Any) -> Callable[..., Any]:
    def asks(cents: int) -> bool:
        return bool(cents > asks.most)  # type: ignore[attr-defined]

    asks.most = limit  # type: ignore[attr-defined]
    return asks


class Part(functools.partial[Any]):
    pass


def part(limit: Any) -> Callable[..., Any]:
    made = Part(over, 1)
    made.most = limit  # type: ignore[attr-defined]
    return made


def of_class(**body: Any) -> type:
    """A class as another version of its module would have it."""
    return type("Versioned", (), {"__module__": __name__, "__call__": Limit.__call__, **body})


def on_a_subclass(limit: Any) -> Any:
    return type("Below", (of_class(limit=limit),), {"__module__": __name__})


class OfClass:
    """Ways for a class to hold a limit of which its objects know nothing."""

    @staticmethod
    def helper(limit: Any) -> Callable[[Any], Any]:
        return lambda self: limit

    @staticmethod
    def all_ways(limit: Any) -> dict[str, type]:
        helper = OfClass.helper(limit)
        return {
            "a constant": of_class(limit=limit),
            "a method": of_class(helper=helper),
            "a property": of_class(limit=property(helper)),
            "a cached property": of_class(limit=functools.cached_property(helper)),
            "a static method": of_class(helper=staticmethod(helper)),
            "a class method": of_class(helper=classmethod(helper)),
            "above it": on_a_subclass(limit),
            "its metaclass": type("Meta", (type,), {"__module__": __name__, "limit": limit})(
                "Versioned", (), {"__module__": __name__}
            ),
            "an enum": enum.Enum("Versioned", {"LOW": 1, "MOST": limit}, module=__name__),
        }


@pytest.mark.parametrize("held", ["object", "class", "method"])
@pytest.mark.parametrize("way", OfClass.all_ways(0))
def test_classes_that_hold_other_values_make_other_rules(way: str, held: str) -> None:
    def digest(limit: int) -> str | None:
        kind = OfClass.all_ways(limit)[way]
        one = kind(1) if way == "an enum" else kind()
        bound = types.MethodType(over, one)
        return digest_of_policy(above({"object": one, "class": kind, "method": bound}[held]))

    assert digest(10) == digest(10) is not None
    assert digest(10) != digest(11)


class Odd(datetime.tzinfo):
    """One whose text says nothing."""

    def __init__(self, hours: int) -> None:
        self.hours = hours

    def utcoffset(self, at: Any) -> datetime.timedelta:
        return datetime.timedelta(hours=self.hours)

    def __repr__(self) -> str:
        return "Odd()"


NEW_YEAR = datetime.datetime(2020, 1, 1)
SAYS_LITTLE: dict[str, Callable[[int], Any]] = {
    "a long number": lambda n: 10**5000 + n,
    "a long range": lambda n: range(10**5000 + n),
    "a long fraction": lambda n: Fraction(10**5000 + n, 7),
    "a time zone": lambda n: NEW_YEAR.replace(tzinfo=Odd(n)),
    "a zone by name": lambda n: NEW_YEAR.replace(tzinfo=ZoneInfo(["UTC", "Etc/GMT+1"][n])),
    "an offset": lambda n: datetime.time(12, tzinfo=datetime.timezone(datetime.timedelta(hours=n))),
}


@pytest.mark.parametrize("what", SAYS_LITTLE)
def test_values_that_say_little_of_themselves_are_told_apart_or_not_known(what: str) -> None:
    one, other = (digest_of_policy(above(SAYS_LITTLE[what](n))) for n in (0, 1))
    assert one is None or one != other
    known = what in ("a long number", "a zone by name", "an offset")
    assert (one is not None, other is not None) == (known, known)


def lambdas() -> list[Callable[..., Any]]:
    """All of them are called the same, and none does what another does."""
    return [
        lambda cents: cents > 10,
        lambda cents: cents > 11,
        lambda cents: cents >= 10,
        lambda cents: cents > 10.0,
        lambda cents: len(cents) > 10,
        lambda cents: min(cents) > 10,
        lambda to: to > 10,
        lambda to, cents: cents > 10,
        lambda *, cents: cents > 10,
        lambda cents: cents.real > 10,
        lambda cents: (lambda: cents > 10)(),
        lambda cents: (lambda: cents > 11)(),
        lambda cents: cents in {10, 11},
        lambda cents: cents in {10, 12},
    ]


def boss(policy: Any, **more: Any) -> Agent:
    return Agent(name="boss", model=ScriptedModel(), tools=[pay], policy=policy, **more)


PLACES: dict[str, Callable[[Any], Agent]] = {
    "a condition": lambda f: boss(rules(Rule.deny("pay", when=f), otherwise="allow")),
    "interrupt_on": lambda f: boss(None, interrupt_on={"pay": f}),
    "a condition below": lambda f: boss(rules(otherwise=rules(Rule.ask("pay", when=f)))),
    "a policy": lambda f: boss(f),
    "otherwise": lambda f: boss(rules(otherwise=f)),
}
"""Where a function stands in rules."""


def child_of(there: Agent, here: Agent) -> int:
    """How many rules hold for a task started by one, where a worker has the other."""
    made = Orchestrator("sqlite:///unused.db")
    made.register(here)
    records = [guard.record for guard in there.guards]
    return len(above_child(["boss"], None, made.agents, (), records).guards)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", MAKE)
def test_functions_that_hold_other_values_make_other_rules(how: str, place: str) -> None:
    one, other = PLACES[place](MAKE[how](10)), PLACES[place](MAKE[how](11))
    with pytest.raises(UsageError, match="is not the same with this worker"):
        child_of(one, other)
    assert child_of(one, PLACES[place](MAKE[how](10))) == 1


def test_functions_of_one_name_with_other_code_make_other_rules() -> None:
    digests = [digest_of_policy(function) for function in lambdas()]
    assert None not in digests
    assert len(set(digests)) == len(digests)
    assert digests == [digest_of_policy(function) for function in lambdas()]


@pytest.mark.parametrize(
    "pair",
    [(1, True), (1, 1.0), ("1", 1), (b"a", "a"), ((1,), [1]), ({1}, frozenset({1})), (None, ())],
    ids=repr,
)
def test_values_of_another_type_are_other_values(pair: tuple[Any, Any]) -> None:
    one, other = (digest_of_policy(above(value)) for value in pair)
    assert None not in (one, other)
    assert one != other


class Elsewhere:
    """A class whose objects say nothing of what they hold."""

    def __reduce__(self) -> str:
        return "elsewhere"


class Modest:
    """A class whose objects leave out what they hold."""

    def __init__(self) -> None:
        self.limit = 10

    def __getstate__(self) -> dict[str, Any]:
        return {}


class Obliging:
    """A class whose objects have whatever they are asked for."""

    def __getattr__(self, name: str) -> str:
        return name

    def __reduce__(self) -> str:
        return "obliging"


def endless() -> Any:
    value: list[Any] = []
    for _ in range(100):
        value = [value]
    return value


class Local:
    """Makes classes of one name that are not the same."""

    @staticmethod
    def make() -> type:
        class Inside:
            pass

        return Inside


UNKNOWABLE: dict[str, Callable[[], Any]] = {
    "a lock": threading.Lock,
    "an open file": lambda: sys.__stderr__,
    "an object that hides": Elsewhere,
    "an object that leaves something out": Modest,
    "an object that has everything": Obliging,
    "a generator": lambda: (number for number in range(3)),
    "a class made in a function": Local.make,
    "an object of such a class": lambda: Local.make()(),
    "too deep": endless,
    "too much": lambda: list(range(20_000)),
    "inside an object": lambda: Limit(threading.Lock()),
    "an item getter": lambda: operator.itemgetter(1),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", UNKNOWABLE)
def test_what_cannot_be_compared_is_the_same_rule_only_where_it_is_the_same_object(
    what: str, place: str
) -> None:
    held = UNKNOWABLE[what]()
    one = PLACES[place](above(held))
    assert child_of(one, one) == 1
    with pytest.raises(UsageError, match=r"cannot be compared.*condition as text.*start the task"):
        child_of(one, PLACES[place](above(held)))


def test_a_rule_that_counts_stays_the_same_rule_in_its_process() -> None:
    seen: list[int] = []

    async def counting(tool: Tool, args: Any, ctx: ToolContext) -> Decision:
        seen.append(1)
        return Decision(verdict="allow")

    agent = boss(counting)
    records = [guard.record for guard in agent.guards]
    seen.append(1)
    made = Orchestrator("sqlite:///unused.db")
    made.register(agent)
    assert len(above_child(["boss"], None, made.agents, (), records).guards) == 1


def test_after_a_fork_a_rule_that_cannot_be_compared_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = boss(above(threading.Lock()))
    [guard] = agent.guards
    record = guard.record
    assert guard.is_of(record)
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert not guard.is_of(record)


def test_a_record_of_an_older_version_is_compared_by_its_digest_alone() -> None:
    [guard] = boss(rules(Rule.deny("pay"))).guards
    older = {key: value for key, value in guard.record.items() if key != "here"}
    assert guard.is_of(older)
    assert not guard.is_of(older | {"digest": None})
    [unclear] = boss(above(threading.Lock())).guards
    assert not unclear.is_of({key: v for key, v in unclear.record.items() if key != "here"})


PLAIN = Rule.ask("pay")
OTHER: dict[str, Any] = {
    "verdict": "deny",
    "tools": ("wipe",),
    "effects": ("write",),
    "when": "cents > 1",
    "reason": "Because.",
    "source": "mcp:*",
    "agent": "clerk",
    "user": "ada",
    "optional": True,
    "from_untrusted": True,
}
"""Another value for each field of a rule."""
NOT_TOLD = {"reason", "optional"}
"""Fields that say nothing about which calls a rule fits; a card shows the reason by itself."""


@pytest.mark.parametrize("field", [field.name for field in fields(Rule)])
def test_no_field_of_a_rule_can_be_another_in_the_same_rule(field: str) -> None:
    other = replace(PLAIN, **{field: OTHER[field]})
    assert digest_of_policy(rules(PLAIN)) == digest_of_policy(rules(Rule.ask("pay")))
    assert digest_of_policy(rules(other)) not in (None, digest_of_policy(rules(PLAIN)))
    assert (str(other) == str(PLAIN)) is (field in NOT_TOLD)


def test_a_child_task_does_not_run_under_the_rule_for_another_user() -> None:
    ada, bob = (rules(Rule.deny(user=user), otherwise="allow") for user in ("ada", "bob"))
    with pytest.raises(UsageError, match="is not the same with this worker"):
        child_of(boss(ada), boss(bob))


@pytest.mark.anyio
async def test_cards_and_explanations_say_for_whom_a_rule_is() -> None:
    mine = rules(Rule.deny("pay", user="bob"), Rule.ask("pay", user="me"), otherwise="allow")
    model = ScriptedModel(call("pay", cents=1), "Done.")
    runner = Runner(Agent(name="clerk", model=model, tools=[pay], policy=mine))
    explained = await runner.explain("pay", {"cents": 1}, user_id="bob")
    [asked] = (await runner.run("Pay.", user_id="me", session_id="s")).pending
    assert "Rule.deny('pay', user='bob')" in str(explained)
    assert "Rule.ask('pay', user='me')" in (asked.rule or "")


def test_reviewers_are_known_by_their_model_and_instructions() -> None:
    model = ScriptedModel(name="scripted:one")
    one = digest_of_policy(reviewed_by(model, "Be strict."))
    assert one == digest_of_policy(reviewed_by(ScriptedModel(name="scripted:one"), "Be strict."))
    others = [
        reviewed_by(ScriptedModel(name="scripted:two"), "Be strict."),
        reviewed_by(model, "Be kind."),
        reviewed_by("scripted:two", "Be strict."),
    ]
    assert one not in [None, *map(digest_of_policy, others)]


MODULE = """
import re

LIMIT = 10
WORDS = {"wipe", "drop", "delete", "truncate"}


def by_words(words=WORDS):
    pattern = re.compile("|".join(sorted(words)))

    async def asks(to, *, most={"a": 1.5}):
        return to in {"ada", "bob", "eve", "mallory"} or bool(pattern.search(to)) or len(to) > LIMIT

    return asks
"""


def test_the_same_function_has_the_same_digest_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "words_of_rules.py"
    path.write_text(MODULE)
    script = (
        "from words_of_rules import by_words\n"
        "from toolwright.tools import digest_of_policy\n"
        "print(digest_of_policy(by_words()))"
    )
    spec = importlib.util.spec_from_file_location("words_of_rules", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    there = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(tmp_path)}, timeout=60,
    )  # fmt: skip
    assert there.stdout.strip() == digest_of_policy(module.by_words())
