"""Find out where a provider's endpoints are: from the scheme, or from its discovery document."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from toolwright.backends._network import Reachable
from toolwright.backends.auth._http import get_json, judge, require_safe, unusable
from toolwright.errors import UsageError
from toolwright.messages import AuthConfig, OAuth2Flows, OpenIdConnectWithConfig

__all__ = ["NAMES_ITSELF", "Provider", "find_provider"]

NAMES_ITSELF = "authorization_response_iss_parameter_supported"

_PKCE, _PKCE_METHODS = "S256", "code_challenge_methods_supported"
_DISCOVERY_PATH = "/.well-known/openid-configuration"
_ADDRESSES = ("issuer", "token_endpoint", "authorization_endpoint", "jwks_uri")
_LONGEST_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The endpoints of one OAuth2 or OpenID Connect provider, and what is asked of it."""

    token: str
    authorization: str | None = None
    refresh: str | None = None
    """Where tokens are refreshed, when that is not `token`."""
    jwks: str | None = None
    issuer: str | None = None
    names_itself: bool = False
    """Whether it has promised to say who it is when it sends a person back (RFC 9207)."""
    scopes: tuple[str, ...] = ()
    grant: str = "authorization_code"
    reachable: Reachable | None = None
    """Where it may be; None: anywhere."""


async def find_provider(config: AuthConfig) -> Provider:
    """The provider of an OAuth2 or OpenID Connect scheme; asks its discovery document if need be."""
    scheme = config.auth_scheme
    is_openid = scheme.type == "openIdConnect"
    discovery = scheme.model_dump(by_alias=True).get("openIdConnectUrl") if is_openid else None
    if isinstance(scheme, OpenIdConnectWithConfig) and scheme.token_endpoint:
        provider = _from_endpoints(scheme.model_dump(), scheme)
    elif discovery:
        provider = _from_endpoints(await _discover(discovery, config.reachable), scheme)
    elif not isinstance(scheme, OpenIdConnectWithConfig) and scheme.flows:
        provider = _from_flows(scheme.flows, scheme.model_extra or {})
    else:
        raise UsageError(
            f"The {scheme.type!r} scheme of {config.credential_key!r} names no provider; give it "
            "flows=OAuth2Flows(…), or use OpenIdConnectWithConfig(…)."
        )
    for address in (provider.token, provider.refresh, provider.jwks):
        if address:
            await judge(address, config.reachable)
    if provider.authorization:
        require_safe(provider.authorization)
    return replace(provider, scopes=_asked_for(provider, scheme.type))


def _asked_for(provider: Provider, kind: str) -> tuple[str, ...]:
    """Its scopes one by one, however they were given; who signs in with OpenID Connect is asked for."""
    scopes = tuple(" ".join(provider.scopes).split())
    is_openid = kind == "openIdConnect" and provider.grant == "authorization_code"
    return ("openid", *scopes) if is_openid and "openid" not in scopes else scopes


def _from_flows(flows: OAuth2Flows, known: dict[str, Any]) -> Provider:
    if not flows.token_url:
        raise UsageError("OAuth2Flows(token_url=…) is missing: no token can be had without it.")
    return Provider(
        token=flows.token_url,
        authorization=flows.authorization_url,
        refresh=flows.refresh_url,
        issuer=known.get("issuer"),
        names_itself=known.get(NAMES_ITSELF) is True,
        scopes=tuple(flows.scopes),
        grant=flows.grant,
    )


def _from_endpoints(found: dict[str, Any], scheme: Any) -> Provider:
    methods = found.get(_PKCE_METHODS)
    # Many say nothing about it and take it all the same.
    if methods is not None and _PKCE not in methods:
        raise UsageError(
            f"{found.get('issuer')!r} offers PKCE with {methods!r} only, not with {_PKCE}: codes "
            "that it gives could be used by others. Nobody is signed in there."
        )
    scopes = getattr(scheme, "scopes", None) or ()
    scopes = (scopes,) if isinstance(scopes, str) else scopes
    supported = getattr(scheme, "grant_types_supported", None) or ["authorization_code"]
    return Provider(
        token=found["token_endpoint"],
        authorization=found.get("authorization_endpoint"),
        jwks=found.get("jwks_uri"),
        issuer=found.get("issuer"),
        names_itself=found.get(NAMES_ITSELF) is True,
        scopes=tuple(scopes),
        grant="authorization_code" if "authorization_code" in supported else supported[0],
    )


async def _discover(address: str, reachable: Reachable | None) -> dict[str, Any]:
    await judge(address, reachable)
    found = await get_json(address, reachable)
    issuer = found.get("issuer")
    # A document that speaks for another issuer would have us trust that one's tokens.
    if not found.get("token_endpoint") or f"{str(issuer).rstrip('/')}{_DISCOVERY_PATH}" != address:
        raise unusable(
            f"{address!r} is no discovery document of its own provider (issuer {_shown(issuer)})"
        )
    texts = {name: found[name] for name in _ADDRESSES if found.get(name) is not None}
    methods = found.get(_PKCE_METHODS)
    for name, value in texts.items():
        if not isinstance(value, str) or not _is_address(value):
            raise unusable(f"the {name} of {address!r} is no address: {_shown(value)}")
    if methods is not None and not isinstance(methods, list):
        raise unusable(f"the {_PKCE_METHODS} of {address!r} is no list: {_shown(methods)}")
    return found


def _is_address(text: str) -> bool:
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:
        return False


def _shown(value: object) -> str:
    return repr(value)[:_LONGEST_SHOWN]
