"""A program with talkative tools, run in a process of its own: writes down all that can be seen.

Called with the provider's address and a folder; what was seen goes to `seen.txt` in that folder,
the secrets that must not be in it to `secrets.json`.
"""

import io
import json
import logging
import sys
import traceback
from pathlib import Path
from typing import Any

import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests._oauth import Provider
from tests._oauth_provider import API_KEY, CLIENT_SECRET

from toolwright import Agent, Runner, ToolContext
from toolwright.backends import SqliteCredentials, new_key, token_to_scheme_credential
from toolwright.messages import AuthConfig, AuthCredential, encode_event
from toolwright.testing import ScriptedModel, call
from toolwright.tools import AuthenticatedFunctionTool

ENTERED = "entered-key-canary-22d8"
PASSWORD = "password-canary-70aa"
KEPT = "kept-key-canary-5e01"


def careless(days: int, tool_context: ToolContext, credential: AuthCredential | None = None) -> Any:
    """List events, and show the token everywhere a tool can."""
    assert credential is not None
    token = credential.bearer_token or credential.api_key
    tool_context.progress(f"with {token}", {"token": token})
    return f"events with {token}", {"headers": {"Authorization": f"Bearer {token}"}}


def failing(credential: AuthCredential | None = None) -> str:
    """Fail with the credential in the message."""
    assert credential is not None
    secret = credential.api_key or credential.http
    assert credential.http is None or secret
    shown = credential.api_key or (credential.http and credential.http.credentials.password)
    raise RuntimeError(f"GET https://api.example.com/?key={shown} failed")


def asking(tool_context: ToolContext, credential: AuthCredential | None = None) -> str:
    """Ask a person with the key in the question."""
    if tool_context.tool_confirmation is None and credential is not None:
        key = credential.api_key
        tool_context.request_confirmation(hint=f"Use {key}?", payload={"key": key})
    return "asked"


async def keeping(tool_context: ToolContext) -> str:
    """Show credentials that were saved before."""
    config = AuthConfig.model_validate(
        {"auth_scheme": {"type": "http", "scheme": "bearer"}, "credential_key": "kept"}
    )
    credential = AuthCredential.model_validate({"auth_type": "apiKey", "api_key": KEPT})
    await tool_context.save_credential(config, credential)
    loaded = await tool_context.load_credential(config)
    by_key = await tool_context.get_credential("kept")
    assert loaded == by_key == credential
    return f"kept {KEPT}"


def tools(provider: Provider) -> list[AuthenticatedFunctionTool]:
    key_scheme, key = token_to_scheme_credential("apikey", "query", "key", API_KEY)
    given = AuthConfig(auth_scheme=key_scheme, raw_auth_credential=key)
    entered = AuthConfig(auth_scheme=key_scheme, credential_key="entered")
    basic = AuthConfig.model_validate(
        {"auth_scheme": {"type": "http", "scheme": "basic"}, "credential_key": "basic"}
    )
    return [
        AuthenticatedFunctionTool(careless, provider.oidc()),
        AuthenticatedFunctionTool(failing, given, name="fail_given"),
        AuthenticatedFunctionTool(failing, basic, name="fail_basic"),
        AuthenticatedFunctionTool(asking, entered),
    ]


async def main(address: str, folder: Path) -> None:
    provider = Provider(address)
    spans, log = InMemorySpanExporter(), io.StringIO()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(tracing)
    logging.basicConfig(level=logging.DEBUG, stream=log)
    seen: list[str] = []

    key = new_key()
    store = SqliteCredentials(folder / "credentials.db", keys=[key])
    model = ScriptedModel(
        [
            call("careless", days=1),
            call("fail_given"),
            call("fail_basic"),
            call("asking"),
            call("keeping"),
        ],
        "Done.",
    )
    agent = Agent(name="assistant", model=model, tools=[*tools(provider), keeping])
    runner = Runner(agent, store=f"sqlite:///{folder}/sessions.db", credentials=store)

    async for event in runner.stream("go", session_id="s"):
        seen += [encode_event(event), repr(event)]
    pending = {p.name: p for p in await runner.pending("s")}
    auth_uri = pending["careless"].payload["auth_uri"]
    redirect = provider.sign_in(auth_uri)
    scope = (await runner.sessions())[0].scope
    begun = await store.load(scope, "calendar#sign-in")
    answers = {
        "careless": redirect.replace("code=", "code=wrong"),
        "asking": ENTERED,
        "fail_basic": {"username": "ada", "password": PASSWORD},
    }
    for name, value in answers.items():
        await runner.answer("s", pending[name].call_id, value)
        seen.append(repr(await runner.answer("s", pending[name].call_id, value)))
    async for event in runner.stream(None, session_id="s"):
        seen += [encode_event(event), repr(event)]
    again = {p.name: p for p in await runner.pending("s")}
    seen.append(repr(again))
    redirect = provider.sign_in(again["careless"].payload["auth_uri"])
    await runner.answer("s", again["careless"].call_id, redirect)
    await runner.answer("s", again["asking"].call_id, True)
    async for event in runner.stream(None, session_id="s"):
        seen += [encode_event(event), repr(event)]

    try:
        await runner.services.auth.finish(scope, provider.oidc(), redirect + "x")  # type: ignore[union-attr]
    except Exception:
        seen.append(traceback.format_exc())
    result = await runner.resume("s")
    assert result.text == "Done.", result
    seen += [repr(thing) for thing in (result, runner, store, agent, agent.tools, model.requests)]
    seen += [repr(vars(runner)), repr([vars(t) for t in agent.tools]), repr(provider.oidc())]
    seen += [repr(await runner.history("s")), repr(await runner.state("s"))]
    seen += [span.to_json() for span in spans.get_finished_spans()]
    seen.append(log.getvalue())
    await runner.close()

    secrets = [API_KEY, CLIENT_SECRET, ENTERED, PASSWORD, KEPT, key, begun.oauth2.code_verifier]
    secrets += [redirect.partition("code=")[2].partition("&")[0]]
    secrets += provider.admin()["secrets"]
    (folder / "seen.txt").write_text("\n".join(seen))
    (folder / "secrets.json").write_text(json.dumps(secrets))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
