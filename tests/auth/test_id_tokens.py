"""Which ID tokens a sign-in takes: the provider's own, of this kind, that ask for nothing unknown."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from joserfc.jwk import RSAKey

from toolwright.backends.auth import _id_token
from toolwright.backends.auth._http import SignInRefused
from toolwright.backends.auth._id_token import check_id_token
from toolwright.backends.auth._provider import Provider
from toolwright.messages import OAuth2Auth

pytestmark = pytest.mark.anyio
KEY, OTHER = RSAKey.generate_key(2048, {"kid": "1"}), RSAKey.generate_key(2048, {"kid": "1"})
ISSUER = "https://login.example"


def claims(**other: Any) -> dict[str, Any]:
    now = int(time.time())
    known = {"iss": ISSUER, "aud": "us", "sub": "ada", "exp": now + 3600, "iat": now, "nonce": "n"}
    return known | other


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(header: Any, key: Any = KEY, **other: Any) -> str:
    """A token; with bytes as the key, by HMAC, and without a key by nobody."""
    head = header if isinstance(header, bytes) else {"alg": "RS256", "kid": "1"} | header
    text = f"{encoded(head)}.{encoded(claims(**other))}"
    if key is None:
        return f"{text}."
    if isinstance(key, bytes):
        return f"{text}.{encoded(hmac.new(key, text.encode(), hashlib.sha256).digest())}"
    private = key.private_key
    return f"{text}.{encoded(private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


async def check(token: str, monkeypatch: pytest.MonkeyPatch, *, jwks: bool = True) -> None:
    async def keys(address: str, reachable: Any) -> dict[str, Any]:
        return {"keys": [KEY.as_dict(private=False)]}

    monkeypatch.setattr(_id_token, "get_json", keys)
    provider = Provider(
        issuer=ISSUER,
        token=f"{ISSUER}/token",
        jwks=f"{ISSUER}/jwks" if jwks else "",
    )
    await check_id_token(OAuth2Auth(id_token=token, access_token="a"), provider, "us", "n")


FINE = {
    "plain": {},
    "typed": {"typ": "JWT"},
    "in small letters": {"typ": "application/jwt"},
    "an ID token": {"typ": "id+jwt"},
    "with addresses": {"jku": "https://evil.example", "x5u": "https://evil.example"},
}


@pytest.mark.parametrize("how", FINE)
async def test_an_id_token_is_taken(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await check(signed(FINE[how]), monkeypatch)


WRONG_KIND: dict[str, Any] = {
    "critical": signed({"crit": ["x"], "x": 1}),
    "critical, missing": signed({"crit": ["x"]}),
    "critical, known elsewhere": signed({"crit": ["exp"], "exp": 1}),
    "critical, b64": signed({"crit": ["b64"], "b64": True}),
    "critical, none": signed({"crit": []}),
    "critical, a text": signed({"crit": "x"}),
    "critical, null": signed({"crit": None}),
    "not encoded": signed({"b64": False}),
    "not encoded, said": signed({"b64": False, "crit": ["b64"]}),
    "access token": signed({"typ": "at+jwt"}),
    "access token, long": signed({"typ": "application/AT+JWT"}),
    "sign-out": signed({"typ": "logout+jwt"}),
    "sign-out, untyped": signed({}, events={"http://schemas.openid.net/event/x": {}}),
    "no type": signed({"typ": 5}),
    "type null": signed({"typ": None}),
}
FORGED: dict[str, Any] = {
    "none": signed({"alg": "none"}, None),
    "NONE": signed({"alg": "NoNe"}, None),
    "none, twice": signed(b'{"alg": "RS256", "kid": "1", "alg": "none"}', None),
    "the public key as a secret": signed({"alg": "HS256"}, KEY.as_pem(private=False)),
    "its numbers as a secret": signed(
        {"alg": "HS256"}, json.dumps(KEY.as_dict(private=False)).encode()
    ),
    "nothing as a secret": signed({"alg": "HS256"}, b""),
    "another's key": signed({}, OTHER),
    "another's key, in it": signed({"jwk": {"kty": "RSA", "n": "AQ", "e": "AQAB"}}, OTHER),
    "another's key, of no name": signed({"kid": "2"}, OTHER),
    "no algorithm": signed(b'{"kid": "1"}'),
    "cut off": signed({}).rpartition(".")[0] + ".",
    "two parts": signed({}).rpartition(".")[0],
    "five parts": signed({}) + ".x.y",
    "no text": "\ud800",
    "a long header": signed({"x": "y" * 100_000}),
    "an algorithm that is a list": signed({"alg": ["RS256"]}),
}
WRONG_CLAIMS: dict[str, Any] = {
    "another issuer": signed({}, iss="https://evil.example"),
    "another client": signed({}, aud="them"),
    "for two, another's": signed({}, aud=["us", "them"], azp="them"),
    "over": signed({}, exp=int(time.time()) - 3600),
    "without an end": signed({}, exp=None),
    "an end that is a text": signed({}, exp="tomorrow"),
    "another sign-in": signed({}, nonce="m"),
    "no sign-in": signed({}, nonce=None),
    "another access token": signed({}, at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
}


@pytest.mark.parametrize("how", WRONG_KIND)
@pytest.mark.parametrize("jwks", [True, False])
async def test_a_token_of_another_kind_or_with_unknown_extensions_is_refused(
    how: str, jwks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SignInRefused, match="ID token is not valid"):
        await check(WRONG_KIND[how], monkeypatch, jwks=jwks)


@pytest.mark.parametrize("how", FORGED)
async def test_a_forged_token_is_refused(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SignInRefused, match="ID token is not valid"):
        await check(FORGED[how], monkeypatch)


@pytest.mark.parametrize("how", WRONG_CLAIMS)
@pytest.mark.parametrize("jwks", [True, False])
async def test_a_token_for_something_else_is_refused(
    how: str, jwks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SignInRefused, match="ID token is not valid"):
        await check(WRONG_CLAIMS[how], monkeypatch, jwks=jwks)
