"""Who signs in to Google Cloud."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from google.oauth2.credentials import Credentials
from google.oauth2.service_account import Credentials as ServiceAccountCredentials

from toolwright.errors import UsageError
from toolwright.sources import GoogleCredentialsConfig

SCOPE = "https://www.googleapis.com/auth/pubsub"


@pytest.fixture(scope="module")
def key() -> dict[str, str]:
    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return {
        "type": "service_account",
        "client_email": "agent@shop.example",
        "private_key": pem,
        "token_uri": "https://oauth2.example/token",
    }


def test_a_key_is_taken_parsed_as_text_or_from_a_file(key: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(json.dumps(key))
    for given in (key, json.dumps(key), str(path)):
        loaded = GoogleCredentialsConfig(service_account_json=given, scopes=[SCOPE]).load()
        assert isinstance(loaded, ServiceAccountCredentials)
        assert loaded.service_account_email == "agent@shop.example"
        assert loaded.scopes == [SCOPE]


def test_given_credentials_are_used_as_they_are() -> None:
    credentials = Credentials("token")
    assert GoogleCredentialsConfig(credentials=credentials).load() is credentials


def test_without_any_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(UsageError, match="gcloud auth application-default login"):
        GoogleCredentialsConfig().load()


@pytest.mark.parametrize("given", ["/nowhere/key.json", "{not json", '{"private_key": "SECRET"}'])
def test_what_is_no_key_is_refused_without_showing_it(given: str) -> None:
    config = GoogleCredentialsConfig(service_account_json=given)
    with pytest.raises(UsageError, match="service_account_json is") as caught:
        config.load()
    assert "SECRET" not in f"{caught.value}{config!r}"
