"""Read what a person, or the program they signed in with, brought back."""

from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError

from toolwright.errors import UsageError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthToolArguments,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
)

__all__ = ["credential_in", "redirect_in"]


def redirect_in(answer: Any) -> str | None:
    """The address a provider sent the person back to, when that is what the answer is."""
    if isinstance(answer, str) and "://" in answer:
        return answer
    if isinstance(answer, dict):
        if "auth_response_uri" in answer:
            return str(answer["auth_response_uri"])
        if "state" in answer and ("code" in answer or "error" in answer):
            return "?" + urlencode({name: str(value) for name, value in answer.items()})
    return None


def credential_in(answer: Any, config: AuthConfig) -> AuthCredential:
    """The credential that the answer is; `UsageError`, without showing it, when it is none."""
    if isinstance(answer, AuthCredential):
        return answer
    if isinstance(answer, AuthConfig | AuthToolArguments):
        answer = answer.model_dump()
    try:
        found = (
            _from_text(answer, config) if isinstance(answer, str) else _from_fields(answer, config)
        )
    except (ValidationError, TypeError):
        found = None
    if found is None:
        raise UsageError(
            f"This answer is no credential for the {config.auth_scheme.type!r} scheme "
            f"of {config.credential_key!r}; wanted: {_wanted(config)}."
        )
    return found


def _from_text(answer: str, config: AuthConfig) -> AuthCredential | None:
    if not answer.strip():
        return None
    if config.auth_scheme.type == "apiKey":
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=answer.strip())
    if config.auth_scheme.type == "http" and _is_basic(config):
        username, separator, password = answer.partition(":")
        return _basic(username, password) if separator else None
    if config.auth_scheme.type == "http":
        return _http(config, HttpCredentials(token=answer.strip()))
    return None


def _from_fields(answer: Any, config: AuthConfig) -> AuthCredential | None:
    if not isinstance(answer, dict):
        return None
    if isinstance(answer.get("auth_config"), dict):
        answer = answer["auth_config"]
    if answer.get("exchanged_auth_credential"):
        return AuthCredential.model_validate(answer["exchanged_auth_credential"])
    if "auth_type" in answer:
        return AuthCredential.model_validate(answer)
    if "api_key" in answer:
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=answer["api_key"])
    if "access_token" in answer:
        return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(**answer))
    if "password" in answer:
        return _basic(answer.get("username", ""), answer["password"])
    return _http(config, HttpCredentials(token=answer["token"])) if "token" in answer else None


def _basic(username: str, password: str) -> AuthCredential:
    given = HttpCredentials(username=username, password=password)
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme="basic", credentials=given)
    )


def _http(config: AuthConfig, given: HttpCredentials) -> AuthCredential:
    scheme = getattr(config.auth_scheme, "scheme", None) or "bearer"
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme=scheme, credentials=given)
    )


def _is_basic(config: AuthConfig) -> bool:
    return (getattr(config.auth_scheme, "scheme", None) or "").lower() == "basic"


def _wanted(config: AuthConfig) -> str:
    if config.auth_scheme.type == "apiKey":
        return "the key as text, or {'api_key': …}"
    if config.auth_scheme.type == "http" and _is_basic(config):
        return "{'username': …, 'password': …}"
    if config.auth_scheme.type == "http":
        return "the token as text, or {'token': …}"
    return "the address the browser ended up at, {'code': …, 'state': …}, or {'access_token': …}"
