"""Read what a person brought as the credential that was asked for, or say why it is none."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError

from toolwright.backends.auth._callback import answers_state, callback_in
from toolwright.errors import UsageError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthToolArguments,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    secrets_of,
)

__all__ = ["check_brought", "credential_in", "redirect_in"]

_SIGN_IN_TYPES = ("oauth2", "openIdConnect")
_KNOWN_TYPES = ("apiKey", "http", *_SIGN_IN_TYPES)
_LONGEST = 64 * 1024
"""Characters that a secret may have; tokens have some thousands."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which kind of credential a scheme wants, and under which key it is kept."""

    key: str
    type: str
    scheme: str

    @property
    def is_basic(self) -> bool:
        return self.type == "http" and self.scheme.lower() == "basic"


def check_brought(answer: Any, shown: Mapping[str, Any]) -> None:
    """Refuse with `UsageError`, which does not show it, what cannot end the sign-in of `shown`.

    `shown` is what a person sees of the request: the payload of the pending call.
    """
    asked = _Asked(
        key=str(shown.get("credential_key", "")),
        type=str(shown.get("type", "")),
        scheme=str(shown.get("scheme") or ""),
    )
    redirect = redirect_in(answer)
    if redirect is not None and asked.type in _SIGN_IN_TYPES:
        _check_redirect(redirect, asked, shown)
    elif asked.type in _KNOWN_TYPES or not _says_something(answer):
        _credential(answer, asked)


def redirect_in(answer: Any) -> str | None:
    """The address a provider sent the person back to, when that is what the answer is."""
    answer = _opened(answer)
    if isinstance(answer, str) and "://" in answer:
        return answer
    if isinstance(answer, AuthCredential):
        tokens = answer.oauth2
        return tokens.auth_response_uri if tokens and not tokens.access_token else None
    if isinstance(answer, dict):
        if isinstance(answer.get("auth_response_uri"), str):
            return answer["auth_response_uri"]
        if "state" in answer and ("code" in answer or "error" in answer):
            fields = {name: str(value) for name, value in answer.items()}
            return "?" + urlencode(fields, errors="replace")
    return None


def credential_in(answer: Any, config: AuthConfig) -> AuthCredential:
    """The credential that the answer is; `UsageError`, without showing it, when it is none."""
    scheme = getattr(config.auth_scheme, "scheme", None) or ""
    return _credential(answer, _Asked(config.credential_key, config.auth_scheme.type, scheme))


def _check_redirect(redirect: str, asked: _Asked, shown: Mapping[str, Any]) -> None:
    if not shown.get("auth_uri"):
        raise _no_credential(asked, "no sign-in was begun that an address could finish")
    found = callback_in(redirect)
    if not found.get("code") and not found.get("error"):
        raise _no_credential(asked, "the address has no code; give the whole one")
    state = str(shown.get("state") or "")
    if state and not answers_state(found, state):
        raise _no_credential(asked, "it does not belong to the open request (its state differs)")


def _credential(answer: Any, asked: _Asked) -> AuthCredential:
    answer = _opened(answer)
    found = answer if isinstance(answer, AuthCredential) else None
    try:
        if isinstance(answer, str):
            found = _from_text(answer, asked)
        elif isinstance(answer, dict):
            found = _from_fields(answer, asked)
    except (ValidationError, TypeError):
        found = None
    if found is None or not _is_usable(found, asked):
        raise _no_credential(asked, "it has no secret of this kind")
    return found


def _says_something(answer: Any) -> bool:
    """Whether flows of somebody's own, for a scheme that is not known here, may understand it."""
    if isinstance(answer, str):
        return bool(answer.strip())
    return isinstance(answer, dict | AuthCredential | AuthConfig | AuthToolArguments) and bool(
        answer
    )


def _opened(answer: Any) -> Any:
    """What is inside of the wrappings that other frameworks send a credential in."""
    if isinstance(answer, AuthToolArguments):
        answer = answer.auth_config
    if isinstance(answer, AuthConfig):
        return answer.exchanged_auth_credential
    try:
        if isinstance(answer, dict) and isinstance(answer.get("auth_config"), dict):
            answer = answer["auth_config"]
        if isinstance(answer, dict) and answer.get("exchanged_auth_credential"):
            return AuthCredential.model_validate(answer["exchanged_auth_credential"])
        if isinstance(answer, dict) and "auth_type" in answer:
            return AuthCredential.model_validate(answer)
    except ValidationError:
        return None
    return answer


def _from_text(answer: str, asked: _Asked) -> AuthCredential | None:
    if asked.type == "apiKey":
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=answer.strip())
    if asked.is_basic:
        username, _, password = answer.partition(":")
        return _basic(username, password)
    if asked.type == "http":
        return _http(asked, HttpCredentials(token=answer.strip()))
    return None


def _from_fields(answer: dict[str, Any], asked: _Asked) -> AuthCredential | None:
    if "api_key" in answer:
        return AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=answer["api_key"])
    if "access_token" in answer:
        return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(**answer))
    if "password" in answer:
        return _basic(answer.get("username"), answer["password"])
    return _http(asked, HttpCredentials(token=answer["token"])) if "token" in answer else None


def _basic(username: Any, password: Any) -> AuthCredential | None:
    if not _is_secret(username) or not _is_secret(password):
        return None
    given = HttpCredentials(username=username, password=password)
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme="basic", credentials=given)
    )


def _http(asked: _Asked, given: HttpCredentials) -> AuthCredential:
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP,
        http=HttpAuth(scheme=asked.scheme or "bearer", credentials=given),
    )


def _is_usable(credential: AuthCredential, asked: _Asked) -> bool:
    """Whether it has what the scheme puts on a request."""
    given = credential.http.credentials if credential.http else HttpCredentials()
    # A whole credential may leave one of the two empty: some APIs take a key as the user name.
    pair = given.username is not None and given.password is not None
    is_pair = pair and _is_secret(f"{given.username}{given.password}")
    if asked.type == "apiKey":
        return _is_secret(credential.api_key)
    if asked.is_basic:
        return is_pair
    if asked.type in _SIGN_IN_TYPES:
        return _is_secret(credential.bearer_token) and not _is_over(credential.oauth2)
    if asked.type == "http":
        tokens = _is_secret(credential.bearer_token) and not _is_over(credential.oauth2)
        return tokens or (is_pair and asked.scheme.lower() not in ("", "bearer"))
    return any(secret.strip() for secret in secrets_of(credential))


def _is_secret(text: Any) -> bool:
    """Whether it is a text that can be sent: not empty, not endless, no control characters."""
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        return False
    return not any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in text)


def _is_over(tokens: OAuth2Auth | None) -> bool:
    if tokens is None or tokens.expires_at is None or tokens.refresh_token:
        return False
    return tokens.expires_at <= time.time()


def _no_credential(asked: _Asked, why: str) -> UsageError:
    return UsageError(
        f"This answer is no credential for the {asked.type!r} scheme of {asked.key!r}: {why}; "
        f"wanted: {_wanted(asked)}."
    )


def _wanted(asked: _Asked) -> str:
    if asked.type == "apiKey":
        return "the key as text, or {'api_key': …}"
    if asked.is_basic:
        return "{'username': …, 'password': …}"
    if asked.type == "http":
        return "the token as text, or {'token': …}"
    if asked.type in _SIGN_IN_TYPES:
        return (
            "the address the browser ended up at, {'code': …, 'state': …}, or a token that has not "
            "expired: {'access_token': …}"
        )
    return "an AuthCredential with the secret in it"
