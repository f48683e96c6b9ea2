"""A client for the MCP conformance suite: our toolset, used as each scenario wants it."""

from typing import Any
from unittest.mock import ANY
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from tests.sources._calling import run_tool, tool_named

from toolwright.backends.auth import MemoryCredentials
from toolwright.messages import Scope
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams
from toolwright.sources.mcp import StoredTokens
from toolwright.tools import Output

REDIRECT = "http://localhost:3000/callback"
METADATA = "https://conformance-test.local/client-metadata.json"


class Person:
    """Signs in at once: follows the address it is sent to, and brings the code back."""

    answer: AuthorizationCodeResult

    async def go_to(self, address: str) -> None:
        async with httpx2.AsyncClient() as http:
            redirect = await http.get(address)
        query = parse_qs(urlsplit(redirect.headers["location"]).query)
        first = {name: values[0] for name, values in query.items()}
        self.answer = AuthorizationCodeResult(
            code=first["code"], state=first.get("state"), iss=first.get("iss")
        )

    async def come_back(self) -> AuthorizationCodeResult:
        return self.answer


async def provider(url: str, scenario: str, context: dict[str, Any]) -> httpx2.Auth:
    scope = Scope(app_name="conformance", user_id="ada", session_id="s1")
    storage = StoredTokens(MemoryCredentials(), scope, "server")
    if scenario == "auth/client-credentials-basic":
        return ClientCredentialsOAuthProvider(
            url, storage, context["client_id"], context["client_secret"]
        )
    if scenario == "auth/client-credentials-jwt":
        signed = SignedJWTParameters(
            issuer=context["client_id"],
            subject=context["client_id"],
            signing_algorithm=context.get("signing_algorithm", "ES256"),
            signing_key=context["private_key_pem"],
        )
        assertion = signed.create_assertion_provider()
        return PrivateKeyJWTOAuthProvider(url, storage, context["client_id"], assertion)
    if "client_id" in context:
        method = {"token_endpoint_auth_method": "client_secret_basic"}
        known = {**context, **method, "redirect_uris": [REDIRECT]}
        await storage.set_client_info(OAuthClientInformationFull.model_validate(known))
    person = Person()
    return OAuthClientProvider(
        url,
        OAuthClientMetadata.model_validate(
            {"client_name": "toolwright", "redirect_uris": [REDIRECT]}
        ),
        storage,
        redirect_handler=person.go_to,
        callback_handler=person.come_back,
        client_metadata_url=METADATA,
    )


async def use(toolset: McpToolset, scenario: str) -> None:
    tools = await toolset.list_tools()
    if scenario == "tools_call":
        await run_tool(await tool_named(toolset, "add_numbers"), {"a": 5, "b": 3})
    elif scenario == "elicitation-sep1034-client-defaults":
        tool = await tool_named(toolset, "test_client_elicitation_defaults")
        # As in the second attempt, when a person has answered: the suite takes the first for a no.
        asked = Output.pending(kind="input", payload={"mcp_elicitation": ANY})
        await run_tool(tool, answers=[(asked, {})])
    elif scenario == "sse-retry":
        await run_tool(await tool_named(toolset, "test_reconnection"))
    elif scenario.startswith("auth/") and tools:
        await run_tool(tools[0])


async def play(url: str, scenario: str, context: dict[str, Any]) -> None:
    """Do what `scenario` wants of a client; what goes wrong is raised."""
    auth = await provider(url, scenario, context) if scenario.startswith("auth/") else None
    toolset = McpToolset(StreamableHTTPConnectionParams(url), auth=auth, required=True)
    try:
        await use(toolset, scenario)
    finally:
        await toolset.close()
