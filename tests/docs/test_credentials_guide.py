"""What the page on credentials shows, works."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest
from tests._oauth import started_provider
from tests._oauth_provider import CLIENT_ID, CLIENT_SECRET, REDIRECT

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "credentials"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_API_KEY", "shop-key-canary")


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def test_a_key_is_given_to_the_function_and_hidden_from_the_model() -> None:
    result = _run("api_key")["result"]
    assert result.text == "Here are our lamps."
    assert "shop-key-canary" not in repr(result)


def test_a_user_signs_in_and_the_run_goes_on() -> None:
    main = _run("sign_in")["main"]
    client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "redirect_uri": REDIRECT}
    with started_provider() as provider:
        result = asyncio.run(main(provider.address, client, provider.sign_in))
    assert result.history[-2].results[0].text == "Events, read with a Bearer token."


def test_stores_have_addresses_and_keys(tmp_path: Path) -> None:
    rotating = _run("store")["rotating"]
    assert repr(rotating.services.credentials) == "SqliteCredentials('credentials.db')"
    assert (tmp_path / "toolwright" / "credentials.key").exists()


def test_a_function_asks_by_itself_and_its_secret_does_not_show() -> None:
    result = _run("inside")["result"]
    assert result.history[-2].results[0].text == "sent with [redacted]"
