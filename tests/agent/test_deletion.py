"""A session that is being deleted is left alone by everybody else, and goes last."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._postgres import new_database

from toolwright import (
    Agent,
    Approve,
    AuthConfig,
    AuthenticatedFunctionTool,
    BaseTool,
    BaseToolset,
    CustomAuthScheme,
    FunctionTool,
    Runner,
    UsageError,
    tool,
)
from toolwright.agent import _spill
from toolwright.agent._patience import Patience
from toolwright.backends import Hold, Holder, Loaded, MemoryArtifacts, MemoryStore, SqlStore, Store
from toolwright.errors import SessionHeld, StoreConflict
from toolwright.messages import AuthCredential, RunStarted, Scope, StoredAnswer
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="app", user_id="user", session_id="s")
KEY = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="X-Key"),
    credential_key="api",
)
TEXT = "line\n" * 60_000
Open = Callable[[], Store]
Meanwhile = Callable[[], Awaitable[Any]]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def open_it(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the same sessions each time, as every process does for itself."""
    memory, opened = MemoryStore(), []
    address = new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"

    def make() -> Store:
        if request.param == "memory":
            return memory
        opened.append(SqlStore(address))
        return opened[-1]

    yield make
    for store in opened:
        await store.close()


class Slow(MemoryArtifacts):
    """Artifacts whose deletion takes so long that something happens meanwhile."""

    def __init__(self, meanwhile: Meanwhile) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    async def delete_session(self, scope: Scope) -> None:
        await self._meanwhile()


