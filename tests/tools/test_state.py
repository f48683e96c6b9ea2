"""State: a true mapping, deltas recorded, no silently lost writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import Agent, Runner, StateConflict, ToolContext, UsageError, tool
from toolwright.messages import MEMBER, ToolEnded, member_key
from toolwright.testing import ScriptedModel, call
from toolwright.tools import State, StateTable
from toolwright.tools._state import RESERVED

KEYS = st.text().filter(lambda key: MEMBER not in key and not key.startswith(RESERVED))


@given(st.dictionaries(KEYS, st.integers() | st.text() | st.none() | st.lists(st.integers())))
def test_state_is_a_mapping_like_any_other(values: dict[str, object]) -> None:
    state = State(StateTable())
    state.update(values)
    assert dict(state) == values
    assert len(state) == len(values)
    for key in values:
        assert state.pop(key) == values[key]
    assert not state
    assert state.setdefault("x", 1) == 1


@pytest.mark.row("000-05", "001-21", "001-22")
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


@pytest.mark.row("001-23", "001-24", "001-25", "001-26", "004-X1")
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


def test_one_member_of_a_mapping_is_written_without_the_others() -> None:
    table = StateTable({"files": {"/old": 1}})
    state = State(table)
    state.change_member("files", "/new", lambda old: [old])
    assert state["files"] == {"/old": 1, "/new": [None]}
    assert state.names("files") == ["/new", "/old"]
    assert state.delta == {member_key("files", "/new"): [None]}
    again = StateTable({"files": {"/old": 1}, **state.delta})
    assert again.values == {"files": {"/old": 1, "/new": [None]}}


def test_a_mapping_that_is_replaced_as_a_whole_takes_its_members_with_it() -> None:
    table = StateTable({member_key("files", "/a"): 1, member_key("files", "/b"): 2, "x": 0})
    assert table.values == {"files": {"/a": 1, "/b": 2}, "x": 0}
    state = State(table)
    state["files"] = {"/c": 3}
    assert state.delta == {
        "files": {"/c": 3},
        member_key("files", "/a"): None,
        member_key("files", "/b"): None,
    }
    assert state.names("files") == ["/c"]
    state.change_member("files", "/d", lambda _: 4)
    del state["files"]
    assert state.delta["files"] is None
    assert state.delta[member_key("files", "/d")] is None
    assert "files" not in state


def test_who_has_read_a_mapping_cannot_write_it_over_a_new_member() -> None:
    table = StateTable()
    mine, other = State(table), State(table)
    mine.get("files")
    with pytest.raises(KeyError):
        mine["files"]
    other.change_member("files", "/a", lambda _: 1)
    with pytest.raises(StateConflict):
        mine["files"] = {}


def test_a_key_with_the_mark_between_a_mapping_and_its_member_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot contain"):
        State(StateTable())[member_key("files", "/a")] = 1


@pytest.mark.row("004-X2d")
@pytest.mark.anyio
async def test_what_is_written_to_the_state_delta_is_seen_by_the_next_tool_and_in_the_result() -> (
    None
):
    @tool
    def first(tool_context: ToolContext) -> str:
        """Write."""
        tool_context.actions.state_delta["x"] = 5
        tool_context.actions.state_delta.update({"y": [1]}, gone=1)
        tool_context.actions.state_delta.setdefault("z", 3)
        tool_context.actions.state_delta["gone"] = None
        return "ok"

    @tool
    def second(tool_context: ToolContext) -> str:
        """Read."""
        state = tool_context.state
        return f"{state.get('x')} {state.get('y')} {state.get('z')} {'gone' in state}"

    model = ScriptedModel(call("first"), call("second"), "Done.")
    runner = Runner(Agent(name="t", model=model, tools=[first, second]))
    result = await runner.run("go", session_id="s")
    texts = [e.result.text for e in result.events if isinstance(e, ToolEnded)]
    assert texts == ["ok", "5 [1] 3 False"]
    assert result.state == {"x": 5, "y": [1], "z": 3} == await runner.state("s")
