"""The models page: every snippet runs, against a loopback server that stands for the provider."""

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from tests.models import test_anthropic, test_gemini, test_openai, test_openai_chat
from tests.models.wire import Reply, Wire, running

SNIPPETS = Path("docs/snippets/models")


@pytest.fixture
def provider() -> Iterator[Wire]:
    """A provider in a thread of its own, because the snippets block."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(running()) as wire:
        yield wire


@pytest.fixture(autouse=True)
def environment(provider: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(key, "k")
    for url in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "LAB_URL"):
        monkeypatch.setenv(url, provider.url)


def run(name: str) -> Any:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))["main"]()


def openai_says(text: str) -> dict[str, Any]:
    return test_openai.response(test_openai.said(text))


def test_a_model_by_name(provider: Wire) -> None:
    provider.will(test_openai.response(test_openai.CALLED), openai_says("Yes, take one."))
    assert run("by_name") == "Yes, take one."


def test_a_server_of_ones_own(provider: Wire) -> None:
    provider.will(test_openai_chat.completion(content="Hi."))
    assert run("own_server") == "Hi."


def test_settings_retries_and_prices(provider: Wire) -> None:
    provider.will(
        Reply(status=529, body={}, headers={"retry-after": "0"}),
        test_anthropic.message(test_anthropic.said("Hi.")),
    )
    text, cost = run("settings")
    assert text == "Hi."
    assert cost == pytest.approx((20 * 1.0 + 80 * 0.1 + 20 * 4.0) / 1e6)
    assert provider.bodies[0]["output_config"] == {"effort": "low"}


def test_search_beside_a_tool_of_ones_own(provider: Wire) -> None:
    def calls(name: str, **args: str) -> dict[str, Any]:
        return test_gemini.response({"functionCall": {"name": name, "args": args}})

    provider.will(
        calls("google_search", request="next solar eclipse in Spain"),
        test_gemini.response({"text": "12 August 2026"}),
        calls("add_to_calendar", title="Eclipse", day="2026-08-12"),
        test_gemini.response({"text": "It is in your calendar."}),
    )
    assert run("search") == "It is in your calendar."
    assert provider.bodies[1]["tools"] == [{"googleSearch": {}}]
    assert "12 August 2026" in str(provider.bodies[3]["contents"])


def test_a_data_store_beside_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    make_agent: Callable[[], Any] = runpy.run_path(str(SNIPPETS / "data_store.py"))["make_agent"]
    assert make_agent().model.name == "vertex:gemini-2.5-flash"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (
            Reply(status=429, body={"error": {"message": "slow"}}, headers={"retry-after": "90"}),
            "Try again in 90 seconds.",
        ),
        (Reply(status=401, body={"error": {"message": "bad key"}}), "No answer (auth)"),
    ],
)
def test_errors(provider: Wire, reply: Reply, says: str) -> None:
    provider.will(reply)
    assert run("errors").startswith(says)


def test_a_recording(provider: Wire, tmp_path: Path) -> None:
    snippet = tmp_path / "recorded.py"
    snippet.write_text((SNIPPETS / "recorded.py").read_text())
    provider.will(test_openai.response(test_openai.CALLED), openai_says("Take an umbrella."))

    for _ in range(2):
        runpy.run_path(str(snippet))["test_the_agent_looks_at_the_weather"]()

    assert len(provider.requests) == 2


def test_a_model_of_ones_own() -> None:
    assert run("own_model") == "You said: Hello"


def test_every_snippet_of_the_page_exists() -> None:
    page = Path("docs/guides/models.md").read_text()
    named = {line.split('"')[1] for line in page.splitlines() if line.startswith("--8<--")}
    assert named == {str(path) for path in SNIPPETS.glob("*.py")}
