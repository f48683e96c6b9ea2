"""State: a true mapping, deltas recorded, no silently lost writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import Agent, Runner, StateConflict, ToolContext, UsageError, tool
from toolwright.messages import ToolEnded
from toolwright.testing import ScriptedModel, call
from toolwright.tools import State, StateTable


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none() | st.lists(st.integers())))
def test_state_is_a_mapping_like_any_other(values: dict[str, object]) -> None:
    state = State(StateTable())
    state.update(values)
    assert dict(state) == values
    assert len(state) == len(values)
    for key in values:
        assert state.pop(key) == values[key]
    assert not state
    assert state.setdefault("x", 1) == 1


def test_what_is_read_is_a_copy_and_only_an_assignment_changes_the_state() -> None:
    table = StateTable({"list": [1]})
    State(table)["list"].append(2)
    assert table.values["list"] == [1]


def test_a_write_over_somebody_elses_change_is_refused_not_lost() -> None:
    table = StateTable({"n": [0]})
    mine, other = State(table), State(table)
    seen = mine["n"]
    other["n"] = [1]
    with pytest.raises(StateConflict, match=r"'n' was changed by another call.*state.change"):
        mine["n"] = [*seen, 2]
    assert table.values["n"] == [1]


def test_change_reads_and_writes_in_one_step() -> None:
    table = StateTable()
    mine, other = State(table), State(table)
    mine.change("n", lambda n: n + 1, 0)
    other.change("n", lambda n: n + 1, 0)
    assert mine["n"] == 2
    assert other.delta == {"n": 2}


def test_a_key_that_is_no_string_is_refused() -> None:
    with pytest.raises(UsageError, match="keys are strings"):
        State(StateTable())[1] = 2  # type: ignore[index]


@tool
def remember(key: str, value: str, tool_context: ToolContext) -> str:
    """Remember something."""
    tool_context.state[key] = value
    return "ok"


@pytest.mark.anyio
async def test_prefixes_say_who_shares_a_key_and_temp_is_never_stored() -> None:
    turn = [call("remember", key=k, value="v") for k in ("app:a", "user:u", "s", "temp:t")]
    runner = Runner(Agent(name="t", model=ScriptedModel(turn, "."), tools=[remember]))
    result = await runner.run("go", user_id="ada", session_id="1")
    assert result.state == {"app:a": "v", "user:u": "v", "s": "v"}
    deltas = [
        e.actions.state_delta for e in result.events if isinstance(e, ToolEnded) and e.actions
    ]
    # The calls run side by side, in threads: which of them ends first is nobody's business.
    assert sorted(key for delta in deltas for key in delta) == ["app:a", "s", "user:u"]

    async def visible(user: str, session: str) -> set[str]:
        agent = Agent(name="t", model=ScriptedModel("."))
        return set(
            (
                await Runner(agent, store=runner.store).run("hi", user_id=user, session_id=session)
            ).state
        )

    assert await visible("ada", "1") == {"app:a", "user:u", "s"}
    assert await visible("ada", "2") == {"app:a", "user:u"}
    assert await visible("bob", "3") == {"app:a"}
