"""One sign-in releases all that wait for it, and only an accepted answer's credential is used."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._oauth import Provider
from tests._postgres import new_database

from toolwright import (
    Agent,
    Approve,
    AuthenticatedFunctionTool,
    Result,
    Runner,
    ToolContext,
    UsageError,
)
from toolwright.backends import AuthlibFlows, MemoryStore, OpenCall, SqlStore, open_store
from toolwright.errors import StoreError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    Scope,
    SignedIn,
)
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def first(credential: AuthCredential) -> str:
    """Read the first calendar."""
    return f"first {credential.bearer_token is not None}"


def second(credential: AuthCredential) -> str:
    """Read the second calendar."""
    return f"second {credential.bearer_token is not None}"


def runner_at(folder: Path, provider: Provider, kept: SqlStore | None = None) -> Runner:
    config = provider.oidc()
    tools = [AuthenticatedFunctionTool(func=f, auth_config=config) for f in (first, second)]
    turns = [*[[call("first"), call("second")]] * 3, *["Done."] * 4]
    agent = Agent(name="reader", model=ScriptedModel(*turns), tools=tools)
    store = kept or f"sqlite:///{folder}/s.db"
    return Runner(agent, store=store, credentials=f"sqlite:///{folder}/credentials.db")


def texts(result: Result) -> list[str]:
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


@pytest.mark.row("004-A6")
async def test_one_sign_in_releases_every_call_of_the_user_in_all_sessions(
    tmp_path: Path, provider: Provider
) -> None:
    async with runner_at(tmp_path, provider) as runner:
        mine = [await runner.run("go", user_id="ada", session_id=s) for s in ("s1", "s2")]
        other = await runner.run("go", user_id="bob", session_id="s3")
        assert [len(r.pending) for r in (*mine, other)] == [2, 2, 2]

        waiting = mine[0].pending[0]
        came_back = provider.sign_in(waiting.payload["auth_uri"])
        assert await runner.answer("s1", waiting.call_id, came_back) == "accepted"

        assert {p.session_id for p in await runner.pending()} == {"s3"}
        for session in ("s2", "s1"):
            done = await runner.resume(session)
            assert (done.status, texts(done)) == ("done", ["first True", "second True"])
        assert (await runner.resume("s3")).status == "paused"


async def test_a_callback_that_knows_only_the_address_finds_who_waits(
    tmp_path: Path, provider: Provider
) -> None:
    async with runner_at(tmp_path, provider) as runner:
        paused = await runner.run("go", user_id="ada", session_id="s1")
        came_back = provider.sign_in(paused.pending[0].payload["auth_uri"])
        assert await runner.answer_sign_in(came_back, user_id="eve") == []
        assert (
            await runner.answer_sign_in("https://app.example/callback?code=x", user_id=None) == []
        )
        assert set(await runner.answer_sign_in(came_back, user_id="ada")) == {"s1"}
        assert (await runner.resume("s1")).status == "done"
        assert await runner.answer_sign_in(came_back, user_id=None) == []


@pytest.mark.parametrize("wrong", [None, "", {}, [], 0, True, Approve()])
async def test_what_is_no_credential_is_refused_and_nobody_stops_waiting(wrong: Any) -> None:
    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        return "fetched"

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=KEY)
    model = ScriptedModel(*[call("fetch")] * 2, *["Done."] * 2)
    runner = Runner(Agent(name="a", model=model, tools=[tool]), credentials="memory://")
    ids = [(await runner.run("go", session_id=s)).pending[0].call_id for s in ("s1", "s2")]
    with pytest.raises(UsageError, match="waits for a credential"):
        await runner.answer("s1", ids[0], wrong)
    assert len(await runner.pending()) == 2
    assert await runner.answer("s1", ids[0], "a-wrong-key") == "accepted"
    assert len(await runner.pending("s2")) == 1, "nobody else is released before it proved good"
    assert (await runner.resume("s1")).status == "done"
    assert await runner.pending("s2") == []
    assert (await runner.resume("s2")).status == "done"


KEY = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="X-Key"),
    credential_key="api",
)


def api_key(value: str) -> AuthCredential:
    return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=value)


class SlowCredentials:
    """Keeps credentials, and lets others run before each save."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Any] = {}

    async def load(self, scope: Scope, key: str) -> Any:
        return self.kept.get((scope.user_id, key))

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.kept[scope.user_id, key] = credential

    async def delete(self, scope: Scope, key: str) -> None:
        self.kept.pop((scope.user_id, key), None)