class Secrets:
    """What people have brought."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    @property
    def answers(self) -> list[Any]:
        return [value for key, value in self.kept.items() if key.startswith("answer:")]

    async def load(self, scope: Scope, key: str) -> Any:
        return self.kept.get(key)

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        self.kept[key] = credential

    async def delete(self, scope: Scope, key: str) -> None:
        self.kept.pop(key, None)


@tool
def long_list() -> str:
    """List."""
    return TEXT


def listing() -> Agent:
    return Agent(name="a", model=ScriptedModel(call("long_list"), "Done."), tools=[long_list])


def fetching(times: int = 1) -> Agent:
    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        return "fetched"

    model = ScriptedModel(*[call("fetch")] * times, *["Done."] * times)
    return Agent(
        name="a", model=model, tools=[AuthenticatedFunctionTool(func=fetch, auth_config=KEY)]
    )


async def output_of(runner: Runner) -> str:
    """The name of the long output."""
    [result] = [r for m in await runner.history("s") if m.kind == "tool" for r in m.results]
    return next(word for word in result.text.replace("'", " ").replace('"', " ").split()
                if word.startswith("output-")).rstrip(".,;:)")  # fmt: skip


async def held_by(store: Store) -> str:
    holder = await store.holder(SCOPE)
    assert holder is not None
    return holder.hold_id


async def test_a_deletion_that_was_stopped_leaves_alone_what_another_run_has_taken(
    open_it: Open,
) -> None:
    store = open_it()

    async def run_elsewhere() -> None:
        hold = Hold(id="theirs", since=1.0, first=True, instead_of=await held_by(store))
        await store.append(SCOPE, [RunStarted(seq=last + 1, run_id="theirs")], hold)

    runner = Runner(listing(), store=open_it(), artifacts=Slow(run_elsewhere))
    await runner.run("go", session_id="s")
    name, last = await output_of(runner), len(await runner.events("s"))
    with pytest.raises(StoreConflict, match="'s' was not deleted: it is held by process"):
        await runner.delete("s")
    assert (len(await runner.events("s")), await held_by(store)) == (last + 1, "theirs")
    assert await runner.output("s", name) == TEXT


async def test_a_deletion_that_was_stopped_leaves_alone_a_new_session_of_the_same_id(
    open_it: Open,
) -> None:
    store = open_it()

    async def delete_and_begin_anew() -> None:
        mine = replace(Hold.to_delete(), instead_of=await held_by(store))
        found = await store.find("app", "s")
        assert found is not None
        await store.take(SCOPE, mine, found.created_at)
        await store.delete(SCOPE, mine)
        await store.open(SCOPE)

    agent = Agent(name="a", model=ScriptedModel("Done."))
    runner = Runner(agent, store=open_it(), artifacts=Slow(delete_and_begin_anew))
    await runner.run("go", session_id="s")
    with pytest.raises(StoreConflict, match="'s' was not deleted: it is held by nobody"):
        await runner.delete("s")
    assert [row.last_seq for row in await runner.sessions()] == [0]


async def test_a_session_made_anew_before_it_could_be_taken_is_not_deleted() -> None:
    class Anew(MemoryStore):
        async def take(self, scope: Scope, hold: Hold, born: float) -> None:
            await self.delete(scope)
            await self.open(scope)
            await super().take(scope, hold, born)

    runner = Runner(Agent(name="a", model=ScriptedModel("Done.")), store=Anew(), wait_if_held=60)
    await runner.run("go", session_id="s")
    with anyio.fail_after(10), pytest.raises(StoreConflict):
        await runner.delete("s")
    assert [row.last_seq for row in await runner.sessions()] == [0]


def paying(to: str, paid: list[str]) -> Agent:
    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    model = ScriptedModel(call("pay", to=to), f"Paid {to}.", "Hello.")
    return Agent(name="a", model=model, tools=[FunctionTool(pay, require_confirmation=True)])


@pytest.mark.parametrize("again", ["resume", "run", "abandon"])
async def test_a_run_that_has_read_a_deleted_session_writes_nothing_to_the_next_of_its_id(
    open_it: Open, again: str
) -> None:
    paid: list[str] = []
    other = Runner(paying("bob", paid), store=open_it())

    async def delete_and_begin_anew() -> None:
        await other.delete("s")
        await other.run("go", session_id="s")

    class Stopped(Runner):
        """One whose process is stopped when it has read a session."""

        async def _load(self, scope: Scope, patience: Patience) -> Loaded:
            found = await super()._load(scope, patience)
            if is_stopped:
                await delete_and_begin_anew()
            return found

    is_stopped = False
    runner = Stopped(paying("mallory", paid), store=open_it())
    paused = await runner.run("go", session_id="s")
    assert await runner.answer("s", paused.pending[0].call_id, Approve()) == "accepted"
    is_stopped = True
    begin: dict[str, Meanwhile] = {
        "resume": lambda: runner.resume("s"),
        "run": lambda: runner.run("and?", session_id="s"),
        "abandon": lambda: runner.abandon("s", "too late"),
    }
    with pytest.raises(StoreConflict, match="'s' was deleted and begun anew after"):
        await begin[again]()
    assert (paid, await runner.holder("s")) == ([], None)
    [asked] = await other.pending("s")
    assert asked.arguments == {"to": "bob"}
    assert len(await other.events("s")) == len(paused.events)


async def test_no_answer_is_accepted_and_no_secret_kept_while_a_session_is_deleted(
    open_it: Open,
) -> None:
    refused: list[str] = []

    async def sign_in() -> None:
        with pytest.raises(SessionHeld) as caught:
            await other.answer("s", asked, "s3cret")
        refused.append(str(caught.value))

    secrets, agent = Secrets(), fetching()
    other = Runner(agent, store=open_it(), credentials=secrets)
    runner = Runner(agent, store=open_it(), credentials=secrets, artifacts=Slow(sign_in))
    asked = (await runner.run("go", session_id="s")).pending[0].call_id
    await runner.delete("s")
    assert "Session 's' is being deleted by process" in refused[0]
    assert (secrets.answers, await runner.sessions()) == ([], [])


async def test_a_secret_goes_with_its_session_when_its_deletion_was_taken_for_gone(
    open_it: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, secrets = open_it(), Secrets()
    delete = type(store).delete

    async def sign_in_first(self: Any, scope: Scope, hold: Hold) -> Sequence[StoredAnswer]:
        with monkeypatch.context() as patch:
            patch.setattr(Holder, "deletes", False)
            assert await runner.answer("s", asked, "s3cret") == "accepted"
        assert secrets.answers == ["s3cret"]
        return await delete(self, scope, hold)

    runner = Runner(fetching(), store=store, credentials=secrets)
    asked = (await runner.run("go", session_id="s")).pending[0].call_id
    monkeypatch.setattr(type(store), "delete", sign_in_first)
    await runner.delete("s")
    assert (secrets.answers, await runner.sessions()) == ([], [])


async def test_a_sign_in_is_good_for_its_own_call_while_another_session_is_deleted(
    open_it: Open,
) -> None:
    store, secrets = open_it(), Secrets()
    runner = Runner(fetching(2), store=store, credentials=secrets)
    asked = (await runner.run("go", session_id="other")).pending[0].call_id
    await runner.run("go", session_id="s")
    row = await store.find("app", "s")
    assert row is not None
    await store.take(SCOPE, Hold.to_delete(), row.created_at)
    assert await runner.answer("other", asked, "s3cret") == "accepted"
    assert (await runner.resume("other")).text == "Done."
    [left] = await store.open_calls("app")
    assert (left.scope, left.answered) == (SCOPE, False)


async def test_a_session_goes_after_all_that_it_kept_open(open_it: Open) -> None:
    seen: list[str] = []

    class Box(BaseToolset):
        async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
            return []

        async def end_session(self, session: Any) -> None:
            with pytest.raises(SessionHeld, match="is being deleted"):
                await other.run("late", session_id="s")
            seen.extend(row.scope.session_id for row in await other.sessions())
            if len(seen) == 1:
                raise OSError("the engine is busy")

    agent = Agent(name="a", model=ScriptedModel("Done."), tools=[Box()])
    other = Runner(Agent(name="a", model=ScriptedModel("Late.")), store=open_it())
    runner = Runner(agent, store=open_it())
    await runner.run("go", session_id="s")
    with pytest.raises(OSError, match="engine is busy"):
        await runner.delete("s")
    assert [row.scope.session_id for row in await runner.sessions()] == ["s"]
    await runner.delete("s")
    assert (seen, await runner.sessions()) == (["s", "s"], [])


async def test_a_session_that_is_being_deleted_has_no_branch(open_it: Open) -> None:
    async def branch() -> None:
        with pytest.raises(SessionHeld, match="'s' is being deleted by process"):
            await other.branch("s", new_id="b")

    other = Runner(listing(), store=open_it())
    runner = Runner(listing(), store=open_it(), artifacts=Slow(branch))
    await runner.run("go", session_id="s")
    await runner.delete("s")
    assert await runner.sessions() == []


@pytest.mark.parametrize("how", ["begun", "done"])
async def test_a_branch_whose_source_is_deleted_before_it_has_its_outputs_is_undone(
    open_it: Open, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    store = open_it()
    branch = type(store).branch

    async def delete_next(self: Any, scope: Scope, *more: Any) -> Any:
        made = await branch(self, scope, *more)
        row = await store.find("app", "s")
        assert row is not None
        if how == "done":
            await other.delete("s")
        else:
            await store.take(SCOPE, Hold.to_delete(), row.created_at)
        return made

    other = Runner(listing(), store=store)
    runner = Runner(listing(), store=store)
    await runner.run("go", session_id="s")
    monkeypatch.setattr(type(store), "branch", delete_next)
    refusal = SessionHeld if how == "begun" else UsageError
    with pytest.raises(
        refusal, match=r"'s' (is being deleted by|was deleted while it was branched)"
    ):
        await runner.branch("s", new_id="b")
    left = ["s"] if how == "begun" else []
    assert [row.scope.session_id for row in await runner.sessions()] == left


def test_outputs_that_go_as_they_are_shared_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_spill, "_root", lambda: tmp_path)
    old, new = _spill.Spill(SCOPE, 1.0), _spill.Spill(replace(SCOPE, session_id="b"), 2.0)
    name = old.write("text")
    make = _spill.Spill._make

    def remove_and_make(self: _spill.Spill) -> Path:
        for directory in tmp_path.iterdir():
            shutil.rmtree(directory) if directory.is_dir() else directory.unlink()
        return make(self)

    monkeypatch.setattr(_spill.Spill, "_make", remove_and_make)
    old.share(new)
    with pytest.raises(Exception, match=f"no stored output '{name}'"):
        new.read(name)
