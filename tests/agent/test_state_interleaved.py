"""Calls that change the same state at the same time, in any order of changes and ends, count once."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from toolwright import Agent, Approve, Runner, ToolContext, tool
from toolwright.backends import MemoryStore
from toolwright.messages import member_key
from toolwright.testing import ScriptedModel, call
from toolwright.tools import SharedWrites, State, StateTable, Tool

PHASES = (Phase.generate,)
"""A failing plan is short as it is; to make it shorter could take minutes."""
KEYS = ("n", "user:n", "app:n")


@dataclass(frozen=True)
class Plan:
    """One call: which session makes it, which keys it changes in turn, and how it ends."""

    session: int
    keys: tuple[str, ...]
    end: Literal["returns", "parks", "is cut off"]


plans = st.builds(
    Plan,
    session=st.integers(0, 1),
    keys=st.lists(st.sampled_from([*KEYS, "set"]), min_size=1, max_size=3).map(tuple),
    end=st.sampled_from(["returns", "returns", "parks", "is cut off"]),
)


@dataclass
class Order:
    """Lets each call take its next step when it is its turn."""

    left: list[int]
    changed: anyio.Event = field(default_factory=anyio.Event)

    async def turn(self, number: int) -> None:
        while self.left and self.left[0] != number:
            await self.changed.wait()

    def done(self) -> None:
        if self.left:
            self.left.pop(0)
        self.changed.set()
        self.changed = anyio.Event()


def working(calls: Sequence[Plan], order: Order) -> Tool:
    @tool(idempotent=True)
    async def work(number: int, tool_context: ToolContext) -> str:
        """Work."""
        plan, is_first = calls[number], bool(order.left)
        for key in plan.keys:
            await order.turn(number)
            if key == "set":
                tool_context.state["set"] = number
            else:
                tool_context.state.change(key, lambda n: n + 1, default=0)
            order.done()
        await order.turn(number)
        order.done()
        if plan.end == "is cut off" and is_first:
            await anyio.sleep_forever()
        if plan.end == "parks" and tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Again?")
        return "ok"

    return work


async def run_all(calls: Sequence[Plan], order: Order) -> None:
    store, used = MemoryStore(), working(calls, order)
    results: dict[int, Any] = {}

    def runner(session: int) -> Runner:
        turn = [call("work", number=i) for i, plan in enumerate(calls) if plan.session == session]
        model = ScriptedModel(turn, "done")
        return Runner(Agent(name="a", model=model, tools=[used]), store=store)

    runners = {session: runner(session) for session in {plan.session for plan in calls}}

    async def run(session: int) -> None:
        results[session] = await runners[session].run("go", session_id=f"s{session}")

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for session in runners:
                group.start_soon(run, session)
            while order.left:
                await order.changed.wait()
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        for session, one in runners.items():
            name = f"s{session}"
            result = results.get(session) or await one.resume(name)
            while result.pending:
                for pending in result.pending:
                    await one.answer(name, pending.call_id, Approve())
                result = await one.resume(name)
            assert result.status == "done"
            stored = await one.state(name)
            own = {key: value for key, value in stored.items() if ":" not in key}
            assert own == {key: value for key, value in result.state.items() if ":" not in key}
            for key in KEYS:
                made = [plan for plan in calls if plan.session == session or ":" in key]
                wanted = sum(plan.keys.count(key) * (1 + (plan.end == "parks")) for plan in made)
                last = stored if ":" not in key else await one.state(name)
                if ":" not in key or session == max(runners):
                    assert last.get(key, 0) == wanted, key


@settings(max_examples=30, deadline=None, derandomize=True, phases=PHASES)
@given(calls=st.lists(plans, min_size=2, max_size=5), seed=st.integers(0, 2**32))
def test_each_change_is_stored_once_whatever_parks_is_cut_off_or_ends_first(
    calls: list[Plan], seed: int
) -> None:
    steps = [number for number, plan in enumerate(calls) for _ in range(len(plan.keys) + 1)]
    random.Random(seed).shuffle(steps)
    anyio.run(run_all, calls, Order(steps))


def test_what_works_on_the_write_of_another_call_is_kept_with_it() -> None:
    table = StateTable()
    first, second = State(table), State(table)
    first.change("basket", lambda basket: [*basket, "milk"], default=[])
    second.change("basket", lambda basket: [basket[0], "bread"], default=[])
    assert second.take() == {"basket": ["milk", "bread"]}
    assert first.take() == {}
    assert table.values["basket"] == ["milk", "bread"]
    assert not table.open


def test_the_members_of_a_mapping_are_stored_by_the_calls_that_changed_them() -> None:
    table = StateTable({member_key("files", "/a"): 0})
    first, second = State(table), State(table)
    for state in (first, second, first):
        state.change_member("files", "/a", lambda n: n + 1)
    first.change_member("files", "/b", lambda _: "b")
    assert second.take() == {member_key("files", "/a"): 1}
    assert first.take() == {member_key("files", "/a"): 3, member_key("files", "/b"): "b"}
    assert table.values == {"files": {"/a": 3, "/b": "b"}}
    assert not table.open


def test_a_write_is_in_one_event_only() -> None:
    table = StateTable()
    state = State(table)
    state.change("n", lambda n: n + 1, default=0)
    state["temp:x"] = object()
    assert [state.take(), state.take()] == [{"n": 1}, {}]
    state["m"] = 1
    assert state.take() == {"m": 1}
    assert state.delta.keys() == {"n", "m", "temp:x"}


def _taken(state: State) -> tuple[dict[str, Any], SharedWrites]:
    delta = state.take()
    assert state.shared is not None
    return delta, state.shared


def test_all_that_is_not_stored_follows_on_what_another_session_has_stored() -> None:
    table = StateTable({"app:n": 1})
    first, second, third = State(table), State(table), State(table)
    for state, amount in ((first, 1), (second, 10), (third, 100)):
        state.change("app:n", lambda n, amount=amount: n + amount, default=0)  # type: ignore[misc]
    delta, writes = _taken(second)
    assert (delta, writes.expected()) == ({"app:n": 11}, {"app:n": 1})
    changed = writes.follow({"app:n": 5})
    assert writes.again(changed) == {"app:n": 15}
    assert table.values["app:n"] == 116
    writes.settle({"app:n": 15})
    delta, writes = _taken(first)
    assert (delta, writes.expected()) == ({"app:n": 16}, {"app:n": 15})
    # Between the two another session has added one.
    assert writes.again(writes.follow({"app:n": 16})) == {"app:n": 17}
    writes.settle({"app:n": 17})
    delta, writes = _taken(third)
    assert delta == {"app:n": 117}
    writes.settle(delta)
    assert not table.open


def test_what_was_read_before_another_session_changed_it_fails_when_the_call_ends() -> None:
    table = StateTable({"app:n": 1})
    reader, other = State(table), State(table)
    reader["app:n"] = reader["app:n"] + 1
    other.change("app:n", lambda n: n + 10, default=0)
    _, writes = _taken(other)
    assert not writes.conflict(writes.follow({"app:n": 5}))
    writes.settle({"app:n": 15})
    _, writes = _taken(reader)
    assert "'app:n' was changed by another session" in writes.failure()
    assert writes.give_up() == ["app:n"]
    assert table.values["app:n"] == 15
    assert not table.open
