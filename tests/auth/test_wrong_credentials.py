"""What cannot be the credential that was asked for is refused, and the call waits on."""

import time
from typing import Any

import pytest

from toolwright import Agent, Approve, AuthenticatedFunctionTool, Reject, Runner, UsageError
from toolwright.backends import MemoryCredentials
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthToolArguments,
    CustomAuthScheme,
    Given,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    Scope,
    SignedIn,
)
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
CANARY = "canary-secret"


def config(**scheme: Any) -> AuthConfig:
    return AuthConfig(auth_scheme=CustomAuthScheme(**scheme), credential_key="shop")


KEY = config(type="apiKey", location="header", name="X-Key")
BEARER = config(type="http", scheme="bearer")
BASIC = config(type="http", scheme="basic")
DIGEST = config(type="http", scheme="digest")
OAUTH = AuthConfig(
    auth_scheme=CustomAuthScheme(
        type="oauth2",
        flows={  # type: ignore[arg-type]
            "authorizationCode": {
                "authorizationUrl": "https://login.example/authorize",
                "tokenUrl": "https://login.example/token",
                "scopes": {},
            }
        },
    ),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(client_id="app", redirect_uri="https://app.example/back"),
    ),
    credential_key="shop",
)
NO_CLIENT = config(type="oauth2")
CUSTOM = config(type="handshake")
SCHEMES = {
    "key": KEY, "bearer": BEARER, "basic": BASIC, "digest": DIGEST, "oauth": OAUTH,
    "no client": NO_CLIENT, "custom": CUSTOM,
}  # fmt: skip


def credential(**fields: Any) -> AuthCredential:
    return AuthCredential.model_validate({"auth_type": "oauth2", **fields})


def api_key(value: Any) -> AuthCredential:
    return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=value)


def http(scheme: str, **given: Any) -> AuthCredential:
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme=scheme, credentials=HttpCredentials(**given)),
    )


TOKEN = credential(oauth2={"access_token": CANARY})
OVER = {"access_token": CANARY, "expires_at": time.time() - 1}
NOTHING = [
    None, "", "  ", {}, [], 0, 7, 1.5, True, b"canary-secret", str, AuthCredential, object(),
    (CANARY, CANARY), [CANARY], {"other": CANARY}, Approve(), Given(value=CANARY, status="error"),
    SignedIn(key="answer:1"), api_key(None), api_key(""), credential(), {"auth_type": "canary"},
    {"auth_type": "apiKey"}, {"exchanged_auth_credential": {"auth_type": "oauth2"}},
]  # fmt: skip
BACK = "https://app.example/back"
WRONG = [
    *[(name, value) for name in ("key", "bearer", "basic", "oauth") for value in NOTHING],
    *[("key", {"api_key": value}) for value in (None, "", " ", 5, [CANARY], {"x": CANARY})],
    *[("key", value) for value in ({"access_token": CANARY}, {"token": CANARY}, TOKEN)],
    ("key", {"username": "ada", "password": CANARY}),
    ("key", f"{CANARY}\r\nX-Admin: yes"),
    ("key", f"{CANARY}\ud800"),
    ("key", CANARY * 10_000),
    *[("bearer", {"token": value}) for value in (None, "", "\n", 5, [CANARY])],
    *[("bearer", {"access_token": value}) for value in (None, "", 5)],
    *[("bearer", value) for value in ({"api_key": CANARY}, api_key(CANARY), OVER)],
    ("bearer", {"username": "ada", "password": CANARY}),
    ("bearer", http("bearer", token="")),
    *[("basic", text) for text in (CANARY, ":", "ada:", f":{CANARY}")],
    *[("basic", {"username": "ada", "password": v}) for v in (None, "", 5, [CANARY])],
    *[("basic", {"username": v, "password": CANARY}) for v in (None, "", 5)],
    *[("basic", value) for value in ({"password": CANARY}, {"username": "ada"}, TOKEN)],
    *[("basic", value) for value in ({"token": CANARY}, http("basic", username="", password=""))],
    ("digest", {"token": None}),
    ("digest", http("digest", username="ada")),
    *[("oauth", {"access_token": value}) for value in (None, "", 5, [CANARY])],
    *[("oauth", value) for value in (OVER, {"access_token": CANARY, "expires_at": "never"})],
    *[("oauth", value) for value in (CANARY, api_key(CANARY), {"api_key": CANARY})],
    *[("oauth", value) for value in (BACK, f"{BACK}?code={CANARY}", f"{BACK}?state=STATE")],
    *[("oauth", value) for value in (f"{BACK}?code={CANARY}&state=x", {"code": CANARY})],
    ("oauth", {"code": CANARY, "state": "x"}),
    ("oauth", {"auth_response_uri": 5}),
    ("oauth", {"auth_response_uri": f"{BACK}?state=STATE"}),
    ("oauth", credential(oauth2={"auth_response_uri": f"{BACK}?code={CANARY}&state=x"})),
    ("no client", f"{BACK}?code={CANARY}&state=x"),
    *[("custom", value) for value in (None, "", {}, [], 5, str, b"x")],
]


