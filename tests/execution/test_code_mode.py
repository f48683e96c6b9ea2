"""Code mode: one tool, which runs Python that calls the others."""

from pathlib import Path
from typing import Any, Literal

import pytest
from inline_snapshot import snapshot
from typing_extensions import TypedDict

from toolwright import Agent, Approve, FunctionTool, Reject, Runner, code_mode
from toolwright.agent import Limits as RunLimits
from toolwright.agent import Result
from toolwright.backends import Limits, open_sandbox
from toolwright.errors import UsageError
from toolwright.messages import ToolEnded, ToolResult, ToolSpec
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output, Rule, Tool, rules, schema_parser

pytestmark = pytest.mark.anyio


class City(TypedDict):
    name: str
    people: int


class World:
    """Tools that remember what they were called with."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    async def list_cities(self, country: Literal["fr", "de"], limit: int = 3) -> list[City]:
        """List the largest cities.

        Args:
            country: Where.
            limit: How many.
        """
        self.calls.append((country, limit))
        return [{"name": f"{country}{n}", "people": 1000 * n} for n in range(1, limit + 1)]

    async def population(self, name: str) -> int:
        """How many people live there."""
        self.calls.append(name)
        if name == "nowhere":
            raise ValueError("no such city")
        return len(name)

    async def rename(self, name: str, to: str) -> str:
        """Give a city another name."""
        self.calls.append(("rename", name, to))
        return f"{name} is now {to}"

    def tools(self) -> list[Any]:
        rename = FunctionTool(self.rename, require_confirmation=True)
        return [self.list_cities, self.population, rename]


async def run(world: World, code: str, **settings: Any) -> ToolResult:
    result = await agent(world, code, **settings).run("go")
    return answers(result)[0]


def agent(
    world: World, code: str, *, run_limits: RunLimits | None = None, **settings: Any
) -> Agent:
    model = ScriptedModel(call("run_code", code=code), "Done.")
    tools = [code_mode(world.tools(), **settings)]
    return Agent(name="coder", model=model, tools=tools, limits=run_limits)


def answers(result: Result) -> list[ToolResult]:
    return [r for m in result.history if m.kind == "tool" for r in m.results]


async def test_code_calls_tools_and_only_its_result_comes_back() -> None:
    world = World()
    answer = await run(
        world,
        "import asyncio\n"
        "cities = await list_cities('de', limit=2)\n"
        "sizes = await asyncio.gather(*[population(c['name']) for c in cities])\n"
        "print('checked', len(sizes))\n"
        "{'largest': max(cities, key=lambda c: c['people'])['name'], 'sizes': sizes}",
    )
    assert answer.text == 'checked 2\n{"largest":"de2","sizes":[3,3]}'
    assert answer.data == {"largest": "de2", "sizes": [3, 3]}
    assert world.calls[0] == ("de", 2)
    assert sorted(world.calls[1:]) == ["de1", "de2"]


async def test_the_model_sees_typed_signatures() -> None:
    made = agent(World(), "1")
    await made.run("go")
    assert isinstance(made.model, ScriptedModel)
    [shown] = made.model.requests[0].tools
    assert shown.description.split("```")[1] == snapshot('''\
python
from typing import Any, Literal, NotRequired, TypedDict


class ListCitiesResultCity(TypedDict):
    name: str
    people: int

async def list_cities(country: Literal['fr', 'de'], limit: int = 3) -> list[ListCitiesResultCity]:
    """List the largest cities.
    country: Where.
    limit: How many."""
    ...

async def population(name: str) -> int:
    """How many people live there."""
    ...

async def rename(name: str, to: str) -> str:
    """Give a city another name."""
    ...
''')


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("await population(5)", "Expected `str`"),
        ("await list_cities('it')", "Literal"),
        ("await list_cities('fr', size=3)", "size"),
        ("await nothing()", "nothing"),
        ("(await list_cities('fr'))[0]['size']", "size"),
        ("x = (", "syntax"),
    ],
)
async def test_code_that_does_not_fit_the_signatures_is_not_run(code: str, wrong: str) -> None:
    world = World()
    answer = await run(world, f"await population('paris')\n{code}")
    assert answer.status == "error"
    assert wrong in answer.text
    assert world.calls == []


async def test_a_pause_in_the_middle_resumes_and_repeats_nothing() -> None:
    world = World()
    code = (
        "import datetime, random\n"
        "before = await population('paris')\n"
        "said = await rename(name='paris', to=str(random.random()) + str(datetime.datetime.now()))\n"
        "after = await population('lyon')\n"
        "[before, said[:8], after]"
    )
    runner = Runner(agent(world, code), app_name="test")
    paused = await runner.run("go", user_id="ada", session_id="s")
    assert (paused.status, world.calls) == ("paused", ["paris"])
    [pending] = paused.pending
    assert (pending.name, pending.arguments["name"]) == ("rename", "paris")
    await runner.answer("s", pending.call_id, Approve())
    done = await runner.resume("s")
    assert answers(done)[0].data == [5, "paris is", 4]
    assert [c if isinstance(c, str) else c[0] for c in world.calls] == ["paris", "rename", "lyon"]


async def test_another_process_goes_on_where_the_first_one_paused(tmp_path: Path) -> None:
    first, second = World(), World()
    store = f"sqlite:///{tmp_path / 'sessions.db'}"
    code = "before = await population('paris')\n[before, await rename('paris', to='lutetia')]"
    before = Runner(agent(first, code), app_name="test", store=store)
    paused = await before.run("go", user_id="ada", session_id="s")
    await before.close()
    model = ScriptedModel("Done.")
    tools = [code_mode(second.tools())]
    after = Runner(Agent(name="coder", model=model, tools=tools), app_name="test", store=store)
    await after.answer("s", paused.pending[0].call_id, Approve())
    done = await after.resume("s")
    await after.close()
    assert done.status == "done"
    assert first.calls == ["paris"]
    assert second.calls == [("rename", "paris", "lutetia")]


async def test_a_rejection_is_an_exception_in_the_code() -> None:
    world = World()
    code = "try:\n    await rename('a', 'b')\nexcept RuntimeError as e:\n    print('sorry:', e)"
    runner = Runner(agent(world, code), app_name="test")
    paused = await runner.run("go", user_id="ada", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, Reject(reason="not that one"))
    done = await runner.resume("s")
    assert "not that one" in answers(done)[0].text
    assert world.calls == []


async def test_errors_of_tools_can_be_caught_and_others_end_the_code() -> None:
    world = World()
    caught = await run(world, "try:\n    await population('nowhere')\nexcept RuntimeError as e:\n"
                              "    print(e)")  # fmt: skip
    assert caught.text == "population: ValueError: no such city\n"
    uncaught = await run(world, "print('before')\nawait population('nowhere')")
    assert uncaught.status == "error"
    assert "before" in uncaught.text
    assert "no such city" in uncaught.text


async def test_inner_calls_are_ordinary_calls_with_events_and_limits() -> None:
    world = World()
    code = "for n in ['a', 'b', 'c']:\n    await population(n)"
    events = [event async for event in agent(world, code).stream("go")]
    started = [e.call.name for e in events if e.type == "tool_started"]
    assert started == ["run_code", "population", "population", "population"]
    limited = await agent(world, code, run_limits=RunLimits(tool_calls=2)).run("go")
    assert "limit of 2 tool calls" in answers(limited)[0].text


async def test_the_agents_policy_and_interrupts_hold_for_inner_calls() -> None:
    world = World()
    code = (
        "try:\n    await list_cities('fr')\nexcept RuntimeError as error:\n    print(error)\n"
        "await population('paris')"
    )
    model = ScriptedModel(call("run_code", code=code), "Done.")
    denied = rules(Rule.deny("list_*", reason="not today"), Rule.allow("*"))
    made = Agent(
        name="coder",
        model=model,
        tools=[code_mode(world.tools())],
        policy=denied,
        interrupt_on={"population": True},
    )
    runner = Runner(made, app_name="test")
    paused = await runner.run("go", user_id="ada", session_id="s")
    assert ([p.name for p in paused.pending], world.calls) == (["population"], [])
    await runner.answer("s", paused.pending[0].call_id, Approve())
    done = await runner.resume("s")
    assert "not today" in answers(done)[0].text
    assert world.calls == ["paris"]


async def test_tools_that_are_not_enabled_are_neither_shown_nor_called() -> None:
    async def secret() -> str:
        """Not for now."""
        return "no"

    hidden = FunctionTool(secret, is_enabled=lambda ctx: False)
    model = ScriptedModel(call("run_code", code="await secret()"), "Done.")
    made = Agent(name="a", model=model, tools=[code_mode([hidden, World().population])])
    result = await made.run("go")
    assert "secret" not in model.requests[0].tools[0].description
    assert answers(result)[0].status == "error"


async def test_the_same_call_twice_runs_twice() -> None:
    world = World()
    await run(world, "await population('a')\nawait population('a')")
    assert world.calls == ["a", "a"]


async def test_endless_code_is_stopped() -> None:
    answer = await run(World(), "while True: pass", limits=Limits(timeout=0.5))
    assert answer.status == "error"
    assert "TimeoutError" in answer.text


async def test_code_reaches_neither_files_nor_network_nor_packages() -> None:
    for code in ("open('/etc/passwd').read()", "import socket", "import os\nos.system('id')",
                 "import subprocess", "().__class__.__base__.__subclasses__()"):  # fmt: skip
        assert (await run(World(), code)).status == "error", code


async def test_a_gap_of_the_interpreter_is_named() -> None:
    answer = await run(World(), "def f():\n    yield 1\nlist(f())")
    assert "does not yet support yield" in answer.text
    assert "part of Python" in answer.text


async def test_with_a_sandbox_such_code_runs_on_cpython_and_pauses_there_too(
    tmp_path: Path,
) -> None:
    world = World()
    code = (
        "import asyncio\n"
        "def names():\n"
        "    yield 'paris'\n"
        "    yield 'lyon'\n"
        "sizes = await asyncio.gather(*(population(n) for n in names()))\n"
        "try:\n"
        "    await population('nowhere')\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
        "(sizes, await rename('a', to='b'))"
    )
    async with await open_sandbox(tmp_path) as sandbox:
        runner = Runner(agent(world, code, sandbox=sandbox), app_name="test")
        paused = await runner.run("go", user_id="ada", session_id="s")
        assert [p.name for p in paused.pending] == ["rename"]
        await runner.answer("s", paused.pending[0].call_id, Approve())
        done = await runner.resume("s")
    assert answers(done)[0].text == ('population: ValueError: no such city\n[[5,4],"a is now b"]')
    assert world.calls.count("paris") == 1
    assert len(world.calls) == 4


@pytest.mark.parametrize(
    "code",
    [
        "open('f.txt').read()",
        "import pathlib\npathlib.Path('f.txt').read_text()",
        "import os\nsorted(os.listdir('.'))[0]",
        "import mine\nmine.v",
        "import statistics\nstr(statistics.mean([1, 3]))",
        "import subprocess\nsubprocess.check_output(['cat', 'f.txt'], text=True)",
    ],
)
async def test_with_a_sandbox_code_has_its_files_and_packages(code: str, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("in the file")
    (tmp_path / "mine.py").write_text("v = 'of the module'")
    async with await open_sandbox(tmp_path) as sandbox:
        [answer] = answers(await agent(World(), code, sandbox=sandbox).run("go"))
        assert answer.status == "ok"
        wrong = f"await population(7)\n{code}"
        [answer] = answers(await agent(World(), wrong, sandbox=sandbox).run("go"))
        assert "does not fit the tools" in answer.text
    assert (await run(World(), code)).status == "error"


GAP = "def gap():\n    yield 1\n"


async def test_what_a_value_says_of_itself_on_cpython_is_text_and_bounded(tmp_path: Path) -> None:
    shown = "class X:\n    def __repr__(self): return {}\n"
    async with await open_sandbox(tmp_path) as sandbox:

        async def answered(code: str) -> tuple[str, str]:
            result = await agent(World(), GAP + code, sandbox=sandbox).run("go")
            return answers(result)[0].status, answers(result)[0].text

        assert await answered(shown.format("'{{1}}'") + "X()") == ("ok", "{{1}}")
        assert await answered(shown.format("'[' * 9999") + "X()") == ("ok", "[" * 9999)
        assert await answered("({1: (2.5, None)}, {3}, b'x', gap)[:2]") == (
            "ok",
            '[{"1":[2.5,null]},[3]]',
        )
        status, text = await answered(shown.format("'1' + '+1' * 10_000_000") + "X()")
        assert (status, "too large; show a part" in text) == ("error", True)
        status, text = await answered("x = []\nfor _ in range(99): x = [x]\nx")
        assert (status, "nested more than 64 levels" in text) == ("error", True)
        status, text = await answered("from typing import Any\nv: Any = gap\nawait population(v)")
        assert (status, "not JSON serializable" in text) == ("error", True)


async def test_large_toolsets_are_described_on_demand() -> None:
    world = World()
    made = agent(world, "print(await describe(['population']))\nawait population('x')",
                 stubs="on_demand")  # fmt: skip
    result = await made.run("go")
    assert isinstance(made.model, ScriptedModel)
    description = made.model.requests[0].tools[0].description
    assert "- population: How many people live there." in description
    assert "async def population" not in description
    assert "async def population(name: str) -> int:" in answers(result)[0].text


async def test_code_gets_the_data_that_people_are_shown() -> None:
    async def chart(title: str) -> tuple[str, dict[str, int]]:
        """Draw a chart."""
        return f"A chart called {title}.", {"bars": 3}

    model = ScriptedModel(call("run_code", code="(await chart('x'))['bars'] + 1"), "Done.")
    result = await Agent(name="a", model=model, tools=[code_mode([chart])]).run("go")
    assert answers(result)[0].text == "4"


async def test_odd_names_become_identifiers_and_clashes_are_refused() -> None:
    def odd(name: str) -> Tool:
        async def handler(args: dict[str, Any], ctx: Any) -> Output:
            return Output(text='{"got": 1}')

        schema = {
            "type": "object",
            "properties": {"from": {"type": "string"}, "n": {"type": "integer"}},
        }
        return Tool(spec=ToolSpec(name=name, parameters=schema), parse=schema_parser(name, schema),
                    run=handler)  # fmt: skip

    model = ScriptedModel(call("run_code", code="(await get_user_v2(n=1))['got']"), "Done.")
    result = await Agent(name="a", model=model, tools=[code_mode([odd("get-user.v2")])]).run("go")
    assert answers(result)[0].text == "1"
    clash = Agent(name="a", model=model, tools=[code_mode([odd("a-b"), odd("a_b")])])
    with pytest.raises(UsageError, match="there is one already"):
        await clash.run("go")


def large(number: int) -> str:
    """A large text."""
    return str(number) * 1_000_000


def count(text: str) -> int:
    """How long it is."""
    return len(text)


@pytest.mark.parametrize(
    "code",
    ["import asyncio\nlen(await asyncio.gather(*[large(number=n) for n in range(9)]))",
     "total = 0\nfor n in range(9):\n    total += len(await large(number=n))\ntotal"],
)  # fmt: skip
async def test_what_crosses_is_bounded_by_the_memory_of_the_code(code: str) -> None:
    limits = Limits(timeout=30, memory=16 * 2**20)
    model = ScriptedModel(call("run_code", code=code), ".")
    agent = Agent(name="t", model=model, tools=[code_mode([large], limits=limits)])
    result = await agent.run("go")
    ended = [event for event in result.events if isinstance(event, ToolEnded)]
    kept = sum(len(event.result.text) for event in ended)
    assert "may have together" in ended[-1].result.text
    assert 2_000_000 < kept < 5_000_000


async def test_arguments_count_as_well() -> None:
    code = "for n in range(9):\n    await count(text='x' * 1_000_000)"
    limits = Limits(timeout=30, memory=16 * 2**20)
    model = ScriptedModel(call("run_code", code=code), ".")
    result = await Agent(name="t", model=model, tools=[code_mode([count], limits=limits)]).run("go")
    ended = [event for event in result.events if isinstance(event, ToolEnded)]
    assert "The arguments of count()" in ended[-1].result.text
    assert [event.result.text for event in ended[:-1]] == ["1000000"] * 4


async def test_code_that_stays_within_its_room_is_not_bothered() -> None:
    code = "sum([len(await large(number=n)) for n in range(3)])"
    limits = Limits(timeout=30, memory=16 * 2**20)
    model = ScriptedModel(call("run_code", code=code), ".")
    result = await Agent(name="t", model=model, tools=[code_mode([large], limits=limits)]).run("go")
    assert [r.text for m in result.history if m.kind == "tool" for r in m.results] == ["3000000"]


@pytest.mark.parametrize(
    "written", ["b'x' * 65536", "b'[' * 60000 + b'\\n'", "b'[1]\\n'", "b'{}\\n'"]
)
async def test_code_that_writes_to_its_interpreters_socket_ends_only_itself(
    written: str, tmp_path: Path
) -> None:
    code = (
        "import os, stat\n"
        "fd = next(n for n in range(3, 99) if os.path.exists(f'/proc/self/fd/{n}')"
        " and stat.S_ISSOCK(os.fstat(n).st_mode))\n"
        f"while True: os.write(fd, {written})"
    )
    async with await open_sandbox(tmp_path) as sandbox:
        done = await sandbox.run_code(code, limits=Limits(timeout=30))
        assert (done.ok, done.ended) == (False, "exited")
        assert (await sandbox.run_code("1 + 1")).value == "2"


class Purse:
    """Pays, and says so in different types."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def as_dict(self, cents: int) -> dict[str, int]:
        """Pay."""
        return {"paid": self.as_number(cents)}

    def as_number(self, cents: int) -> int:
        """Pay."""
        self.paid.append(cents)
        return cents

    def as_truth(self, cents: int) -> bool:
        """Pay."""
        return bool(self.as_number(cents))

    def as_words(self, cents: int) -> str:
        """Pay."""
        return f"{self.as_number(cents)} paid"


