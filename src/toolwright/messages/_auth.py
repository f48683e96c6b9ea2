"""How an API wants to be authenticated, and the credentials for it."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from toolwright.errors import UsageError

__all__ = [
    "AuthConfig",
    "AuthCredential",
    "AuthCredentialTypes",
    "AuthScheme",
    "AuthToolArguments",
    "CustomAuthScheme",
    "HttpAuth",
    "HttpCredentials",
    "OAuth2Auth",
    "OAuth2Flows",
    "OpenIdConnectWithConfig",
    "ServiceAccount",
    "ServiceAccountCredential",
    "as_auth_config",
    "secrets_of",
]


class _Secretive(BaseModel):
    """A model whose secret fields (`repr=False`, and those it does not know) never show.

    Not in `repr` and not in the text of a validation error.
    """

    # Built when first used: every agent imports these models, few have credentials.
    model_config = ConfigDict(
        populate_by_name=True, extra="allow", hide_input_in_errors=True, defer_build=True
    )

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        unknown = self.model_extra or {}
        return ((key, value) for key, value in super().__repr_args__() if key not in unknown)


class AuthCredentialTypes(StrEnum):
    """The kinds of credential."""

    API_KEY = "apiKey"
    HTTP = "http"
    OAUTH2 = "oauth2"
    OPEN_ID_CONNECT = "openIdConnect"
    SERVICE_ACCOUNT = "serviceAccount"


class HttpCredentials(_Secretive):
    """What goes into an `Authorization` header."""

    username: str | None = None
    password: str | None = Field(default=None, repr=False)
    token: str | None = Field(default=None, repr=False)


class HttpAuth(_Secretive):
    """HTTP authentication: `bearer`, `basic` or another registered scheme."""

    scheme: str
    credentials: HttpCredentials


class OAuth2Auth(_Secretive):
    """An OAuth2 client and, once there is one, its tokens."""

    client_id: str | None = None
    client_secret: str | None = Field(default=None, repr=False)
    token_endpoint_auth_method: str | None = None
    """How the client proves itself: `client_secret_basic` (the default), `client_secret_post`, …"""
    redirect_uri: str | None = None
    authorization_params: dict[str, str] = Field(default_factory=dict)
    """More for the sign-in address; Google wants `{"access_type": "offline"}` to allow refreshing."""
    auth_uri: str | None = None
    """Where the person signs in."""
    state: str | None = None
    nonce: str | None = Field(default=None, repr=False)
    code_verifier: str | None = Field(default=None, repr=False)
    auth_response_uri: str | None = Field(default=None, repr=False)
    """The address the provider sent the person back to, code and state included."""
    auth_code: str | None = Field(default=None, repr=False)
    access_token: str | None = Field(default=None, repr=False)
    refresh_token: str | None = Field(default=None, repr=False)
    id_token: str | None = Field(default=None, repr=False)
    expires_at: float | None = None
    token_type: str | None = None
    scope: str | None = None
    audience: str | None = None


class ServiceAccountCredential(_Secretive):
    """A Google service account key, as its JSON file has it."""

    type: str = "service_account"
    project_id: str | None = None
    private_key_id: str | None = Field(default=None, repr=False)
    private_key: str = Field(repr=False)
    client_email: str
    client_id: str | None = None
    auth_uri: str = "https://accounts.google.com/o/oauth2/auth"
    token_uri: str = "https://oauth2.googleapis.com/token"
    universe_domain: str = "googleapis.com"


class ServiceAccount(_Secretive):
    """A service account, by its key or by the machine's default credentials, and its scopes."""

    service_account_credential: ServiceAccountCredential | None = None
    scopes: list[str] = Field(default_factory=list)
    use_default_credential: bool = False


class AuthCredential(_Secretive):
    """One credential; which field is filled follows from `auth_type`."""

    auth_type: AuthCredentialTypes
    api_key: str | None = Field(default=None, repr=False)
    http: HttpAuth | None = None
    oauth2: OAuth2Auth | None = None
    service_account: ServiceAccount | None = None

    @property
    def bearer_token(self) -> str | None:
        """The token for an `Authorization: Bearer` header, whichever sign-in it came from."""
        if self.oauth2 and self.oauth2.access_token:
            return self.oauth2.access_token
        return self.http.credentials.token if self.http else None


class OAuth2Flows(BaseModel):
    """The addresses of an OAuth2 provider; OpenAPI's `{"authorizationCode": {…}}` is read too."""

    model_config = ConfigDict(populate_by_name=True, extra="allow", defer_build=True)

    authorization_url: str | None = Field(default=None, alias="authorizationUrl")
    token_url: str | None = Field(default=None, alias="tokenUrl")
    refresh_url: str | None = Field(default=None, alias="refreshUrl")
    scopes: dict[str, str] = Field(default_factory=dict)
    grant: Literal["authorization_code", "client_credentials", "implicit", "password"] = (
        "authorization_code"
    )

    @model_validator(mode="before")
    @classmethod
    def _flatten_openapi(cls, value: Any) -> Any:
        if isinstance(value, dict):
            for openapi_name, grant in _OPENAPI_GRANTS.items():
                if isinstance(value.get(openapi_name), dict):
                    return {**value[openapi_name], "grant": grant}
        return value


