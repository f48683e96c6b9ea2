"""Which credentials an operation wants, where they come from, and where they go in a request."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic import ValidationError

from toolwright.backends import Reachable
from toolwright.errors import ToolError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthScheme,
    CustomAuthScheme,
    OpenIdConnectWithConfig,
    secrets_of,
)
from toolwright.sources.openapi._document import BrokenRef, Document
from toolwright.sources.openapi._operations import Operation
from toolwright.sources.openapi._requests import with_query, without_query
from toolwright.sources.openapi._swagger import schemes_from_swagger
from toolwright.sources.openapi._values import as_list, as_mapping
from toolwright.tools import ToolContext

__all__ = ["Granted", "Security", "apply_credential", "renewed"]

Alternative = tuple[AuthConfig, ...]
"""Credentials that are wanted together."""


@dataclass(frozen=True, slots=True)
class Granted:
    """The credentials for one call, or the one that a person must be asked for first."""

    credentials: tuple[tuple[AuthConfig, AuthCredential], ...] = ()
    missing: AuthConfig | None = None


class Security:
    """The security schemes of one document, and what the developer gave for them."""

    def __init__(
        self,
        document: Document,
        scheme: AuthScheme | None = None,
        credential: AuthCredential | None = None,
        credential_key: str | None = None,
        *,
        reachable: Reachable | None = None,
    ) -> None:
        """`reachable` says where a document from elsewhere may have somebody signed in."""
        self._document = document
        self._reachable = reachable
        self._scheme = scheme
        self._credential = credential
        self._key = credential_key or ""

    async def grant(
        self, operation: Operation, ctx: ToolContext, headers: Mapping[str, str]
    ) -> Granted:
        """The first alternative whose credentials are all there.

        What the developer's own `headers` cover already is not asked for.
        """
        wanted = self.alternatives(operation)
        missing: AuthConfig | None = None
        for alternative in wanted:
            granted = await _collect(alternative, ctx, headers)
            if granted.missing is None:
                return granted
            missing = missing or granted.missing
        return Granted(missing=missing)

    def described(self, operation: Operation) -> list[dict[str, Any]]:
        """How the document wants requests to be signed in, scheme by scheme; empty where the
        developer says how."""
        if self._scheme is not None:
            return []
        listed = as_list(operation.raw.get("security", self._document.root.get("security")))
        return [
            {str(name): [scopes, self._raw_scheme(str(name))] for name, scopes in entry.items()}
            for entry in listed
            if isinstance(entry, Mapping)
        ]

    def alternatives(self, operation: Operation) -> list[Alternative]:
        """What the operation accepts, best first; empty when it wants nothing."""
        if self._scheme is not None:
            return [(self._config(self._scheme, self._key),)]
        listed = as_list(operation.raw.get("security", self._document.root.get("security")))
        found = [self._alternative(entry) for entry in listed if isinstance(entry, Mapping)]
        usable = [alternative for alternative in found if alternative is not None]
        # With a credential in hand prefer what it is for; an API may also allow no sign-in at all.
        return sorted(usable, key=lambda alternative: not any(_has_own(c) for c in alternative))

    def places(self, operation: Operation) -> frozenset[tuple[str, str]]:
        """Where API keys go in requests: location and name, in small letters."""
        configs = (config for found in self.alternatives(operation) for config in found)
        return frozenset(
            (str(scheme.location), (scheme.name or "").lower())
            for scheme in (config.auth_scheme for config in configs)
            if isinstance(scheme, CustomAuthScheme) and scheme.type == "apiKey"
        )

    def _alternative(self, entry: Mapping[str, Any]) -> Alternative | None:
        schemes = [self._scheme_named(str(name)) for name in entry]
        if any(scheme is None for scheme in schemes):
            return None
        several = len(schemes) > 1
        return tuple(
            self._config(scheme, f"{self._key}:{name}" if self._key and several else self._key)
            for name, scheme in zip(entry, schemes, strict=True)
            if scheme is not None and scheme.type != "mutualTLS"
        )

    def _config(self, scheme: AuthScheme, key: str) -> AuthConfig:
        credential = self._credential
        fits = credential is not None and (self._scheme is not None or _fits(scheme, credential))
        raw = credential if fits else None
        return AuthConfig(
            auth_scheme=scheme,
            raw_auth_credential=raw,
            credential_key=key,
            reachable=self._reachable if self._scheme is None else None,
        )

    def _scheme_named(self, name: str) -> AuthScheme | None:
        raw = self._raw_scheme(name)
        try:
            return _read_scheme(raw) if isinstance(raw, Mapping) else None
        except ValidationError:
            return None

    def _raw_scheme(self, name: str) -> Any:
        return _followed(self._document, _listed_schemes(self._document).get(name))


def sign_in_addresses(document: Document) -> set[str]:
    """Where people and programs would sign in, as the document's security schemes say."""
    found: set[str] = set()
    for listed in _listed_schemes(document).values():
        scheme = as_mapping(_followed(document, listed))
        flows = map(as_mapping, as_mapping(scheme.get("flows")).values())
        for part in (scheme, *flows):
            found |= {v for k, v in part.items() if k.endswith("Url") and isinstance(v, str)}
    return found


