"""Tools that sign in: what the model sees, what the user is asked, and what the function gets."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from tests._oauth import Provider
from tests._oauth_provider import API_KEY

from toolwright import Agent, Reject, Result, Runner, ToolContext
from toolwright.errors import UsageError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    HttpAuth,
    HttpCredentials,
    ToolCall,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import AuthenticatedFunctionTool

pytestmark = pytest.mark.anyio

KEY_SCHEME = CustomAuthScheme(type="apiKey", **{"in": "header", "name": "X-API-Key"})
Function = Callable[..., Awaitable[Any]]


def calendar_function(provider: Provider) -> Function:
    async def list_events(days: int = 7, credential: AuthCredential | None = None) -> Any:
        """List the events of the coming days."""
        assert credential is not None
        headers = {"Authorization": f"Bearer {credential.bearer_token}"}
        async with httpx2.AsyncClient() as client:
            answer = await client.get(f"{provider.address}/calendar", headers=headers)
            return answer.raise_for_status().json()

    return list_events


def search_function(provider: Provider) -> Function:
    async def search(query: str, credential: AuthCredential) -> Any:
        """Search the catalogue."""
        headers = {"X-API-Key": credential.api_key or ""}
        async with httpx2.AsyncClient() as client:
            address = f"{provider.address}/products"
            answer = await client.get(address, params={"q": query}, headers=headers)
            return answer.raise_for_status().json()

    return search


def given_key(key: str) -> AuthConfig:
    raw = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=key)
    return AuthConfig(auth_scheme=KEY_SCHEME, raw_auth_credential=raw)


def runner_with(*tools: Any, script: list[Any], **settings: Any) -> tuple[Runner, ScriptedModel]:
    model = ScriptedModel(*script)
    agent = Agent(name="assistant", model=model, tools=list(tools))
    return Runner(agent, credentials="memory://", **settings), model


async def answer(runner: Runner, result: Result, value: Any) -> Result:
    (pending,) = result.pending
    assert await runner.answer(result.session_id, pending.call_id, value) == "accepted"
    return await runner.resume(result.session_id)


def tool_text(result: Result) -> str:
    return result.history[-2].results[0].text  # type: ignore[union-attr]


@pytest.mark.row("004-A0c")
async def test_the_model_never_sees_nor_sets_the_credential(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(search_function(provider), given_key(API_KEY))
    assert list(tool.spec.parameters["properties"]) == ["query"]

    runner, _model = runner_with(
        tool, script=[call("search", query="lamp", credential={"api_key": "mine"}), "Done."]
    )
    result = await runner.run("Find a lamp")

    assert "credential" in tool_text(result)
    assert "Invalid arguments" in tool_text(result)


async def test_a_given_key_is_used_without_asking_even_without_a_runner(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(search_function(provider), given_key(API_KEY))
    model = ScriptedModel(call("search", query="lamp"), "Found it.")

    result = await Agent(name="shop", model=model, tools=[tool]).run("Find a lamp")

    assert result.text == "Found it."
    assert "lamp No. 1" in tool_text(result)


@pytest.mark.row("004-A2")
async def test_a_bearer_token_that_was_obtained_upstream_is_used() -> None:
    seen: list[str | None] = []

    def call_api(endpoint: str, credential: AuthCredential | None = None) -> str:
        seen.append(credential.bearer_token if credential else None)
        return endpoint

    raw = AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="upstream")),
    )
    scheme = CustomAuthScheme(type="http", scheme="bearer")
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)
    runner, _ = runner_with(
        AuthenticatedFunctionTool(call_api, config), script=[call("call_api", endpoint="x"), "ok"]
    )
    await runner.run("go")

    assert seen == ["upstream"]


@pytest.mark.row("004-A0", "004-A3")
async def test_a_call_waits_until_the_user_has_signed_in_and_then_runs(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(
        calendar_function(provider),
        provider.oidc(),
        response_for_auth_required={"status": "auth_required", "message": "Please sign in."},
    )
    runner, model = runner_with(tool, script=[call("list_events"), "You have lunch."])

    paused = await runner.run("What is on?")
    assert paused.status == "paused"
    assert len(model.requests) == 1
    (pending,) = paused.pending
    assert (pending.kind, pending.hint) == ("credential", "Please sign in.")

    done = await answer(runner, paused, provider.sign_in(pending.payload["auth_uri"]))

    assert done.text == "You have lunch."
    assert "Lunch with Grace" in tool_text(done)


@pytest.mark.row("004-A6b")
async def test_tools_with_one_key_ask_once(provider: Provider) -> None:
    first = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc(), name="first")
    second = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc(), name="second")
    runner, _ = runner_with(first, second, script=[call("first"), "One.", call("second"), "Two."])
    paused = await runner.run("one", session_id="s1")
    await answer(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))

    assert (await runner.run("two", session_id="s2")).text == "Two."


async def test_two_calls_that_wait_for_one_credential_are_both_answered_by_it(
    provider: Provider,
) -> None:
    tool = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc())
    runner, _ = runner_with(
        tool, script=[[call("list_events", days=1), call("list_events", days=2)], "Done."]
    )
    paused = await runner.run("twice", session_id="s")
    assert len(paused.pending) == 2
    redirect = provider.sign_in(paused.pending[0].payload["auth_uri"])

    for pending in paused.pending:
        await runner.answer("s", pending.call_id, redirect)
    done = await runner.resume("s")

    assert done.text == "Done."
    assert provider.admin()["grants"] == ["authorization_code"]


async def test_after_a_401_the_function_runs_again_with_a_renewed_token(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc())
    runner, _ = runner_with(tool, script=[call("list_events"), "a", call("list_events"), "b"])
    paused = await runner.run("once", session_id="s")
    await answer(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))
    provider.admin(revoke_access=True)

    again = await runner.run("again", session_id="s")

    assert again.text == "b"
    assert provider.admin()["grants"] == ["authorization_code", "refresh_token"]


async def test_after_a_401_the_function_gets_its_arguments_as_they_were(provider: Provider) -> None:
    fetch = calendar_function(provider)
    got: list[list[int]] = []

    async def pay(cents: list[int], credential: AuthCredential) -> Any:
        """Pay them."""
        got.append(list(cents))
        cents.append(sum(cents))
        return await fetch(credential=credential)

    tool = AuthenticatedFunctionTool(pay, provider.oidc())
    script = [call("pay", cents=[1]), "a", call("pay", cents=[2]), "b"]
    runner, _ = runner_with(tool, script=script)
    paused = await runner.run("once", session_id="s")
    await answer(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))
    provider.admin(revoke_access=True)

    assert (await runner.run("again", session_id="s")).text == "b"
    assert got == [[1], [2], [2]]


async def test_after_a_401_that_nothing_helps_the_user_is_asked_again(provider: Provider) -> None:
    config = AuthConfig(auth_scheme=KEY_SCHEME, credential_key="shop")
    tool = AuthenticatedFunctionTool(search_function(provider), config)
    runner, _ = runner_with(tool, script=[call("search", query="lamp"), "Found."])

    paused = await runner.run("go", session_id="s")
    still = await answer(runner, paused, "a-wrong-key")
    assert still.status == "paused"
    assert still.pending[0].call_id.endswith("~2")

    assert (await answer(runner, still, API_KEY)).text == "Found."


async def test_a_given_key_that_is_refused_is_told_and_nobody_is_asked(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(search_function(provider), given_key("wrong-key"))
    runner, _ = runner_with(tool, script=[call("search", query="lamp"), "Sorry."])

    result = await runner.run("go")

    assert result.text == "Sorry."
    assert "was refused (401)" in tool_text(result)


async def test_an_address_of_another_sign_in_is_refused_and_the_call_waits_on(
    provider: Provider,
) -> None:
    tool = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc())
    runner, _ = runner_with(tool, script=[call("list_events"), "Done."])
    paused = await runner.run("go", session_id="s")
    redirect = provider.sign_in(paused.pending[0].payload["auth_uri"])

    with pytest.raises(UsageError, match="does not belong to the open request"):
        await answer(runner, paused, redirect.replace("state=", "state=x"))

    assert (await answer(runner, paused, redirect)).text == "Done."


async def test_a_code_that_the_provider_refuses_asks_again_and_says_why(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc())
    runner, _ = runner_with(tool, script=[call("list_events"), "Done."])
    paused = await runner.run("go", session_id="s")
    redirect = provider.sign_in(paused.pending[0].payload["auth_uri"])

    still = await answer(runner, paused, redirect.replace("code=", "code=x"))
    assert still.status == "paused"
    assert "Please sign in again" in still.pending[0].hint

    redirect = provider.sign_in(still.pending[0].payload["auth_uri"])
    assert (await answer(runner, still, redirect)).text == "Done."


async def test_a_person_may_decline_and_the_function_never_runs(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc())
    runner, _ = runner_with(tool, script=[call("list_events"), "As you wish."])
    paused = await runner.run("go", session_id="s")

    done = await answer(runner, paused, Reject(reason="not now"))

    assert done.text == "As you wish."
    assert "not now" in tool_text(done)


async def test_a_person_who_declines_at_the_provider_is_not_asked_again(provider: Provider) -> None:
    config = provider.oidc(authorization_params={"login_hint": "nobody"})
    tool = AuthenticatedFunctionTool(calendar_function(provider), config)
    runner, _ = runner_with(tool, script=[call("list_events"), "As you wish."])
    paused = await runner.run("go", session_id="s")

    done = await answer(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))

    assert done.text == "As you wish."
    assert "The sign-in was refused" in tool_text(done)


async def test_approval_comes_before_signing_in_and_holds_afterwards(provider: Provider) -> None:
    tool = AuthenticatedFunctionTool(
        calendar_function(provider), provider.oidc(), require_confirmation=True
    )
    runner, _ = runner_with(tool, script=[call("list_events"), "Done."])
    first = await runner.run("go", session_id="s")
    assert first.pending[0].kind == "confirmation"

    second = await answer(runner, first, True)
    assert second.pending[0].kind == "credential"

    redirect = provider.sign_in(second.pending[0].payload["auth_uri"])
    assert (await answer(runner, second, redirect)).text == "Done."


@pytest.mark.row("001-36", "001-37", "001-38", "004-A7")
async def test_a_function_may_ask_by_itself(provider: Provider) -> None:
    config = provider.oidc()
    fetch = calendar_function(provider)

    async def my_calendar(tool_context: ToolContext) -> Any:
        """List events."""
        credential = tool_context.get_auth_response(config)
        if credential is None:
            tool_context.request_credential(config)
            return {"status": "auth_required"}
        return await fetch(credential=credential)

    runner, _ = runner_with(my_calendar, script=[call("my_calendar"), "Done."])
    paused = await runner.run("go", session_id="s")
    done = await answer(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))

    assert "Stand-up" in tool_text(done)


async def test_a_function_with_two_credentials_never_mixes_them_up() -> None:
    mail = AuthConfig(auth_scheme=KEY_SCHEME, credential_key="mail")
    shop = AuthConfig(auth_scheme=KEY_SCHEME, credential_key="shop")
    seen: list[tuple[str | None, str | None]] = []

    async def order(tool_context: ToolContext) -> str:
        """Order something and mail about it."""
        found = [tool_context.get_auth_response(config) for config in (mail, shop)]
        for config, credential in zip((mail, shop), found, strict=True):
            if credential is None:
                tool_context.request_credential(config)
                return ""
        seen.append(tuple(c.api_key if c else None for c in found))  # type: ignore[arg-type]
        return "ordered"

    runner, _ = runner_with(order, script=[call("order"), "Done."])
    first = await runner.run("go", session_id="s")
    assert first.pending[0].payload["credential_key"] == "mail"
    second = await answer(runner, first, "mail-key")
    assert second.pending[0].payload["credential_key"] == "shop"
    await answer(runner, second, "shop-key")

    assert seen == [("mail-key", "shop-key")]


async def test_a_function_that_runs_again_with_its_credential_has_its_arguments_as_before() -> None:
    config = AuthConfig(auth_scheme=KEY_SCHEME, credential_key="shop")
    seen: list[list[str]] = []

    async def order(what: list[str], tool_context: ToolContext) -> str:
        """Order something."""
        seen.append(list(what))
        what.append("a surprise")
        if tool_context.get_auth_response(config) is None:
            tool_context.request_credential(config)
        return "ordered"

    script = [call("order", what=["tea"]), call("order", what=["tea"]), "Done."]
    runner, _ = runner_with(order, script=script)
    done = await answer(runner, await runner.run("go", session_id="s"), "shop-key")

    assert done.status == "done"
    assert seen == [["tea"]] * len(seen)
    assert len(seen) == 5


async def test_saved_credentials_can_be_read_and_written_by_tools() -> None:
    config = AuthConfig(auth_scheme=KEY_SCHEME, credential_key="shop")

    async def keep(tool_context: ToolContext) -> str:
        """Keep a key."""
        kept = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k-kept-0001")
        await tool_context.save_credential(config, kept)
        loaded = await tool_context.load_credential(config)
        by_key = await tool_context.get_credential("shop")
        return str(loaded == by_key == kept)

    runner, _ = runner_with(keep, script=[call("keep"), "Done."])
    assert tool_text(await runner.run("go")) == "True"


async def test_without_a_store_the_model_is_told_what_the_developer_must_do(
    provider: Provider,
) -> None:
    tool = AuthenticatedFunctionTool(calendar_function(provider), provider.oidc())
    model = ScriptedModel(call("list_events"), "Sorry.")
    result = await Agent(name="a", model=model, tools=[tool]).run("go")
    assert "credentials=" in tool_text(result)


def test_a_key_that_users_enter_needs_a_name_of_its_own() -> None:
    def search(query: str, credential: AuthCredential) -> str:
        return query

    with pytest.raises(UsageError, match="needs a credential_key of its own"):
        AuthenticatedFunctionTool(search, AuthConfig(auth_scheme=KEY_SCHEME))


async def test_a_configuration_may_be_given_by_its_fields() -> None:
    fields = {"auth_scheme": {"type": "http", "scheme": "bearer"}, "credential_key": "mail"}

    def send(tool_context: ToolContext) -> str:
        """Send a mail."""
        credential = tool_context.get_auth_response(fields)
        if credential is None:
            tool_context.request_credential(fields)
            return ""
        return str(credential.bearer_token == "a-token")

    runner, _ = runner_with(send, script=[call("send"), "Sent."])
    paused = await runner.run("go", session_id="s")
    assert paused.pending[0].hint == "Please sign in for 'mail'."
    assert tool_text(await answer(runner, paused, "a-token")) == "True"


@pytest.mark.parametrize("given", [None, "oauth2", {}, {"auth_scheme": {"name": "canary"}}])
def test_what_is_no_configuration_is_refused_at_once(given: Any) -> None:
    def search(query: str, credential: AuthCredential) -> str:
        return query

    with pytest.raises(UsageError, match="AuthConfig") as caught:
        AuthenticatedFunctionTool(search, given)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("given", ["nowhere://", 3, object()])
def test_what_is_no_credential_store_is_refused_at_once(given: Any) -> None:
    with pytest.raises(UsageError, match=r"credential store|Credentials"):
        Runner(Agent(name="a", model=ScriptedModel()), credentials=given)


async def test_the_same_call_id_in_two_sessions_of_a_user_is_no_mix_up() -> None:
    seen: list[str | None] = []

    def use(service: str, tool_context: ToolContext) -> str:
        """Use a service."""
        config = AuthConfig(auth_scheme=KEY_SCHEME, credential_key=service)
        credential = tool_context.get_auth_response(config)
        if credential is None:
            tool_context.request_credential(config)
            return ""
        seen.append(credential.api_key)
        return "used"

    def same_id(service: str) -> ToolCall:
        return ToolCall(call_id="c1", name="use", arguments=f'{{"service": "{service}"}}')

    runner, _ = runner_with(use, script=[same_id("mail"), same_id("shop"), "One.", "Two."])
    await runner.run("go", session_id="s1")
    await runner.run("go", session_id="s2")
    await runner.answer("s1", "c1", "mail-key")
    await runner.answer("s2", "c1", "shop-key")
    await runner.resume("s2")
    await runner.resume("s1")

    assert seen == ["shop-key", "mail-key"]
