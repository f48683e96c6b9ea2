"""How an API wants to be authenticated, and the credentials for it."""

import hashlib
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AuthConfig",
    "AuthCredential",
    "AuthCredentialTypes",
    "AuthScheme",
    "CustomAuthScheme",
    "HttpAuth",
    "HttpCredentials",
    "OAuth2Auth",
    "OAuth2Flows",
    "OpenIdConnectWithConfig",
    "ServiceAccount",
    "ServiceAccountCredential",
]


class _Secretive(BaseModel):
    """A model whose secret fields never show in `repr`."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")


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
    redirect_uri: str | None = None
    auth_uri: str | None = None
    """Where the person signs in."""
    state: str | None = None
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


class OAuth2Flows(_Secretive):
    """The addresses of an OAuth2 provider."""

    authorization_url: str | None = Field(default=None, alias="authorizationUrl")
    token_url: str | None = Field(default=None, alias="tokenUrl")
    refresh_url: str | None = Field(default=None, alias="refreshUrl")
    scopes: dict[str, str] = Field(default_factory=dict)
    grant: Literal["authorization_code", "client_credentials", "implicit", "password"] = (
        "authorization_code"
    )


class CustomAuthScheme(BaseModel):
    """An OpenAPI security scheme, given field by field (`type`, `in`, `name`, `scheme`, …)."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    type: str
    location: str | None = Field(default=None, alias="in")
    name: str | None = None
    scheme: str | None = None
    flows: OAuth2Flows | None = None
    description: str | None = None


class OpenIdConnectWithConfig(BaseModel):
    """An OpenID Connect provider whose endpoints are known, so no discovery is needed."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    type: Literal["openIdConnect"] = "openIdConnect"
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None = None
    revocation_endpoint: str | None = None
    jwks_uri: str | None = None
    issuer: str | None = None
    open_id_connect_url: str | None = Field(default=None, alias="openIdConnectUrl")
    scopes: list[str] = Field(default_factory=list)
    grant_types_supported: list[str] | None = None


AuthScheme = CustomAuthScheme | OpenIdConnectWithConfig


class AuthConfig(BaseModel):
    """What a tool needs to sign in, and under which key the credential is kept."""

    auth_scheme: AuthScheme
    raw_auth_credential: AuthCredential | None = None
    """What the developer has: a key, or an OAuth2 client to get tokens with."""
    exchanged_auth_credential: AuthCredential | None = None
    """What the flow gave: a token ready to use."""
    credential_key: str = ""
    """Tools with the same key share one credential; made from scheme and client when empty."""

    def model_post_init(self, context: Any) -> None:
        """Give every configuration a key that is stable from run to run."""
        if not self.credential_key:
            self.credential_key = _stable_key(self)


def _stable_key(config: AuthConfig) -> str:
    raw = config.raw_auth_credential
    client = raw.oauth2.client_id if raw and raw.oauth2 else ""
    seed = f"{config.auth_scheme.model_dump_json()}|{client}"
    return f"{config.auth_scheme.type}-{hashlib.sha256(seed.encode()).hexdigest()[:12]}"