@pytest.mark.parametrize(
    ("kind", "code", "given"),
    [
        ("as_dict", "(await pay(cents=100))['paid']", "5"),
        ("as_number", "await pay(cents=100) + 1", "6"),
        ("as_truth", "await pay(cents=100) is True", "true"),
        ("as_words", "r = await pay(cents=100)\nprint(r)", "5 paid"),
    ],
)
async def test_code_gets_the_tools_value_and_the_model_reads_that_a_person_changed_the_arguments(
    kind: str, code: str, given: str, tmp_path: Path
) -> None:
    purse = Purse()
    written = code if kind == "as_words" else f"value = {code}\nawait look()\nvalue"
    model = ScriptedModel(call("run_code", code=written), "Done.")

    def runner() -> Runner:
        """As in another process: what was said of the call is found in the store."""
        pay = FunctionTool(getattr(purse, kind), name="pay", require_confirmation=True)
        look = FunctionTool(lambda: "seen", name="look", require_confirmation=True)
        coder = Agent(name="coder", model=model, tools=[code_mode([pay, look])])
        return Runner(coder, store=f"sqlite:///{tmp_path}/s.db")

    result = await runner().run("go", session_id="s")
    while result.status == "paused":
        (asked,) = result.pending
        yes = Approve(arguments={"cents": 5}) if asked.name == "pay" else Approve()
        again = runner()
        await again.answer("s", asked.call_id, yes)
        result = await again.resume("s")
    note = '(A person changed the arguments to {"cents": 5}.)'
    assert answers(result)[0].text.strip() == f"pay: {note}\n{given}"
    assert purse.paid == [5]


