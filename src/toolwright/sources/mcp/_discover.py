"""Find out from a remote server how its users sign in, and register there as a client."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import httpx2
from mcp.client.auth.exceptions import OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_registration_request,
    create_oauth_metadata_request,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    handle_registration_response,
    validate_metadata_issuer,
)
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

from toolwright._hosts import is_plainly_local
from toolwright.backends import Reachable, guarded_client
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.messages import (
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    OAuth2Auth,
    OAuth2Flows,
)
from toolwright.sources._secret_names import shown_address
from toolwright.sources.mcp._bounded import bounded

__all__ = ["discover_sign_in"]

T = TypeVar("T")
_THIS_MACHINE = ("localhost", "127.0.0.0/8", "::1")
_MOST_BYTES = 1024 * 1024
_MOST_SECONDS = 60
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def discover_sign_in(
    url: str,
    *,
    redirect_uri: str,
    client_id: str | None = None,
    client_secret: str | None = None,
    client_name: str = "toolwright",
    scopes: Sequence[str] | None = None,
    allow_private: Sequence[str] | Reachable = (),
) -> tuple[CustomAuthScheme, AuthCredential]:
    """The `auth_scheme` and `auth_credential` of an MCP server that wants its users to sign in.

    Asks the server for its authorization server (RFC 9728, RFC 8414) and registers there
    (RFC 7591), unless a `client_id` is given. Do it once and keep both: each registration makes
    another client. Give both to `McpToolset`; the users sign in when its tools are first needed.

    The server says where to ask further, so only public addresses are asked, its own host, this
    machine if the server is on it, and those in `allow_private`.
    """
    reachable = _reachable(url, allow_private)
    known = OAuth2Auth(client_id=client_id, client_secret=client_secret)
    try:
        async with guarded_client(reachable, timeout=20) as http, asyncio.timeout(_MOST_SECONDS):
            bounded(http, _MOST_BYTES)
            refusal = await _refusal(http, url)
            resource = await _resource(http, url, refusal)
            server = await _authorization_server(http, url, resource)
            wanted = scopes if scopes is not None else _scopes(refusal, resource)
            client = (
                known
                if client_id
                else await _registered(http, url, server, client_name, redirect_uri, wanted)
            )
            token = httpx2.URL(str(server.token_endpoint))
            await reachable.addresses(token.raw_host.decode(), token.port or 443)
    except (
        OAuthFlowError, OAuthRegistrationError, httpx2.HTTPError, httpx2.InvalidURL, ToolError,
        httpx2.StreamError, TimeoutError,
    ) as error:  # fmt: skip
        why = str(error) or f"it did not answer in {_MOST_SECONDS} seconds"
        raise StoreError(f"{shown_address(url)!r} cannot be signed in to: {why}") from error
    # The token is for this server and no other (RFC 8707).
    audience = {"resource": str(resource.resource)}
    client = client.model_copy(
        update={"redirect_uri": redirect_uri, "authorization_params": audience}
    )
    return _scheme(server, str(resource.authorization_servers[0]), wanted), AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2, oauth2=client
    )


def _reachable(url: str, allow_private: Sequence[str] | Reachable) -> Reachable:
    """What may be asked on behalf of the server at `url`, which the developer has chosen."""
    host = httpx2.URL(url).raw_host.decode()
    return Reachable.of(allow_private, host, *(_THIS_MACHINE if is_plainly_local(host) else ()))


def _scheme(server: OAuthMetadata, issuer: str, scopes: Sequence[str]) -> CustomAuthScheme:
    flows = OAuth2Flows(
        authorization_url=str(server.authorization_endpoint),
        token_url=str(server.token_endpoint),
        scopes=dict.fromkeys(scopes, ""),
    )
    # Kept with it: the answer to a sign-in is compared with them.
    known: dict[str, Any] = {"issuer": issuer}
    if server.authorization_response_iss_parameter_supported:
        known["authorization_response_iss_parameter_supported"] = True
    return CustomAuthScheme(type="oauth2", flows=flows, **known)


async def _refusal(http: httpx2.AsyncClient, url: str) -> httpx2.Response:
    """How the server refuses somebody who has not signed in."""
    refusal = await http.post(url, json=_PING, headers={"Accept": "application/json"})
    if refusal.status_code not in (401, 403):
        raise UsageError(f"{shown_address(url)!r} does not ask anybody to sign in.")
    return refusal


async def _resource(
    http: httpx2.AsyncClient, url: str, refusal: httpx2.Response
) -> ProtectedResourceMetadata:
    named = extract_resource_metadata_from_www_auth(refusal)
    places = build_protected_resource_metadata_discovery_urls(named, url)
    found = await _first(http, places, handle_protected_resource_response)
    ours = resource_url_from_server_url(url)
    if found is None or not found.authorization_servers:
        raise StoreError(
            f"{shown_address(url)!r} does not say where to sign in (looked at {', '.join(places)})."
        )
    if not check_resource_allowed(ours, str(found.resource)):
        raise StoreError(
            f"{shown_address(url)!r} gave the sign-in of another server, {str(found.resource)!r}."
        )
    return found


async def _authorization_server(
    http: httpx2.AsyncClient, url: str, resource: ProtectedResourceMetadata
) -> OAuthMetadata:
    issuer = str(resource.authorization_servers[0])
    places = build_oauth_authorization_server_metadata_discovery_urls(issuer, url)

    async def read(response: httpx2.Response) -> OAuthMetadata | None:
        return (await handle_auth_metadata_response(response))[1]

    found = await _first(http, places, read)
    if found is None:
        raise StoreError(f"The authorization server {issuer!r} does not describe itself.")
    validate_metadata_issuer(found, issuer)
    if "S256" not in (found.code_challenge_methods_supported or ()):
        raise StoreError(
            f"The authorization server {issuer!r} does not say that it supports PKCE (S256); without "
            "it a stolen code would be as good as the password."
        )
    return found


async def _first(
    http: httpx2.AsyncClient,
    places: Sequence[str],
    read: Callable[[httpx2.Response], Awaitable[T | None]],
) -> T | None:
    """What the first of the places has, that has it."""
    for place in places:
        response = await http.send(create_oauth_metadata_request(place))
        found = await read(response) if response.status_code == 200 else None
        if found is not None:
            return found
    return None


def _scopes(refusal: httpx2.Response, resource: ProtectedResourceMetadata) -> Sequence[str]:
    """Those that the refusal names; otherwise all that the server has."""
    named = extract_scope_from_www_auth(refusal)
    return named.split() if named else resource.scopes_supported or ()


async def _registered(
    http: httpx2.AsyncClient,
    url: str,
    server: OAuthMetadata,
    name: str,
    redirect_uri: str,
    scopes: Sequence[str],
) -> OAuth2Auth:
    about = {
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "scope": " ".join(scopes) or None,
        "token_endpoint_auth_method": _auth_method(server),
    }
    metadata = OAuthClientMetadata.model_validate(about)
    request = create_client_registration_request(server, metadata, url)
    client = await handle_registration_response(await http.send(request))
    return OAuth2Auth(
        client_id=client.client_id,
        client_secret=client.client_secret,
        token_endpoint_auth_method=client.token_endpoint_auth_method or _auth_method(server),
    )


def _auth_method(server: OAuthMetadata) -> str:
    """The safest way to prove who we are, of those that the server takes."""
    taken = server.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    for method in ("client_secret_basic", "client_secret_post", "none"):
        if method in taken:
            return method
    return "client_secret_basic"