@pytest.mark.parametrize("reverse", [False, True])
async def test_of_two_who_answer_at_once_the_accepted_ones_credential_is_used(
    reverse: bool,
) -> None:
    used: list[str | None] = []

    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        used.append(credential.api_key)
        return "fetched"

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=KEY)
    agent = Agent(name="a", model=ScriptedModel(call("fetch"), "Done."), tools=[tool])
    credentials = SlowCredentials()
    runner = Runner(agent, credentials=credentials)
    paused = await runner.run("go", session_id="s")
    outcomes: dict[str, str] = {}

    async def answer(value: str) -> None:
        outcomes[value] = await runner.answer("s", paused.pending[0].call_id, api_key(value))

    async with anyio.create_task_group() as group:
        for value in ("second", "first") if reverse else ("first", "second"):
            group.start_soon(answer, value)
    accepted = [value for value, outcome in outcomes.items() if outcome == "accepted"]
    assert sorted(outcomes.values()) == ["accepted", "duplicate"]
    assert (await runner.resume("s")).status == "done"
    assert used == accepted
    left = [name for _, name in credentials.kept if name.startswith("answer:")]
    assert left == [], "what was brought is kept no longer than it is needed"


def fetching(used: list[str | None], sessions: int = 1) -> Agent:
    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        used.append(credential.api_key)
        return "fetched"

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=KEY)
    model = ScriptedModel(*[call("fetch")] * sessions, *["Done."] * sessions)
    return Agent(name="a", model=model, tools=[tool])


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | MemoryStore:
    if request.param == "memory":
        return MemoryStore()
    return f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else new_database()


async def test_of_sign_ins_in_several_sessions_at_once_one_is_accepted_and_all_calls_released(
    store: str | MemoryStore,
) -> None:
    used: list[str | None] = []
    agent, credentials = fetching(used, 4), SlowCredentials()
    processes = [Runner(agent, store=store, credentials=credentials) for _ in range(4)]
    waiting = {
        f"s{number}": (await runner.run("go", session_id=f"s{number}")).pending[0].call_id
        for number, runner in enumerate(processes)
    }
    outcomes: dict[str, str] = {}

    async def answer(runner: Runner, session: str) -> None:
        outcomes[session] = await runner.answer(session, waiting[session], f"key-{session}")

    async with anyio.create_task_group() as group:
        for runner, session in zip(processes, waiting, strict=True):
            group.start_soon(answer, runner, session)
    assert sorted(outcomes.values()) == ["accepted", *["duplicate"] * 3]
    assert await processes[0].pending() == []
    for session in waiting:
        assert (await processes[0].resume(session)).status == "done"
    [accepted] = [session for session, outcome in outcomes.items() if outcome == "accepted"]
    assert used == [f"key-{accepted}"] * 4
    assert [name for _, name in credentials.kept if name.startswith("answer:")] == []
    for runner in processes:
        await runner.close()


async def test_a_deleted_session_takes_a_sign_in_along_only_when_no_other_is_to_use_it(
    store: str | MemoryStore,
) -> None:
    used: list[str | None] = []
    credentials = SlowCredentials()
    async with Runner(fetching(used, 4), store=store, credentials=credentials) as runner:
        ids = {s: (await runner.run("go", session_id=s)).pending[0].call_id for s in SESSIONS}
        outcomes = [await runner.answer(s, ids[s], "a-key") for s in SESSIONS]
        assert outcomes == ["accepted", "duplicate", "duplicate", "duplicate"]
        await runner.delete("s0")
        assert (await runner.resume("s1")).status == "done"
        assert used == ["a-key"]

        await credentials.delete(SCOPE, KEY.credential_key)
        await credentials.save(SCOPE, brought := await _answer_key(runner, "s2"), "a-key")
        await runner.delete("s2")
        assert await credentials.load(SCOPE, brought) == "a-key"
        await runner.delete("s3")
        assert await credentials.load(SCOPE, brought) is None


