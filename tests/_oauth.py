"""Start the OAuth2 provider of the tests and talk to it as a browser and as its owner."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

from tests._oauth_provider import ACCOUNT, CLIENT_ID, CLIENT_SECRET, REDIRECT

from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    OAuth2Auth,
    OAuth2Flows,
    OpenIdConnectWithConfig,
)

CLIENT = OAuth2Auth(client_id=CLIENT_ID, client_secret=CLIENT_SECRET, redirect_uri=REDIRECT)


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Provider:
    """A running provider."""

    def __init__(self, address: str) -> None:
        self.address = address

    def sign_in(self, auth_uri: str) -> str:
        """Follow the sign-in address as a browser does; where it ends up."""
        opener = build_opener(_Stay)
        try:
            with opener.open(auth_uri) as answer:
                raise AssertionError(f"no redirect: {answer.read()!r}")
        except OSError as redirect:
            headers = getattr(redirect, "headers", {})
            return str(headers["Location"])

    def admin(self, **orders: Any) -> dict[str, Any]:
        """Change how the provider behaves; what it knows."""
        body = json.dumps(orders).encode()
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"{self.address}/admin", body, headers)) as answer:
            return json.load(answer)

    def oidc(self, *, discover: bool = True, **client: Any) -> AuthConfig:
        """What a developer writes to let users sign in here."""
        scheme = OpenIdConnectWithConfig(
            open_id_connect_url=f"{self.address}/.well-known/openid-configuration"
            if discover
            else None,
            authorization_endpoint="" if discover else f"{self.address}/authorize",
            token_endpoint="" if discover else f"{self.address}/token",
            scopes=["openid", "email"],
        )
        raw = AuthCredential(
            auth_type=AuthCredentialTypes.OPEN_ID_CONNECT,
            oauth2=CLIENT.model_copy(update=client),
        )
        return AuthConfig(auth_scheme=scheme, raw_auth_credential=raw, credential_key="calendar")

    def client_credentials(self) -> AuthConfig:
        """What a developer writes to let the program itself in."""
        flows = OAuth2Flows(
            token_url=f"{self.address}/token", scopes={"read": ""}, grant="client_credentials"
        )
        raw = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=CLIENT)
        scheme = CustomAuthScheme(type="oauth2", flows=flows)
        return AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)

    def account_key(self) -> dict[str, str]:
        """A service account's key file."""
        return {
            "type": "service_account",
            "client_email": ACCOUNT,
            "private_key": self.admin(account=True)["private_key"],
            "token_uri": f"{self.address}/token",
        }


@contextmanager
def started_provider() -> Iterator[Provider]:
    """A provider in a process of its own, so that its own logs are not mistaken for ours."""
    program = Path(__file__).with_name("_oauth_provider.py")
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield Provider(f"http://127.0.0.1:{process.stdout.readline().strip()}")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
