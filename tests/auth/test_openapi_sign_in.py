"""An OpenAPI toolset whose users sign in: the same flows, and the same renewal after a 401."""

from typing import Any

import pytest
from tests._oauth import Provider
from tests._oauth_provider import API_KEY

from toolwright import Agent, Result, Runner
from toolwright.sources import OpenAPIToolset
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def api(provider: Provider) -> dict[str, Any]:
    key = {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    search = {
        "operationId": "search",
        "security": [{"key": []}],
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": provider.address}],
        "components": {"securitySchemes": {"key": key}},
        "paths": {
            "/calendar": {"get": {"operationId": "events"}},
            "/products": {"get": search},
        },
    }


def runner_with(tools: OpenAPIToolset, *script: Any) -> Runner:
    agent = Agent(name="assistant", model=ScriptedModel(*script), tools=[tools])
    return Runner(agent, credentials="memory://")


def signed_in_tools(provider: Provider) -> OpenAPIToolset:
    config = provider.oidc()
    return OpenAPIToolset(
        spec_dict=api(provider),
        auth_scheme=config.auth_scheme,
        auth_credential=config.raw_auth_credential,
        tool_filter=["events"],
    )


def last_text(result: Result) -> str:
    return result.history[-2].results[0].text  # type: ignore[union-attr]


async def answered(runner: Runner, paused: Result, value: Any) -> Result:
    (pending,) = paused.pending
    assert await runner.answer("s", pending.call_id, value) == "accepted"
    return await runner.resume("s")


async def test_a_token_that_was_revoked_is_renewed_within_the_call(provider: Provider) -> None:
    runner = runner_with(signed_in_tools(provider), call("events"), "One.", call("events"), "Two.")
    paused = await runner.run("go", session_id="s")
    first = await answered(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))
    assert "Stand-up" in last_text(first)

    provider.admin(revoke_access=True)
    second = await runner.run("again", session_id="s")

    assert "Stand-up" in last_text(second)
    assert provider.admin()["grants"] == ["authorization_code", "refresh_token"]


async def test_when_renewing_fails_the_user_is_asked_again(provider: Provider) -> None:
    runner = runner_with(signed_in_tools(provider), call("events"), "One.", call("events"), "Two.")
    paused = await runner.run("go", session_id="s")
    await answered(runner, paused, provider.sign_in(paused.pending[0].payload["auth_uri"]))
    provider.admin(revoke_access=True, revoke_refresh=True)

    asked = await runner.run("again", session_id="s")
    assert asked.pending[0].kind == "credential"
    done = await answered(runner, asked, provider.sign_in(asked.pending[0].payload["auth_uri"]))

    assert done.text == "Two."


async def test_a_key_that_the_user_mistyped_is_asked_for_again(provider: Provider) -> None:
    tools = OpenAPIToolset(spec_dict=api(provider), tool_filter=["search"])
    runner = runner_with(tools, call("search", q="lamp"), "Found.")
    paused = await runner.run("go", session_id="s")

    again = await answered(runner, paused, "mistyped-key")
    assert again.status == "paused"
    done = await answered(runner, again, API_KEY)

    assert "lamp No. 1" in last_text(done)