_OPENAPI_GRANTS = {
    "authorizationCode": "authorization_code",
    "clientCredentials": "client_credentials",
    "implicit": "implicit",
    "password": "password",
}


class CustomAuthScheme(BaseModel):
    """An OpenAPI security scheme, given field by field (`type`, `in`, `name`, `scheme`, …)."""

    model_config = ConfigDict(populate_by_name=True, extra="allow", defer_build=True)

    type: str
    location: str | None = Field(default=None, alias="in")
    name: str | None = None
    scheme: str | None = None
    flows: OAuth2Flows | None = None
    description: str | None = None


class OpenIdConnectWithConfig(BaseModel):
    """An OpenID Connect provider: its endpoints, or the address they are found at."""

    model_config = ConfigDict(populate_by_name=True, extra="allow", defer_build=True)

    type: Literal["openIdConnect"] = "openIdConnect"
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    userinfo_endpoint: str | None = None
    revocation_endpoint: str | None = None
    jwks_uri: str | None = None
    issuer: str | None = None
    open_id_connect_url: str | None = Field(default=None, alias="openIdConnectUrl")
    scopes: list[str] = Field(default_factory=list)
    grant_types_supported: list[str] | None = None

    @model_validator(mode="after")
    def _can_be_reached(self) -> "OpenIdConnectWithConfig":
        if not self.token_endpoint and not self.open_id_connect_url:
            raise ValueError(
                "an OpenID Connect scheme needs its endpoints (authorization_endpoint and "
                "token_endpoint) or the address of its discovery document (open_id_connect_url)"
            )
        return self


AuthScheme = CustomAuthScheme | OpenIdConnectWithConfig


class AuthConfig(BaseModel):
    """What a tool needs to sign in, and under which key the credential is kept."""

    model_config = ConfigDict(hide_input_in_errors=True, defer_build=True)

    auth_scheme: AuthScheme
    raw_auth_credential: AuthCredential | None = None
    """What the developer has: a key, or an OAuth2 client to get tokens with."""
    exchanged_auth_credential: AuthCredential | None = None
    """What the flow gave: a token ready to use."""
    credential_key: str = ""
    """Tools with the same key share one credential; made from scheme and client when empty."""
    reachable: Any = Field(default=None, exclude=True, repr=False)
    """Where its provider may be, a `Reachable`: for a scheme that others wrote. None: anywhere."""

    def model_post_init(self, context: Any) -> None:
        """Give every configuration a key that is stable from run to run."""
        if not self.credential_key:
            self.credential_key = self.default_key

    @property
    def default_key(self) -> str:
        """The key made from scheme and client, for a configuration that names none."""
        seed = f"{self.auth_scheme.model_dump_json()}|{_client_of(self.raw_auth_credential)}"
        return f"{self.auth_scheme.type}-{hashlib.sha256(seed.encode()).hexdigest()[:12]}"

    @property
    def given_credential(self) -> AuthCredential | None:
        """What the developer gave, when it can be used as it is: an API key, an HTTP credential."""
        for credential in (self.exchanged_auth_credential, self.raw_auth_credential):
            if credential and (credential.api_key or credential.http):
                return credential
        return None


class AuthToolArguments(BaseModel):
    """Which call a credential is for; with the credential inside, an answer to its request."""

    model_config = ConfigDict(defer_build=True)

    function_call_id: str
    auth_config: AuthConfig


def _client_of(raw: AuthCredential | None) -> str:
    """Who signs in, without any secret, so that two clients never share a token."""
    account = raw.service_account if raw else None
    if account is not None:
        key = account.service_account_credential
        return f"{key.client_email if key else 'default'}|{' '.join(account.scopes)}"
    return raw.oauth2.client_id or "" if raw and raw.oauth2 else ""


def as_auth_config(given: Any) -> AuthConfig:
    """`given` if it is a configuration, or the one that a mapping of its fields describes."""
    if isinstance(given, AuthConfig):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"An AuthConfig is needed to sign in; got a {type(given).__name__}.")
    try:
        return AuthConfig.model_validate(dict(given))
    except ValidationError as error:
        raise UsageError(f"This is no AuthConfig: {error}") from None


def secrets_of(credential: BaseModel) -> set[str]:
    """Every secret text inside `credential`, to be hidden wherever it might show up."""
    found: set[str] = set()
    fields = type(credential).model_fields
    for name, value in credential:
        if isinstance(value, BaseModel):
            found |= secrets_of(value)
        elif isinstance(value, str) and (name not in fields or not fields[name].repr):
            found.add(value)
    if isinstance(credential, HttpCredentials) and credential.password:
        pair = f"{credential.username or ''}:{credential.password}"
        found.add(base64.b64encode(pair.encode()).decode())
    return found
