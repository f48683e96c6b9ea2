"""Make a scheme and a credential in one step, from what a developer has at hand."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from toolwright.errors import UsageError
from toolwright.messages import (
    AuthCredential,
    AuthCredentialTypes,
    AuthScheme,
    CustomAuthScheme,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    OpenIdConnectWithConfig,
    ServiceAccount,
    ServiceAccountCredential,
)

__all__ = [
    "openid_url_to_scheme_credential",
    "service_account_dict_to_scheme_credential",
    "service_account_scheme_credential",
    "token_to_scheme_credential",
]

SchemeAndCredential = tuple[AuthScheme, AuthCredential | None]


def token_to_scheme_credential(
    token_type: Literal["apikey", "oauth2Token"],
    location: Literal["header", "query", "cookie"] | None = None,
    name: str | None = None,
    credential_value: str | None = None,
) -> SchemeAndCredential:
    """An API key in a header, query or cookie, or a bearer token that was obtained elsewhere.

    Without `credential_value` the credential is None: the user is asked for it.
    """
    if token_type == "apikey":
        return _api_key(location, name, credential_value)
    if token_type == "oauth2Token":
        return _bearer(credential_value)
    raise UsageError(f"token_type is 'apikey' or 'oauth2Token', not {token_type!r}.")


def service_account_dict_to_scheme_credential(
    config: Mapping[str, Any], scopes: Sequence[str]
) -> SchemeAndCredential:
    """A service account, from its JSON key file as a dict."""
    key = ServiceAccountCredential.model_validate(dict(config))
    return service_account_scheme_credential(
        ServiceAccount(service_account_credential=key, scopes=list(scopes))
    )


def service_account_scheme_credential(config: ServiceAccount) -> SchemeAndCredential:
    """A service account: its key is exchanged for bearer tokens."""
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.SERVICE_ACCOUNT, service_account=config
    )
    return CustomAuthScheme(type="http", scheme="bearer"), credential


def openid_url_to_scheme_credential(
    openid_url: str, scopes: Sequence[str], credential_dict: Mapping[str, Any]
) -> SchemeAndCredential:
    """An OpenID Connect provider by its discovery address, which is asked on first use.

    `credential_dict` has `client_id`, `redirect_uri` and, unless the client is a public one,
    `client_secret`; Google's download, which wraps them in `{"web": …}` or `{"installed": …}`, is
    read too.
    """
    fields = dict(credential_dict.get("web") or credential_dict.get("installed") or credential_dict)
    if "redirect_uri" not in fields and fields.get("redirect_uris"):
        fields["redirect_uri"] = fields["redirect_uris"][0]
    if not fields.get("client_id"):
        raise UsageError(f"credential_dict lacks client_id; it has {sorted(fields)}.")
    wanted = ("client_id", "client_secret", "redirect_uri")
    client = OAuth2Auth(**{name: fields[name] for name in wanted if name in fields})
    scheme = OpenIdConnectWithConfig(open_id_connect_url=openid_url, scopes=list(scopes))
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.OPEN_ID_CONNECT, oauth2=client)


def _api_key(location: str | None, name: str | None, value: str | None) -> SchemeAndCredential:
    if location not in ("header", "query", "cookie") or not name:
        raise UsageError(
            f"An API key needs a location ('header', 'query' or 'cookie') and a name; "
            f"got location={location!r}, name={name!r}."
        )
    scheme = CustomAuthScheme(type="apiKey", location=location, name=name)
    if not value:
        return scheme, None
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=value)


def _bearer(value: str | None) -> SchemeAndCredential:
    scheme = CustomAuthScheme(type="http", scheme="bearer")
    if not value:
        return scheme, None
    http = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=value))
    return scheme, AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http)
