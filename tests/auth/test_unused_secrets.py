"""What a person has brought is kept no longer than some call may still use it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from toolwright import Agent, AuthenticatedFunctionTool, Runner
from toolwright.backends import MemoryStore
from toolwright.messages import AuthConfig, AuthCredential, CustomAuthScheme, Event, Scope
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
KEY = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="X-Key"),
    credential_key="api",
)


class Meanwhile(MemoryStore):
    """A store in which something happens right before the next append."""

    meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def append(self, scope: Scope, events: Sequence[Event], *more: Any, **named: Any) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        await super().append(scope, events, *more, **named)


class Kept:
    """Credentials, and what is kept of answers."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.refuses = False
        self.deleted: list[str] = []

    @property
    def answers(self) -> list[Any]:
        return [value for key, value in self.kept.items() if key.startswith("answer:")]

    async def load(self, scope: Scope, key: str) -> Any:
        return self.kept.get(key)

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        self.kept[key] = credential

    async def delete(self, scope: Scope, key: str) -> None:
        if self.refuses:
            raise OSError("the keyring is locked")
        self.kept.pop(key, None)
        self.deleted.append(key)


def fetching(sessions: int = 1) -> Agent:
    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        return f"{len(credential.api_key or '')} letters"

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=KEY)
    model = ScriptedModel(*[call("fetch")] * sessions, *["Done."] * 4)
    return Agent(name="a", model=model, tools=[tool])


async def ask(runner: Runner, session: str = "s") -> str:
    return (await runner.run("go", session_id=session)).pending[0].call_id


async def sign_in_too_late(runner: Runner, store: Meanwhile) -> None:
    """Somebody signs in just as the person writes instead, so that the call has its result."""
    asked = await ask(runner)
    said: list[str] = []

    async def answer() -> None:
        said.append(await runner.answer("s", asked, "s3cret"))

    store.meanwhile = answer
    assert (await runner.run("never mind", session_id="s")).status == "done"
    assert said == ["accepted"]


async def test_a_secret_that_came_too_late_for_its_call_is_deleted_when_the_model_is_told() -> None:
    store, credentials = Meanwhile(), Kept()
    runner = Runner(fetching(), store=store, credentials=credentials)
    await sign_in_too_late(runner, store)
    assert (await runner.resume("s")).status == "done"
    told = [m.text for m in await runner.history("s") if m.kind == "user"]
    assert "signed in for this call, but it had ended before" in told[-1]
    assert credentials.kept == {}


async def test_a_secret_that_another_session_is_to_use_stays_until_it_has() -> None:
    store, credentials = Meanwhile(), Kept()
    runner = Runner(fetching(2), store=store, credentials=credentials)
    other = await ask(runner, "other")
    await sign_in_too_late(runner, store)
    assert await runner.answer("other", other, "another") == "duplicate"
    assert (await runner.resume("s")).status == "done"
    assert credentials.answers == ["s3cret"]
    done = await runner.resume("other")
    texts = [r.text for m in done.history if m.kind == "tool" for r in m.results]
    assert texts == [f"{len('s3cret')} letters"]
    assert credentials.answers == []


async def test_a_deleted_session_takes_along_what_only_its_journal_knows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, credentials = Meanwhile(), Kept()
    runner = Runner(fetching(), store=store, credentials=credentials)
    await sign_in_too_late(runner, store)
    credentials.refuses = True
    assert (await runner.resume("s")).status == "done"
    assert "a secret could not be deleted" in caplog.text
    assert await store.open_calls("app", "s") == []
    assert credentials.answers == ["s3cret"]
    credentials.refuses = False
    await runner.delete("s")
    assert credentials.answers == []


async def test_a_secret_is_deleted_by_the_next_run_when_one_could_not_store_its_end() -> None:
    store, credentials = Meanwhile(), Kept()
    runner = Runner(fetching(), store=store, credentials=credentials)
    await sign_in_too_late(runner, store)
    credentials.refuses = True
    await runner.resume("s")
    credentials.refuses = False
    scope, events = Scope(app_name="app", user_id="user", session_id="s"), await runner.events("s")
    # As a process leaves it that dies before its run has ended.
    await store.delete(scope)
    await store.open(scope)
    await store.append(scope, events[:-1])
    assert (await runner.resume("s")).status == "done"
    assert credentials.answers == []
    deleted = list(credentials.deleted)
    assert (await runner.run("and now?", session_id="s")).status == "done"
    assert credentials.deleted == deleted, "what has been dealt with is not looked for again"
