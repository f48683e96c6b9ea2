"""Signing in: where credentials are kept, and the flows that get them. Loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.backends.auth._answers import check_brought, redirect_in
    from toolwright.backends.auth._callback import state_in
    from toolwright.backends.auth._flows import AuthlibFlows
    from toolwright.backends.auth._google_default import machine_token
    from toolwright.backends.auth._http import SignInRefused
    from toolwright.backends.auth._keyring import KeyringCredentials
    from toolwright.backends.auth._keys import encryption_key, key_from_file, new_key
    from toolwright.backends.auth._memory import MemoryCredentials
    from toolwright.backends.auth._open import open_credentials
    from toolwright.backends.auth._schemes import (
        openid_url_to_scheme_credential,
        service_account_dict_to_scheme_credential,
        service_account_scheme_credential,
        token_to_scheme_credential,
    )
    from toolwright.backends.auth._sqlite import SqliteCredentials
    from toolwright.backends.auth._store import CredentialStore

__all__ = [
    "AuthlibFlows",
    "CredentialStore",
    "KeyringCredentials",
    "MemoryCredentials",
    "SignInRefused",
    "SqliteCredentials",
    "check_brought",
    "encryption_key",
    "key_from_file",
    "machine_token",
    "new_key",
    "open_credentials",
    "openid_url_to_scheme_credential",
    "redirect_in",
    "service_account_dict_to_scheme_credential",
    "service_account_scheme_credential",
    "state_in",
    "token_to_scheme_credential",
]

_LAZY = {
    "AuthlibFlows": "_flows",
    "CredentialStore": "_store",
    "KeyringCredentials": "_keyring",
    "MemoryCredentials": "_memory",
    "SignInRefused": "_http",
    "SqliteCredentials": "_sqlite",
    "check_brought": "_answers",
    "encryption_key": "_keys",
    "key_from_file": "_keys",
    "machine_token": "_google_default",
    "new_key": "_keys",
    "open_credentials": "_open",
    "openid_url_to_scheme_credential": "_schemes",
    "redirect_in": "_answers",
    "service_account_dict_to_scheme_credential": "_schemes",
    "service_account_scheme_credential": "_schemes",
    "state_in": "_callback",
    "token_to_scheme_credential": "_schemes",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