SESSIONS = ("s0", "s1", "s2", "s3")
SCOPE = Scope(app_name="app", user_id="user", session_id="s")


async def _answer_key(runner: Runner, session: str) -> str:
    [row] = await runner.store.open_calls("app", session)
    assert isinstance(row.answer, SignedIn)
    return row.answer.key


async def test_what_was_brought_is_deleted_also_when_a_run_has_taken_it_and_not_used_it() -> None:
    credentials = SlowCredentials()

    class Flows(AuthlibFlows):
        async def finish(self, scope: Scope, config: AuthConfig, answer: Any) -> AuthCredential:
            raise StoreError("the provider's answer could not be kept")

    runner = Runner(fetching([]), credentials=credentials, auth=Flows(credentials), retry_writes=0)
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "a-key")
    with pytest.raises(StoreError, match="could not be kept"):
        await runner.resume("s")
    [row] = await runner.store.open_calls("app")
    assert (row.answered, row.answer, len(credentials.kept)) == (True, None, 1)
    await runner.delete("s")
    assert credentials.kept == {}


async def test_a_sign_in_while_the_run_of_another_tries_its_credential_is_a_duplicate() -> None:
    used: list[str | None] = []
    credentials, second = SlowCredentials(), ""

    class Flows(AuthlibFlows):
        async def finish(self, scope: Scope, config: AuthConfig, answer: Any) -> AuthCredential:
            nonlocal second
            if not second:
                second = "being answered"
                second = await runner.answer("s2", ids["s2"], "another-key")
            return await super().finish(scope, config, answer)

    runner = Runner(fetching(used, 2), credentials=credentials, auth=Flows(credentials))
    ids = {s: (await runner.run("go", session_id=s)).pending[0].call_id for s in ("s1", "s2")}
    assert await runner.answer("s1", ids["s1"], "a-key") == "accepted"
    for session in ids:
        assert (await runner.resume(session)).status == "done"
    assert second == "duplicate"
    assert used == ["a-key", "a-key"]


async def test_what_one_has_brought_and_nobody_can_use_any_more_stands_in_nobodys_way() -> None:
    used: list[str | None] = []
    credentials = SlowCredentials()
    runner = Runner(fetching(used, 2), credentials=credentials)
    ids = {s: (await runner.run("go", session_id=s)).pending[0].call_id for s in ("s1", "s2")}
    assert await runner.answer("s1", ids["s1"], "lost-key") == "accepted"
    credentials.kept.clear()
    assert await runner.answer("s2", ids["s2"], "new-key") == "accepted"
    assert (await runner.resume("s2")).status == "done"
    assert used == ["new-key"]


async def test_a_later_answer_to_the_same_call_is_a_duplicate_and_its_secret_is_not_kept() -> None:
    credentials = SlowCredentials()
    runner = Runner(fetching([]), credentials=credentials)
    paused = await runner.run("go", session_id="s1")
    for outcome in ("accepted", "duplicate"):
        assert await runner.answer("s1", paused.pending[0].call_id, "a-key") == outcome
    assert len(credentials.kept) == 1
    await runner.resume("s1")
    assert await runner.answer("s1", paused.pending[0].call_id, "a-key") == "duplicate"
    assert await runner.answer("s1", "other", "a-key") == "unknown"


async def test_users_and_keys_are_told_apart() -> None:
    runner = Runner(fetching([], 2), credentials=SlowCredentials())
    ids = {
        user: (await runner.run("go", user_id=user, session_id=user)).pending[0].call_id
        for user in ("ada", "bob")
    }
    for user, call_id in ids.items():
        assert await runner.answer(user, call_id, f"key-of-{user}") == "accepted"