async def test_code_that_fails_after_a_change_says_the_change_first() -> None:
    purse = Purse()
    pay = FunctionTool(purse.as_number, name="pay", require_confirmation=True)
    model = ScriptedModel(call("run_code", code="await pay(cents=100)\n1 / 0"), "Done.")
    runner = Runner(Agent(name="coder", model=model, tools=[code_mode([pay])]))
    (asked,) = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve(arguments={"cents": 5}))
    (told,) = answers(await runner.resume("s"))
    assert told.status == "error"
    assert told.text.startswith('pay: (A person changed the arguments to {"cents": 5}.)\n')
    assert "ZeroDivisionError" in told.text


async def test_a_note_is_a_part_of_its_own() -> None:
    pay = FunctionTool(Purse().as_words, name="pay", require_confirmation=True)
    runner = Runner(Agent(name="a", model=ScriptedModel(call("pay", cents=100), "ok"), tools=[pay]))
    (asked,) = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve(arguments={"cents": 5}))
    (told,) = answers(await runner.resume("s"))
    assert told.note == '(A person changed the arguments to {"cents": 5}.)'
    assert (told.own_text, told.text) == ("5 paid", f"{told.note}\n5 paid")
    (unchanged,) = answers(
        await Agent(name="a", model=ScriptedModel(call("f"), "ok"), tools=[FunctionTool(lambda: "x", name="f")]).run("go")
    )  # fmt: skip
    assert (unchanged.note, unchanged.own_text, unchanged.text) == ("", "x", "x")
