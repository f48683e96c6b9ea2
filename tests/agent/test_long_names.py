"""Names that stores look things up by are as long as every store can take, or refused as they enter."""

import string
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests._postgres import new_database

from toolwright import Agent, Runner, ToolContext, tool
from toolwright.backends import _memory_store as memory_store
from toolwright.backends import open_store
from toolwright.backends.sql import _store as sql_store
from toolwright.errors import UsageError
from toolwright.messages import ID_BYTES, KEY_BYTES, NAME_BYTES, ONCE_BYTES, ToolCall, size
from toolwright.tasks import NewTask
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

LETTERS = [
    string.ascii_letters + string.digits,
    "".join(map(chr, range(0xC0, 0x180))),
    "".join(map(chr, range(0x4E00, 0x5200))),
    "".join(map(chr, range(0x1F300, 0x1F600))),
    "\0\x1a",
    "".join(map(chr, range(0xD800, 0xE000))),
]
NAMES = ["ascii", "latin", "chinese", "pictures", "control", "surrogates"]
STORES = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="module", params=STORES)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "postgres":
        return new_database()
    path: Path = tmp_path_factory.mktemp("names")
    return f"sqlite:///{path}/s.db" if request.param == "sqlite" else "memory://"


def longest(letters: str, most: int) -> str:
    """As many of these as fit, in an order that Postgres cannot compress."""
    return "".join(Random(1).choices(letters, k=most // size(letters[0])))


@pytest.mark.parametrize("letter", LETTERS, ids=NAMES)
async def test_the_longest_names_together_are_stored_and_found(url: str, letter: str) -> None:
    kept: list[Any] = []

    @tool(require_confirmation=True)
    async def put(tool_context: ToolContext) -> str:
        """Put."""
        tool_context.state[longest(letter, KEY_BYTES)] = 1
        kept.append(tool_context.function_call_id)
        return "ok"

    asked = ToolCall(call_id=longest(letter, 5000), name="put")
    model = ScriptedModel(lambda request: [asked], "done")
    async with Runner(
        Agent(name="a", model=model, tools=[put]),
        app_name=longest(letter, NAME_BYTES), store=url, retry_writes=0.1,
    ) as runner:  # fmt: skip
        user, session = longest(letter, ID_BYTES), longest(letter, ID_BYTES)
        paused = await runner.run("go", user_id=user, session_id=session)
        assert await runner.answer(session, paused.pending[0].call_id, True) == "accepted"
        done = await runner.resume(session)
        assert (done.status, len(kept)) == ("done", 1)
        assert (await runner.state(session))[longest(letter, KEY_BYTES)] == 1


@pytest.mark.parametrize("letter", LETTERS, ids=NAMES)
async def test_longer_names_are_refused_with_the_bound_before_anything_happens(
    letter: str,
) -> None:
    agent = Agent(name="a", model=ScriptedModel("done"))
    runner = Runner(agent)

    def over(most: int) -> str:
        return longest(letter, most) + letter[0]

    attempts: list[tuple[Callable[[], Any], int]] = [
        (lambda: NewTask(agent=over(NAME_BYTES), prompt="x"), NAME_BYTES),
        (lambda: NewTask(agent="a", prompt="x", owner_id=over(ID_BYTES)), ID_BYTES),
        (lambda: NewTask(agent="a", prompt="x", idempotency_key=over(ONCE_BYTES)), ONCE_BYTES),
    ]
    for attempt, most in attempts:
        with pytest.raises(UsageError, match=f"may have {most:,}"):
            attempt()
    with pytest.raises(UsageError, match=r"app_name has .* may have 256"):
        await Runner(agent, app_name=over(NAME_BYTES), store=runner.store).run("x")
    with pytest.raises(UsageError, match=r"user_id has .* may have 512"):
        await runner.run("x", user_id=over(ID_BYTES))
    with pytest.raises(UsageError, match=r"session_id has .* may have 512"):
        await runner.run("x", session_id=over(ID_BYTES))
    with pytest.raises(UsageError, match="may have 1,024"):
        await runner.run("x", state={over(KEY_BYTES): 1})
    await runner.run("x", session_id="s")
    with pytest.raises(UsageError, match="may have 512"):
        await runner.branch("s", new_id=over(ID_BYTES))
    assert [row.scope.session_id for row in await runner.sessions()] == ["s"]


LONGER = {"app_name": "a" * 300, "user_id": "u" * 700, "session_id": "s" * 700}


@pytest.mark.parametrize("which", [*LONGER, "all"])
async def test_a_session_with_longer_names_of_an_earlier_version_is_run_read_and_deleted(
    url: str, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"app_name": which, "user_id": "ada", "session_id": "s"}
    names |= LONGER if which == "all" else {which: LONGER[which]}
    app, user, session = names.values()

    @tool(require_confirmation=True)
    async def put() -> str:
        """Put."""
        return "ok"

    model = ScriptedModel(call("put"), "done", "again", "streamed")
    agent = Agent(name="a", model=model, tools=[put])
    store = open_store(url)
    async with Runner(agent, app_name=app, store=store, artifacts="memory://") as runner:
        with monkeypatch.context() as earlier:
            for module in (sql_store, memory_store):
                earlier.setattr(module, "refuse_long_scope", lambda scope: None)
            paused = await runner.run("go", user_id=user, session_id=session)
        assert await runner.answer(session, paused.pending[0].call_id, True) == "accepted"
        assert (await runner.resume(session)).status == "done"
        assert (await runner.run("x", user_id=user, session_id=session)).text == "again"
        shown = [event async for event in runner.stream("x", user_id=user, session_id=session)]
        assert shown
        assert await runner.holder(session) is None
        assert [row.scope.session_id for row in await runner.sessions(user)] == [session]
        with pytest.raises(UsageError, match="and may have"):
            await runner.branch(session, new_id=longest(LETTERS[0], 9000))
        await runner.abandon(session)
        await runner.delete(session)
        assert await runner.sessions() == []
        with pytest.raises(UsageError, match="and may have"):
            await runner.run("x", user_id=user, session_id=session)


async def test_a_tool_that_writes_too_long_a_key_is_told_and_the_run_goes_on(url: str) -> None:
    @tool
    async def put(member: bool, tool_context: ToolContext) -> str:
        """Put."""
        if member:
            tool_context.state.change_member("files", "x" * 3000, lambda _: 1)
        else:
            tool_context.state["note:" + "x" * 3000] = 1
        return "never"

    calls = [call("put", member=member) for member in (True, False)]
    agent = Agent(name="a", model=ScriptedModel(*calls, "done"), tools=[put])
    async with Runner(agent, app_name="told", store=url, retry_writes=0.1) as runner:
        done = await runner.run("go", session_id="s")
        results = [r for m in done.history if m.kind == "tool" for r in m.results]
        assert [r.status for r in results] == ["error", "error"]
        assert all("may have 1,024" in r.text for r in results)
        assert done.status == "done"