class NotingCredentials(MemoryCredentials):
    """Notes under which keys something was saved."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[str] = []

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        self.saved.append(key)
        await super().save(scope, key, credential)


def fetch_with(asked: AuthConfig, used: list[AuthCredential]) -> Runner:
    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        used.append(credential)
        return "fetched"

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=asked)
    agent = Agent(name="a", model=ScriptedModel(call("fetch"), "Done."), tools=[tool])
    return Runner(agent, credentials=NotingCredentials())


@pytest.mark.parametrize(("scheme", "wrong"), WRONG)
async def test_what_is_no_such_credential_is_refused_without_being_shown(
    scheme: str, wrong: Any
) -> None:
    runner = fetch_with(SCHEMES[scheme], [])
    [waiting] = (await runner.run("go", session_id="s")).pending
    wrong = _with_state(wrong, waiting.payload.get("state", ""))
    with pytest.raises(UsageError, match="waits for a credential") as refused:
        await runner.answer("s", waiting.call_id, wrong)
    assert "canary" not in str(refused.value).replace("'canary'", "")
    assert await runner.pending("s") == [waiting]
    credentials = runner.services.credentials
    assert isinstance(credentials, NotingCredentials)
    assert not any(key.startswith("answer:") for key in credentials.saved)


def _with_state(answer: Any, state: str) -> Any:
    """The answer, with the state of the open sign-in in place of STATE."""
    if isinstance(answer, dict):
        return {name: _with_state(value, state) for name, value in answer.items()}
    return answer.replace("STATE", state) if isinstance(answer, str) else answer


RIGHT = [
    ("key", f" {CANARY}\n"),
    ("key", {"api_key": CANARY}),
    ("key", api_key(CANARY)),
    ("key", {"auth_type": "apiKey", "api_key": CANARY}),
    ("bearer", CANARY),
    ("bearer", {"token": CANARY}),
    ("bearer", {"access_token": CANARY}),
    ("bearer", TOKEN),
    ("bearer", http("bearer", token=CANARY)),
    ("basic", f"ada:{CANARY}"),
    ("basic", {"username": "ada", "password": CANARY}),
    ("basic", http("basic", username=CANARY, password="")),
    ("digest", CANARY),
    ("digest", {"username": "ada", "password": CANARY}),
    ("oauth", {"access_token": CANARY}),
    ("oauth", {"access_token": CANARY, "expires_at": time.time() + 900}),
    ("oauth", {**OVER, "refresh_token": "another"}),
    ("oauth", TOKEN),
    ("oauth", OAUTH.model_copy(update={"exchanged_auth_credential": TOKEN})),
    (
        "oauth",
        AuthToolArguments(
            function_call_id="c",
            auth_config=OAUTH.model_copy(update={"exchanged_auth_credential": TOKEN}),
        ),
    ),
]


@pytest.mark.parametrize(("scheme", "right"), RIGHT)
async def test_a_credential_of_the_kind_that_was_asked_for_is_used(scheme: str, right: Any) -> None:
    used: list[AuthCredential] = []
    runner = fetch_with(SCHEMES[scheme], used)
    [waiting] = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", waiting.call_id, right) == "accepted"
    assert (await runner.resume("s")).status == "done"
    assert CANARY in used[0].model_dump_json()


@pytest.mark.parametrize(
    "brought",
    [
        f"{BACK}?code=x&state=STATE",
        f"{BACK}?error=access_denied&state=STATE",
        {"code": "x", "state": "STATE"},
        {"auth_response_uri": f"{BACK}?code=x&state=STATE"},
        {"oauth2": {"auth_response_uri": f"{BACK}?code=x&state=STATE"}, "auth_type": "oauth2"},
    ],
)
async def test_the_end_of_the_open_sign_in_is_accepted_however_it_is_wrapped(brought: Any) -> None:
    runner = fetch_with(OAUTH, [])
    [waiting] = (await runner.run("go", session_id="s")).pending
    brought = _with_state(brought, waiting.payload["state"])
    assert await runner.answer("s", waiting.call_id, brought) == "accepted"


async def test_a_scheme_that_is_not_known_takes_whatever_says_something() -> None:
    runner = fetch_with(CUSTOM, [])
    [waiting] = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", waiting.call_id, {"handshake": "firm"}) == "accepted"


async def test_a_person_may_refuse_to_sign_in() -> None:
    runner = fetch_with(KEY, [])
    [waiting] = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", waiting.call_id, Reject(reason="no")) == "accepted"
    assert (await runner.resume("s")).status == "done"
