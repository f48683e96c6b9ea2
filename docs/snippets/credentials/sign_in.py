import asyncio
from collections.abc import Callable

from toolwright import (
    Agent,
    AuthConfig,
    AuthCredential,
    AuthenticatedFunctionTool,
    Result,
    Runner,
    openid_url_to_scheme_credential,
)
from toolwright.testing import ScriptedModel, call


def calendar(credential: AuthCredential) -> str:
    """List events."""
    return f"Events, read with a {credential.oauth2.token_type} token."  # type: ignore[union-attr]


async def main(issuer: str, client: dict[str, str], visit: Callable[[str], str]) -> Result:
    scheme, raw = openid_url_to_scheme_credential(
        openid_url=f"{issuer}/.well-known/openid-configuration",
        scopes=["openid", "email"],
        credential_dict=client,  # client_id, client_secret, redirect_uri
    )
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw, credential_key="calendar")
    tool = AuthenticatedFunctionTool(calendar, config, "Please sign in to your calendar.")
    model = ScriptedModel(call("calendar"), "You are free.")
    runner = Runner(Agent(name="aide", model=model, tools=[tool]), credentials="memory://")

    paused = await runner.run("Am I free?", user_id="ada", session_id="s1")
    [pending] = paused.pending
    print(pending.hint, pending.payload["auth_uri"])
    came_back_to = await asyncio.to_thread(visit, pending.payload["auth_uri"])
    await runner.answer("s1", pending.call_id, came_back_to)
    return await runner.resume("s1")