class SteppedStore(MemoryStore):
    """Lets others run, and be cancelled, before and after an answer is taken."""

    async def answer(self, *args: Any, **settings: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        outcome = await super().answer(*args, **settings)
        await anyio.lowlevel.checkpoint()
        return outcome

    async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
        await anyio.lowlevel.checkpoint()
        return await super().open_calls(app_name, session_id)


@pytest.mark.parametrize("how", ["scope", "task"])
async def test_a_secret_is_kept_if_and_only_if_its_answer_was_accepted_wherever_it_is_cancelled(
    how: str,
) -> None:
    kept = set()
    for steps in range(25):
        credentials = SlowCredentials()
        runner = Runner(fetching([]), store=SteppedStore(), credentials=credentials)
        call_id = (await runner.run("go", session_id="s")).pending[0].call_id
        await _cancelled_after(steps, runner, call_id, how)
        [row] = await runner.store.open_calls("app")
        assert row.answered == any(key.startswith("answer:") for _, key in credentials.kept)
        kept.add(row.answered)
    assert kept == {True, False}, "the test must have cancelled before it and after it"


async def _cancelled_after(steps: int, runner: Runner, call_id: str, how: str) -> None:
    async def answer() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await runner.answer("s", call_id, "a-key")

    scopes: list[anyio.CancelScope] = []
    task = asyncio.create_task(answer())
    for _ in range(steps + 1):
        await anyio.lowlevel.checkpoint()
    if how == "task":
        task.cancel()
    else:
        scopes[0].cancel()
    await asyncio.wait([task])


class FailingStore(MemoryStore):
    """Takes an answer, or does not, and then fails."""

    after = False

    async def answer(self, *args: Any, **settings: Any) -> Any:
        if self.after:
            await super().answer(*args, **settings)
        raise StoreError("the connection was lost")


@pytest.mark.parametrize("after", [False, True])
async def test_a_secret_is_kept_if_its_answer_was_taken_though_the_stores_word_was_lost(
    after: bool,
) -> None:
    credentials, store = SlowCredentials(), FailingStore()
    store.after = after
    used: list[str | None] = []
    runner = Runner(fetching(used), store=store, credentials=credentials)
    paused = await runner.run("go", session_id="s")
    with pytest.raises(StoreError, match="lost"):
        await runner.answer("s", paused.pending[0].call_id, "a-key")
    assert len(credentials.kept) == after
    assert (await runner.resume("s")).status == ("done" if after else "paused")
    assert used == ["a-key"] * after


class LateCredentials(SlowCredentials):
    """Says when what a person brought is to be read, and gives it out once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted, self.ready = anyio.Event(), anyio.Event()

    async def load(self, scope: Scope, key: str) -> Any:
        if key.startswith("answer:"):
            self.wanted.set()
            await self.ready.wait()
        return await super().load(scope, key)


async def test_a_secret_is_kept_though_the_stores_word_was_lost_when_a_run_has_taken_the_answer(
    store: str | MemoryStore,
) -> None:
    used: list[str | None] = []
    credentials, kept = LateCredentials(), open_store(store)
    runner = Runner(fetching(used), store=kept, credentials=credentials)
    paused = await runner.run("go", session_id="s")

    async def resume() -> None:
        assert (await runner.resume("s")).status == "done"

    class LosingItsWord:
        async def answer(self, *args: Any, **settings: Any) -> Any:
            assert await kept.answer(*args, **settings) == "accepted"
            group.start_soon(resume)
            await credentials.wanted.wait()
            [row] = await kept.open_calls("app")
            assert row.answer is None, "it is in the log"
            raise StoreError("the connection was lost")

        def __getattr__(self, name: str) -> Any:
            return getattr(kept, name)

    other: Any = LosingItsWord()
    person = Runner(fetching([]), store=other, credentials=credentials)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            with pytest.raises(StoreError, match="lost"):
                await person.answer("s", paused.pending[0].call_id, "a-key")
            credentials.ready.set()
    assert used == ["a-key"]
    assert not [key for _, key in credentials.kept if key.startswith("answer:")]
    await runner.close()


async def test_a_sign_in_as_another_call_is_about_to_ask_releases_that_call_too(
    store: str | MemoryStore,
) -> None:
    used: list[str | None] = []
    credentials = SlowCredentials()

    class Flows(AuthlibFlows):
        async def begin(self, scope: Scope, config: AuthConfig) -> dict[str, Any]:
            if scope.session_id == "late":
                assert await runner.answer("s", asked, "a-key") == "accepted"
                assert (await runner.resume("s")).status == "done"
            return await super().begin(scope, config)

    async with Runner(
        fetching(used, 2), store=store, credentials=credentials, auth=Flows(credentials)
    ) as runner:
        asked = (await runner.run("go", session_id="s")).pending[0].call_id
        late = await runner.run("go", session_id="late")
        assert (late.status, await runner.pending()) == ("done", [])
    assert used == ["a-key", "a-key"]
    assert [name for _, name in credentials.kept if name.startswith("answer:")] == []


async def test_a_credential_that_was_refused_is_not_given_again_but_asked_for() -> None:
    used: list[str | None] = []

    def fetch(tool_context: ToolContext) -> str:
        """Fetch."""
        credential = tool_context.get_auth_response(KEY)
        if credential is not None:
            used.append(credential.api_key)
        tool_context.request_credential(KEY)
        return ""

    credentials = SlowCredentials()
    agent = Agent(name="a", model=ScriptedModel(call("fetch"), "Done."), tools=[fetch])
    runner = Runner(agent, credentials=credentials)
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "a-key")
    again = await runner.resume("s")
    assert (again.status, len(again.pending), used) == ("paused", 1, ["a-key"])


async def test_a_second_look_that_fails_leaves_the_question_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    credentials = SlowCredentials()

    class Flows(AuthlibFlows):
        is_away = False

        async def begin(self, scope: Scope, config: AuthConfig) -> dict[str, Any]:
            self.is_away = True
            return await super().begin(scope, config)

        async def ready(self, scope: Scope, config: AuthConfig) -> AuthCredential | None:
            if self.is_away:
                self.is_away = False
                raise OSError("the provider is away")
            return await super().ready(scope, config)

    runner = Runner(fetching([]), credentials=credentials, auth=Flows(credentials))
    paused = await runner.run("go", session_id="s")
    assert (paused.status, "no second look" in caplog.text) == ("paused", True)
    assert await runner.answer("s", paused.pending[0].call_id, "a-key") == "accepted"
    assert (await runner.resume("s")).status == "done"


async def test_a_callback_is_good_for_the_others_when_who_waited_first_is_gone(
    tmp_path: Path, provider: Provider
) -> None:
    class Deleting(SqlStore):
        """A session goes as soon as somebody has read that its calls wait."""

        leaves = ""

        async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
            found = await super().open_calls(app_name, session_id)
            gone, Deleting.leaves = Deleting.leaves, ""
            if gone:
                await self.delete(Scope(app_name=app_name, user_id="ada", session_id=gone))
            return found

    async with runner_at(tmp_path, provider, Deleting(f"sqlite:///{tmp_path}/s.db")) as runner:
        for session_id in ("s1", "s2"):
            paused = await runner.run("go", user_id="ada", session_id=session_id)
        came_back = provider.sign_in(paused.pending[0].payload["auth_uri"])
        Deleting.leaves = "s1"
        assert set(await runner.answer_sign_in(came_back, user_id="ada")) == {"s2"}
        assert await runner.pending() == []
        assert (await runner.resume("s2")).status == "done"


@pytest.mark.parametrize("kind", ["key", "provider"])
async def test_a_branch_asks_nobody_for_a_sign_in_that_was_made_before(
    tmp_path: Path, provider: Provider, kind: str
) -> None:
    asked_for = KEY if kind == "key" else provider.oidc()
    tool = AuthenticatedFunctionTool(func=first, auth_config=asked_for, idempotent=True)
    model = ScriptedModel(call("first"), *["Done."] * 99)
    store, fetched = f"sqlite:///{tmp_path}/s.db", f"first {kind == 'provider'}"
    agent = Agent(name="reader", model=model, tools=[tool])
    async with Runner(agent, store=store, credentials=f"sqlite:///{tmp_path}/c.db") as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        await runner.branch("s", new_id="before")
        brought = "key" if kind == "key" else provider.sign_in(asked.payload["auth_uri"])
        assert await runner.answer("s", asked.call_id, brought) == "accepted"
        await runner.branch("s", new_id="meanwhile")
        assert await runner.pending("meanwhile") == []
        for session in ("s", "before", "meanwhile"):
            done = await runner.resume(session)
            assert (done.status, texts(done)) == ("done", [fetched]), session
        for event in await runner.events("s"):
            await runner.branch("s", new_id=f"b{event.seq}", upto=event.seq)
            assert await runner.pending(f"b{event.seq}") == [], event
            done = await runner.resume(f"b{event.seq}")
            assert done.status == "done", event
            assert set(texts(done)) <= {fetched}, event
