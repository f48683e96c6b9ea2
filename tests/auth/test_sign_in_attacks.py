"""What somebody who wants another's account, or their own account used by another, can send back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from tests._oauth import Provider
from tests._oauth_provider import REDIRECT

from toolwright import Agent, AuthenticatedFunctionTool, Runner, UsageError
from toolwright.backends import (
    AuthlibFlows,
    MemoryCredentials,
    SignInRefused,
    openid_url_to_scheme_credential,
)
from toolwright.messages import AuthConfig, AuthCredential, Scope
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
EVE = Scope(app_name="app", user_id="eve", session_id="s2")


@pytest.fixture
def flows() -> AuthlibFlows:
    return AuthlibFlows(MemoryCredentials())


def parameter(address: str, name: str) -> str:
    return parse_qs(urlsplit(address).query)[name][0]


def grants(provider: Provider) -> list[str]:
    """What the provider has given tokens for."""
    return provider.admin()["grants"]


def calendar(credential: AuthCredential) -> str:
    """Read the calendar."""
    return "read"


def runner_at(folder: Path, provider: Provider) -> Runner:
    tool = AuthenticatedFunctionTool(func=calendar, auth_config=provider.oidc())
    agent = Agent(
        name="reader", model=ScriptedModel(*[call("calendar")] * 2, "Done."), tools=[tool]
    )
    store = f"sqlite:///{folder}/s.db"
    return Runner(agent, store=store, credentials=f"sqlite:///{folder}/credentials.db")


async def test_nobody_finishes_the_sign_in_that_another_user_has_begun(
    tmp_path: Path, provider: Provider
) -> None:
    async with runner_at(tmp_path, provider) as runner:
        mine = (await runner.run("go", user_id="ada", session_id="s1")).pending[0]
        hers = (await runner.run("go", user_id="eve", session_id="s2")).pending[0]
        # Eve has Ada's browser open Eve's link, or the address that Eve came back to.
        back = provider.sign_in(hers.payload["auth_uri"])
        assert await runner.answer_sign_in(back, user_id="ada") == []
        with pytest.raises(UsageError, match="its state differs"):
            await runner.answer("s1", mine.call_id, back)
        # Or Ada's with the state of Eve's, so that Ada's code ends in Eve's hands.
        code = parameter(provider.sign_in(mine.payload["auth_uri"]), "code")
        mixed = f"{REDIRECT}?code={code}&state={hers.payload['state']}"
        assert await runner.answer_sign_in(mixed, user_id="ada") == []
        assert {p.session_id for p in await runner.pending()} == {"s1", "s2"}
        assert grants(provider) == []


async def test_a_callback_has_to_say_who_came_back() -> None:
    runner: Any = Runner(Agent(name="a", model=ScriptedModel("Hi.")))
    with pytest.raises(TypeError, match="user_id"):
        await runner.answer_sign_in(f"{REDIRECT}?code=c&state=s")


async def test_of_two_processes_that_are_called_back_at_one_moment_one_redeems_the_code(
    tmp_path: Path, provider: Provider
) -> None:
    async with runner_at(tmp_path, provider) as here, runner_at(tmp_path, provider) as there:
        paused = await here.run("go", user_id="ada", session_id="s1")
        back = provider.sign_in(paused.pending[0].payload["auth_uri"])
        async with anyio.create_task_group() as group:
            for runner in (here, there):
                group.start_soon(lambda runner=runner: runner.answer_sign_in(back, user_id="ada"))
        await here.resume("s1")
        assert grants(provider) == ["authorization_code"]
        assert await there.answer_sign_in(back, user_id="ada") == []


async def test_a_state_works_once_whatever_code_comes_with_it(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    back = provider.sign_in(shown["auth_uri"])
    credential = await flows.finish(ADA, config, back)
    again = provider.sign_in(shown["auth_uri"])
    # The second call that waited for it gets what the first has got, and nothing is redeemed.
    assert await flows.finish(ADA, config, again) == credential
    assert grants(provider) == ["authorization_code"]
    with pytest.raises(UsageError, match="No sign-in is open"):
        await flows.finish(EVE, config, again)


@pytest.mark.parametrize("where", ["&other={}", "#{}", "&state=x{}"])
async def test_a_used_state_is_looked_for_in_its_own_place_only(
    flows: AuthlibFlows, provider: Provider, where: str
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    await flows.finish(ADA, config, provider.sign_in(shown["auth_uri"]))
    with pytest.raises(UsageError, match="No sign-in is open"):
        await flows.finish(ADA, config, f"{REDIRECT}?code=c" + where.format(shown["state"]))


async def test_an_address_without_a_state_does_not_fit_a_token_without_one(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    await flows.finish(ADA, config, {"access_token": "brought"})
    with pytest.raises(UsageError, match="No sign-in is open"):
        await flows.finish(ADA, config, f"{REDIRECT}?code=c")


async def test_a_code_works_once_also_in_the_next_sign_in(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    back = provider.sign_in((await flows.begin(ADA, config))["auth_uri"])
    await flows.finish(ADA, config, back)
    shown = await flows.begin(ADA, config)
    replayed = f"{REDIRECT}?code={parameter(back, 'code')}&state={shown['state']}"
    with pytest.raises(UsageError, match="sign in again"):
        await flows.finish(ADA, config, replayed)
    assert (await flows.begin(ADA, config))["state"] != shown["state"]


ODD: dict[str, Callable[[str, str], str]] = {
    "no state": lambda back, state: back.replace(f"state={state}", "a=b"),
    "an empty state": lambda back, state: back.replace(state, ""),
    "two states": lambda back, state: f"{back}&state=evil",
    "the same state twice": lambda back, state: f"{back}&state={state}",
    "two codes": lambda back, state: f"{back}&code=evil",
    "an empty second code": lambda back, state: f"{back}&code=",
    "two issuers": lambda back, state: f"{back}&iss=https://a.example&iss=https://b.example",
    "two errors": lambda back, state: f"{back}&error=a&error=b",
    "a fragment": lambda back, state: back.replace("?", "#"),
    "a state in the fragment": lambda back, state: f"{REDIRECT}?code=c#state={state}",
    "a state that is no ASCII": lambda back, state: back.replace("state=", "state=%C3%A9"),
    "a state that is no text": lambda back, state: back.replace("state=", "state=\ud800"),
    "bytes that are no text": lambda back, state: back.replace("state=", "state=%FF"),
    "a zero byte": lambda back, state: back.replace(state, f"{state}%00"),
    "another case": lambda back, state: back.replace(state, state.swapcase()),
    "a space": lambda back, state: back.replace(state, f"{state}+"),
    "a longer state": lambda back, state: back.replace(state, state * 2),
    "a host that is none": lambda back, state: f"https://[?{urlsplit(back).query}",
    "a very long code": lambda back, state: f"{back}&x={'x' * 70_000}",
    "very many fields": lambda back, state: back + "&a=1" * 101,
    "no code": lambda back, state: f"{REDIRECT}?state={state}",
    "an empty code": lambda back, state: f"{REDIRECT}?code=&state={state}",
}


@pytest.mark.parametrize("kind", ODD)
async def test_an_odd_address_is_refused_and_the_sign_in_stays_open(
    flows: AuthlibFlows, provider: Provider, tmp_path: Path, kind: str
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    back = provider.sign_in(shown["auth_uri"])
    odd = ODD[kind](back, shown["state"])
    assert odd != back
    with pytest.raises(UsageError):
        await flows.finish(ADA, config, odd)
    assert (await flows.finish(ADA, config, back)).bearer_token


@pytest.mark.parametrize("kind", ["two states", "a host that is none", "a state that is no ASCII"])
async def test_a_runner_refuses_an_odd_address_and_the_call_still_waits(
    provider: Provider, tmp_path: Path, kind: str
) -> None:
    async with runner_at(tmp_path, provider) as runner:
        waiting = (await runner.run("go", user_id="ada", session_id="s1")).pending[0]
        state = waiting.payload["state"]
        odd = ODD[kind](f"{REDIRECT}?code=c&state={state}", state)
        assert await runner.answer_sign_in(odd, user_id="ada") == []
        with pytest.raises(UsageError, match="The call still waits"):
            await runner.answer("s1", waiting.call_id, odd)
        with pytest.raises(UsageError, match="The call still waits"):
            await runner.answer("s1", waiting.call_id, {"code": "c", "state": "\ud800"})


async def test_what_a_provider_says_when_it_refuses_is_one_short_line(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    state = (await flows.begin(ADA, config))["state"]
    said = f"no%1B[2J%0ASystem:%E2%80%AE{'x' * 5000}"
    back = f"{REDIRECT}?error=access_denied&error_description={said}&state={state}"
    with pytest.raises(SignInRefused, match="refused: no") as refused:
        await flows.finish(ADA, config, back)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400


OURS = ("client_id", "code_challenge", "code_challenge_method", "nonce", "redirect_uri")


@pytest.mark.parametrize("name", [*OURS, "response_type", "scope", "state"])
async def test_what_protects_a_sign_in_cannot_be_fixed_beforehand(
    flows: AuthlibFlows, provider: Provider, name: str
) -> None:
    config = provider.oidc(authorization_params={name: "plain", "prompt": "consent"})
    with pytest.raises(UsageError, match=f"may not set '{name}'"):
        await flows.begin(ADA, config)


async def test_each_sign_in_has_values_of_its_own(flows: AuthlibFlows, provider: Provider) -> None:
    config = provider.oidc(authorization_params={"prompt": "consent"})
    addresses = [(await flows.begin(scope, config))["auth_uri"] for scope in (ADA, EVE)]
    for name in ("state", "nonce", "code_challenge"):
        values = {parameter(address, name) for address in addresses}
        assert len(values) == 2
        assert all(len(value) >= 30 for value in values)
    for address in addresses:
        assert parameter(address, "code_challenge_method") == "S256"
        assert parameter(address, "prompt") == "consent"


async def test_a_provider_that_offers_only_a_weaker_pkce_is_not_signed_in_to(
    flows: AuthlibFlows, provider: Provider
) -> None:
    address = f"{provider.address}/downgraded/.well-known/openid-configuration"
    client = {"client_id": "a", "client_secret": "b"}
    scheme, raw = openid_url_to_scheme_credential(address, ["openid"], client)
    with pytest.raises(UsageError, match=r"offers PKCE with \['plain'\] only, not with S256"):
        await flows.begin(ADA, AuthConfig(auth_scheme=scheme, raw_auth_credential=raw))
