"""An OAuth2 and OpenID Connect provider, and an API behind it, on Authlib's server side.

Run as a program; it says its port on the first line of its output. Real signatures, PKCE, rotating
refresh tokens. It signs everybody in as Ada without asking; `login_hint=nobody` is a person who says no.
"""

import json
import os
import secrets
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7523 import JWTBearerGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode, UserInfo
from flask import Flask, jsonify, request
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT_ID, CLIENT_SECRET = "calendar-app", "client-secret-canary-7c1f"
API_KEY = "api-key-canary-93ab"
REDIRECT = "https://app.example.com/callback"
ACCOUNT = "robot@project.example.com"


@dataclass
class Client(ClientMixin):
    """One registered application."""

    client_id: str
    client_secret: str

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return REDIRECT

    def get_allowed_scope(self, scope: Any) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri == REDIRECT

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(self.client_secret, client_secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return (
            method in ("client_secret_basic", "client_secret_post")
            if self.client_secret
            else method == "none"
        )

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return True


@dataclass
class Code(AuthorizationCodeMixin):
    """What an authorization code stands for, until it is redeemed."""

    code: str
    redirect_uri: str | None
    scope: str
    nonce: str | None
    code_challenge: str | None
    code_challenge_method: str | None

    def get_redirect_uri(self) -> Any:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> None:
        return None

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


@dataclass
class Token(TokenMixin):
    """One access token and the refresh token that came with it."""

    access_token: str
    refresh_token: str | None
    scope: str
    expires_at: float
    revoked: bool = False
    refreshed: bool = False

    def check_client(self, client: Client) -> bool:
        return True

    def get_scope(self) -> str:
        return self.scope

    def get_expires_in(self) -> int:
        return int(self.expires_at - time.time())

    def is_expired(self) -> bool:
        return self.expires_at < time.time()

    def is_revoked(self) -> bool:
        return self.revoked

    def get_user(self) -> str:
        return "ada"

    def get_client(self) -> Client:
        return CLIENTS[CLIENT_ID]


@dataclass
class Memory:
    """All that the provider knows."""

    codes: dict[str, Code] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    grants: list[str] = field(default_factory=list)
    lifetime: int = 3600


CLIENTS = {
    CLIENT_ID: Client(CLIENT_ID, CLIENT_SECRET),
    ACCOUNT: Client(ACCOUNT, secrets.token_hex()),
    "public-app": Client("public-app", ""),
}
KEY = RSAKey.generate_key(2048, {"kid": "provider-1", "use": "sig"})
ACCOUNT_KEY = RSAKey.generate_key(2048)
memory = Memory()


class CodeGrant(grants.AuthorizationCodeGrant):
    """Codes are used once, and only with the verifier that belongs to them."""

    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic", "client_secret_post", "none"]  # noqa: RUF012

    def save_authorization_code(self, code: str, request: Any) -> None:
        asked = request.payload.data
        memory.codes[code] = Code(
            code,
            request.payload.redirect_uri,
            request.payload.scope,
            asked.get("nonce"),
            asked.get("code_challenge"),
            asked.get("code_challenge_method"),
        )

    def query_authorization_code(self, code: str, client: Any) -> Code | None:
        return memory.codes.get(code)

    def delete_authorization_code(self, authorization_code: Code) -> None:
        del memory.codes[authorization_code.code]

    def authenticate_user(self, authorization_code: Code) -> str:
        return "ada"


class RequiredChallenge(CodeChallenge):
    """PKCE with S256, or nothing."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]  # noqa: RUF012

    def validate_code_verifier(self, grant: Any, result: Any) -> None:
        assert grant.request.authorization_code.code_challenge, "this client must use PKCE"
        super().validate_code_verifier(grant, result)


class SignedIdentity(OpenIDCode):
    """ID tokens signed with the provider's key."""

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return any(code.nonce == nonce for code in memory.codes.values())

    def resolve_client_private_key(self, client: Client) -> RSAKey:
        return KEY

    def get_client_algorithm(self, client: Client) -> str:
        return "RS256"

    def get_client_claims(self, client: Client) -> dict[str, Any]:
        return {"iss": issuer(), "aud": [client.client_id]}

    def get_encode_header(self, client: Client) -> dict[str, str]:
        return {"alg": "RS256", "kid": "provider-1"}

    def generate_user_info(self, user: str, scope: str) -> UserInfo:
        return UserInfo(sub=user, email="ada@example.com")


class RefreshGrant(grants.RefreshTokenGrant):
    """Each refresh token works once; a new one comes with the new access token."""

    INCLUDE_NEW_REFRESH_TOKEN = True
    TOKEN_ENDPOINT_AUTH_METHODS = CodeGrant.TOKEN_ENDPOINT_AUTH_METHODS

    def authenticate_refresh_token(self, refresh_token: str) -> Any:
        for token in memory.tokens:
            if token.refresh_token == refresh_token and not token.refreshed:
                return token
        return None

    def authenticate_user(self, refresh_token: Token) -> str:
        return "ada"

    def revoke_old_credential(self, refresh_token: Any) -> None:
        refresh_token.refreshed = refresh_token.revoked = True


class AccountGrant(JWTBearerGrant):
    """A service account's signed statement for a token."""

    def resolve_issuer_client(self, issuer: str) -> Client | None:
        return CLIENTS.get(issuer)

    def resolve_client_public_key(self, client: Client) -> RSAKey:
        return ACCOUNT_KEY

    def authenticate_user(self, subject: str) -> None:
        return None

    def has_granted_permission(self, client: Client, user: str) -> bool:
        return True

    def get_audiences(self) -> list[str]:
        # google-auth always names Google here, whichever token endpoint the key file has.
        return [f"{issuer()}/token", "https://oauth2.googleapis.com/token"]


class Validator(BearerTokenValidator):
    """Knows the tokens that were given out."""

    def authenticate_token(self, token_string: str) -> Token | None:
        return next((t for t in memory.tokens if t.access_token == token_string), None)


app = Flask(__name__)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True


def issuer() -> str:
    return request.host_url.rstrip("/")


def save_token(token: dict[str, Any], asked: Any) -> None:
    memory.grants.append(asked.payload.grant_type)
    token["expires_in"] = memory.lifetime
    expires_at = time.time() + memory.lifetime
    memory.tokens.append(
        Token(token["access_token"], token.get("refresh_token"), token.get("scope", ""), expires_at)
    )


server = AuthorizationServer(app, query_client=CLIENTS.get, save_token=save_token)
server.register_grant(CodeGrant, [RequiredChallenge(required=True), SignedIdentity()])
server.register_grant(RefreshGrant)
server.register_grant(grants.ClientCredentialsGrant)
server.register_grant(AccountGrant)
protected = ResourceProtector()
protected.register_token_validator(Validator())


@app.get("/.well-known/openid-configuration")
@app.get("/impostor/.well-known/openid-configuration")
def discovery() -> Any:
    return jsonify(
        issuer=issuer(),
        authorization_endpoint=f"{issuer()}/authorize",
        token_endpoint=f"{issuer()}/token",
        jwks_uri=f"{issuer()}/jwks",
    )


@app.get("/downgraded/.well-known/openid-configuration")
def downgraded() -> Any:
    """As somebody would change it who wants to use codes without their verifiers."""
    found = discovery().get_json()
    changed = {"issuer": f"{issuer()}/downgraded", "code_challenge_methods_supported": ["plain"]}
    return jsonify({**found, **changed})


@app.get("/jwks")
def jwks() -> Any:
    return jsonify(keys=[KEY.as_dict(private=False)])


@app.get("/authorize")
def authorize() -> Any:
    user = None if request.args.get("login_hint") == "nobody" else "ada"
    grant = server.get_consent_grant(end_user=user)
    return server.create_authorization_response(grant_user=user, grant=grant)


@app.post("/token")
def token() -> Any:
    return server.create_token_response()


@app.get("/calendar")
@protected()
def calendar() -> Any:
    return jsonify(events=["Stand-up", "Lunch with Grace"])


@app.get("/products")
def products() -> Any:
    if request.headers.get("X-API-Key") != API_KEY:
        return jsonify(error="unknown key"), 401
    return jsonify(products=[f"{request.args['q']} No. 1"])


@app.post("/admin")
def admin() -> Any:
    """For tests: change how long tokens live, revoke them, and see what was granted."""
    orders = request.get_json()
    memory.lifetime = orders.get("lifetime", memory.lifetime)
    for held in memory.tokens:
        held.revoked |= orders.get("revoke_access", False)
        held.refreshed |= orders.get("revoke_refresh", False)
    secret_texts = [t.access_token for t in memory.tokens]
    secret_texts += [t.refresh_token for t in memory.tokens if t.refresh_token]
    known: dict[str, Any] = {"grants": memory.grants, "secrets": secret_texts}
    if orders.get("account"):
        known["private_key"] = ACCOUNT_KEY.as_pem(private=True).decode()
    if orders.get("forget"):
        memory.__init__()
    return json.dumps(known)


if __name__ == "__main__":
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    listening = make_server("127.0.0.1", 0, app, threaded=True)
    sys.stdout.write(f"{listening.server_port}\n")
    sys.stdout.flush()
    listening.serve_forever()
