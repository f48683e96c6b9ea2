"""The todo list."""

import pytest
from tests.builtin._answers import Session

from toolwright.builtin import todo_tools

pytestmark = pytest.mark.anyio


@pytest.mark.row("000-54", "000-55", "000-57")
async def test_todos_are_kept_in_the_sessions_state() -> None:
    session = Session(todo_tools())
    assert await session.json("read_todos") == {"todos": []}
    todos = [
        {"content": "Plan", "status": "completed"},
        {"content": "Build", "status": "in_progress"},
    ]
    assert await session.json("write_todos", todos=todos) == {"status": "success", "count": 2}
    assert await session.json("read_todos") == {"todos": todos}
    assert (await session.runner.state("s"))["todos"] == todos


@pytest.mark.row("000-56")
async def test_an_unknown_status_is_told_to_the_model() -> None:
    session = Session(todo_tools())
    result = await session.answer("write_todos", todos=[{"content": "x", "status": "soon"}])
    assert result.status == "error"
    assert "todos.0.status" in result.text
    assert "'pending', 'in_progress' or 'completed'" in result.text


async def test_a_field_that_a_todo_has_not_is_told_as_one() -> None:
    session = Session(todo_tools())
    todo = {"content": "x", "status": "pending", "id": 1}
    result = await session.answer("write_todos", todos=[todo])
    assert result.text.endswith("- unknown field 'todos.0.id'; leave it out")
