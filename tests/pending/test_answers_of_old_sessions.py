"""An answer to a question of a deleted session is none to what a new session of its id asks."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from toolwright import (
    Agent,
    Approve,
    AuthenticatedFunctionTool,
    FunctionTool,
    Runner,
    ToolContext,
    deferred_tool,
)
from toolwright.backends import MemoryCredentials, MemoryStore
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    ModelMessage,
    Pending,
    Scope,
    ToolCall,
)
from toolwright.serve import Links, ServeSettings, create_app
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
LINKS = Links("a secret of some length", "http://127.0.0.1")


class Interrupted(MemoryStore):
    """Does something once, when an answer has been checked and is about to be stored."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def answer(self, *given: Any, **more: Any) -> Any:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().answer(*given, **more)


def asking(tool: Any, *payees: str) -> Agent:
    """Asks for the same call id each time, as models do that give none."""
    turns = [
        ModelMessage(
            parts=(ToolCall(call_id="same", name=tool.name, arguments=f'{{"to": "{payee}"}}'),)
        )
        for payee in payees
    ]
    return Agent(name="a", model=ScriptedModel(*turns, "Done.", "Done."), tools=[tool])


class Bank:
    """A session that asks about a payment to Bob, and is begun anew with one to Mallory."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.links: list[str] = []
        self.store = Interrupted()
        self.runner = Runner(asking(self._tool(), "bob", "mallory"), store=self.store)

    def _tool(self) -> Any:
        def pay(to: str) -> str:
            """Pay."""
            self.paid.append(to)
            return "paid"

        return FunctionTool(pay, require_confirmation=True)

    async def ask(self) -> Pending:
        [asked] = (await self.runner.run("go", user_id="u", session_id="s")).pending
        return asked

    async def begin_anew(self) -> None:
        await self.runner.delete("s")
        await self.ask()

    async def still_asks(self) -> bool:
        waiting = [p.arguments["to"] for p in await self.runner.pending("s")]
        calls = await self.store.open_calls(self.runner.app_name, "s")
        return waiting == ["mallory"] and not any(call.answered for call in calls)


class MailingBank(Bank):
    """The same, where the answers come through links."""

    def _tool(self) -> Any:
        @deferred_tool()
        async def pay(to: str, tool_context: ToolContext) -> None:
            """Pay."""
            self.links.append(LINKS.answer(tool_context, "approved"))

        return pay


@pytest.mark.parametrize("with_key", [True, False], ids=["key", "no key"])
async def test_an_approval_that_is_overtaken_by_a_new_session_approves_nothing_there(
    with_key: bool,
) -> None:
    bank = Bank()
    asked = await bank.ask()
    bank.store.meanwhile = bank.begin_anew
    key = asked.key if with_key else ""
    assert await bank.runner.answer("s", asked.call_id, Approve(), key=key) == "unknown"
    assert await bank.still_asks()
    assert bank.paid == []


async def test_a_key_of_an_old_session_is_unknown_to_the_new_one_whatever_became_of_its_call() -> (
    None
):
    bank = Bank()
    old = await bank.ask()
    await bank.begin_anew()
    [new] = await bank.runner.pending("s")
    assert new.call_id == old.call_id
    assert await bank.runner.answer("s", old.call_id, Approve(), key=old.key) == "unknown"
    # Not an error either: what does not fit a question that nobody has seen is nobody's mistake.
    assert await bank.runner.answer("s", old.call_id, "no decision", key=old.key) == "unknown"
    assert await bank.still_asks()
    assert await bank.runner.answer("s", new.call_id, Approve(), key=new.key) == "accepted"
    assert await bank.runner.answer("s", old.call_id, Approve(), key=old.key) == "unknown"
    assert await bank.runner.answer("s", new.call_id, Approve(), key=new.key) == "duplicate"
    await bank.runner.resume("s")
    assert await bank.runner.answer("s", old.call_id, Approve(), key=old.key) == "unknown"
    assert await bank.runner.answer("s", new.call_id, Approve(), key=new.key) == "duplicate"
    assert bank.paid == ["mallory"]


async def test_of_several_answers_those_with_old_keys_are_left_out() -> None:
    bank = Bank()
    old = await bank.ask()
    await bank.begin_anew()
    [new] = await bank.runner.pending("s")
    answers = {new.call_id: Approve(), "other": Approve()}
    found = await bank.runner.answer_all("s", answers, keys={new.call_id: old.key})
    assert found == {new.call_id: "unknown", "other": "unknown"}
    assert await bank.still_asks()


async def test_a_question_that_a_branch_has_taken_along_is_answered_by_its_key() -> None:
    bank = Bank()
    await bank.ask()
    await bank.runner.branch("s", new_id="b")
    [asked] = await bank.runner.pending("b")
    assert await bank.runner.answer("b", asked.call_id, Approve(), key="another") == "unknown"
    assert await bank.runner.answer("b", asked.call_id, Approve(), key=asked.key) == "accepted"
    await bank.runner.resume("b")
    assert await bank.runner.answer("b", asked.call_id, Approve(), key=asked.key) == "duplicate"


async def test_a_result_that_gives_way_to_an_answer_does_not_look_at_a_new_session() -> None:
    """Its first try finds the question answered; before the second the session is begun anew."""

    class Overtaken(MemoryStore):
        async def answer(self, *given: Any, **more: Any) -> Any:
            if given[2] == told[0] and len(told) == 1:
                assert await super().answer("app", "s", asked.call_id, Approve()) == "accepted"
                found = await super().answer(*given, **more)
                await runner.delete("s")
                # The new one asks nothing before its result.
                await runner.run("go", session_id="s")
                return found
            return await super().answer(*given, **more)

    told: list[str] = []

    @deferred_tool()
    def order(to: str, tool_context: ToolContext) -> None:
        """Order."""
        told.append(tool_context.pending_id)
        if to == "bob":
            tool_context.request_confirmation()

    runner = Runner(asking(order, "bob", "mallory"), store=Overtaken())
    [asked] = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", told[0], "shipped") == "unknown"
    [call] = await runner.store.open_calls("app", "s")
    assert (call.pending.call_id, call.pending.kind, call.answered) == (told[0], "result", False)


def served(runner: Runner) -> httpx2.AsyncClient:
    app = create_app(runner, settings=ServeSettings(requests_per_second=0), links=LINKS)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")


async def test_a_request_that_is_overtaken_by_a_new_session_answers_nothing_there() -> None:
    bank = Bank()
    asked = await bank.ask()
    bank.store.meanwhile = bank.begin_anew
    body = {"call_id": asked.call_id, "key": asked.key, "answer": {"kind": "approve"}}
    async with served(bank.runner) as http:
        reply = await http.post("/api/sessions/s/answers", json=body)
    assert (reply.status_code, bank.paid) == (404, [])
    assert await bank.still_asks()


async def test_a_link_that_is_overtaken_by_a_new_session_answers_nothing_there() -> None:
    bank = MailingBank()
    await bank.ask()
    bank.store.meanwhile = bank.begin_anew
    async with served(bank.runner) as http:
        reply = await http.post(httpx2.URL(bank.links[0]).path)
    assert reply.status_code == 404
    assert await bank.still_asks()


KEY = AuthConfig(
    auth_scheme=CustomAuthScheme(type="key"),
    raw_auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY),
    credential_key="shop",
)


def fetching(store: MemoryStore, secrets: MemoryCredentials, sessions: int) -> Runner:
    def fetch(to: str, credential: AuthCredential) -> str:
        """Fetch."""
        return "fetched"

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=KEY)
    agent = asking(tool, *[f"shop {at}" for at in range(sessions)])
    return Runner(agent, store=store, credentials=secrets)


async def test_a_sign_in_that_is_overtaken_by_a_new_session_keeps_and_answers_nothing() -> None:
    store, saved = Interrupted(), []

    class Secrets(MemoryCredentials):
        async def save(self, scope: Scope, key: str, credential: Any) -> None:
            saved.append((scope, key))
            await super().save(scope, key, credential)

    secrets = Secrets()
    runner = fetching(store, secrets, 2)

    async def begin_anew() -> None:
        await runner.delete("s")
        await runner.run("go", session_id="s")

    [asked] = (await runner.run("go", session_id="s")).pending
    store.meanwhile = begin_anew
    assert await runner.answer("s", asked.call_id, "s3cret", key=asked.key) == "unknown"
    [call] = await store.open_calls(runner.app_name, "s")
    assert not call.answered
    [(scope, key)] = [found for found in saved if found[1].startswith("answer:")]
    assert await secrets.load(scope, key) is None


async def test_a_link_for_what_a_call_asks_second_has_the_key_of_the_call() -> None:
    links: list[str] = []

    @deferred_tool(require_confirmation=True)
    def pay(to: str, tool_context: ToolContext) -> None:
        """Pay."""
        links.append(LINKS.answer(tool_context, "approved"))

    runner = Runner(asking(pay, "bob"))
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve())
    [waiting] = (await runner.resume("s")).pending
    signed = LINKS.read(links[0].rpartition("/")[2])
    assert (signed.call_id, signed.key == waiting.key) == ("same~2", False)
    assert await runner.answer("s", signed.call_id, signed.answer, key=signed.key) == "accepted"