def _listed_schemes(document: Document) -> Mapping[str, Any]:
    root = document.root
    if document.is_swagger:
        return schemes_from_swagger(root)
    return as_mapping(as_mapping(root.get("components")).get("securitySchemes"))


def _followed(document: Document, node: Any) -> Any:
    try:
        return document.follow(node)[0]
    except BrokenRef:
        return None


def _read_scheme(raw: Mapping[str, Any]) -> AuthScheme:
    if raw.get("type") == "openIdConnect":
        return OpenIdConnectWithConfig.model_validate(dict(raw))
    return CustomAuthScheme.model_validate(dict(raw))


def _fits(scheme: AuthScheme, credential: AuthCredential) -> bool:
    """Whether a credential is of the kind that a scheme asks for."""
    kind = str(credential.auth_type)
    if kind == "http":
        wanted, has = (
            getattr(scheme, "scheme", None),
            credential.http.scheme if credential.http else "",
        )
        return scheme.type == "http" and str(wanted).lower() == has.lower()
    if kind == "apiKey":
        return scheme.type == "apiKey"
    return scheme.type in ("oauth2", "openIdConnect") or (
        scheme.type == "http" and str(getattr(scheme, "scheme", "")).lower() == "bearer"
    )


def _has_own(config: AuthConfig) -> bool:
    return config.raw_auth_credential is not None


async def _collect(
    alternative: Alternative, ctx: ToolContext, headers: Mapping[str, str]
) -> Granted:
    found = []
    for config in alternative:
        if _header_of(config.auth_scheme).lower() in (name.lower() for name in headers):
            continue
        credential = await _ready(config, ctx)
        if credential is None:
            return Granted(missing=config)
        for secret in secrets_of(credential):
            ctx.run.redactor.add(secret)
        found.append((config, credential))
    return Granted(tuple(found))


async def renewed(granted: Granted, ctx: ToolContext) -> Granted | None:
    """Other credentials after these were refused with a 401; None when there can be no others."""
    flows = ctx.run.services.auth
    if flows is None or all(config.given_credential for config, _ in granted.credentials):
        return None
    found = []
    for config, refused in granted.credentials:
        credential = config.given_credential or await flows.renew(ctx.run.scope, config, refused)
        if credential is None:
            return Granted(missing=config)
        for secret in secrets_of(credential):
            ctx.run.redactor.add(secret)
        found.append((config, credential))
    return Granted(tuple(found))


async def _ready(config: AuthConfig, ctx: ToolContext) -> AuthCredential | None:
    raw = config.raw_auth_credential
    if raw is not None and (raw.api_key or raw.http):
        return raw
    flows = ctx.run.services.auth
    if flows is not None:
        return await flows.ready(ctx.run.scope, config)
    return raw if raw is not None and raw.bearer_token else None


def _header_of(scheme: AuthScheme) -> str:
    """The header that a scheme's credential goes into; empty when it goes elsewhere."""
    if isinstance(scheme, CustomAuthScheme) and scheme.type == "apiKey":
        return (scheme.name or "") if scheme.location == "header" else ""
    return "Authorization"


def apply_credential(
    request: httpx2.Request, scheme: AuthScheme, credential: AuthCredential
) -> set[str]:
    """Put a credential into a request; returns the headers that now hold a secret."""
    if isinstance(scheme, CustomAuthScheme) and scheme.type == "apiKey" and credential.api_key:
        return _apply_key(request, scheme, credential.api_key)
    request.headers["Authorization"] = _authorization(credential)
    return {"authorization"}


def _apply_key(request: httpx2.Request, scheme: CustomAuthScheme, key: str) -> set[str]:
    name = scheme.name or ""
    if scheme.location == "query":
        # The keys of an object become names; many servers take the first of a name.
        url = without_query(request.url, name)
        request.url = with_query(url, [(quote(name, safe=""), quote(key, safe=""))])
        return set()
    if scheme.location == "cookie":
        cookies = [request.headers.get("Cookie", ""), f"{name}={key}"]
        request.headers["Cookie"] = "; ".join(cookie for cookie in cookies if cookie)
        return {"cookie"}
    request.headers[name] = key
    return {name.lower()}


def _authorization(credential: AuthCredential) -> str:
    http = credential.http
    if http is not None and http.scheme.lower() == "basic":
        pair = f"{http.credentials.username or ''}:{http.credentials.password or ''}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    if http is not None and http.scheme.lower() != "bearer":
        return f"{http.scheme} {http.credentials.token or ''}"
    token = credential.bearer_token or credential.api_key
    if not token:
        raise ToolError("The credential holds no token; the developer must sign in again.")
    return f"Bearer {token}"
