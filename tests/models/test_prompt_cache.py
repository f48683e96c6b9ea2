"""The simulator of prompt caches: each provider's documented rules, one by one."""

from typing import Any

import pytest

from toolwright import UsageError
from toolwright.models import Price, _prices, set_price
from toolwright.testing import prompt_cache

MARK = {"type": "ephemeral"}
LASTING = {"type": "ephemeral", "ttl": "1h"}


def words(tokens: int, letter: str = "a") -> str:
    return letter * (4 * tokens)


def block(tokens: int, letter: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words(tokens, letter), **more}


def claude(*blocks: dict[str, Any], system: Any = (), **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": [one]} for one in blocks]
    return {"model": "claude-sonnet-4-5", "system": list(system), "messages": messages, **more}


def gpt(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "gpt-5",
        "input": [{"role": "user", "content": text} for text in texts],
        **more,
    }


def gemini(*texts: str) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text}]} for text in texts]}


@pytest.fixture(autouse=True)
def plain_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_prices, "_OWN", {})
    set_price(
        "anthropic:claude-sonnet-4-5",
        Price(input=2, output=1, cached=0.2, cache_write=2.5, cache_write_1h=4),
    )
    set_price("openai:gpt-5", Price(input=1, output=1, cached=0.1))


def test_claude_writes_at_a_mark_and_reads_what_an_earlier_request_wrote() -> None:
    first = claude(block(2000, cache_control=MARK), block(100))
    more = claude(block(2000, cache_control=MARK), block(100, "b"), block(50))
    one, two = prompt_cache([first, more], "anthropic")
    assert (one.read, two.read, two.written) == (0, one.written, 0)
    assert 2000 < one.written < 2020
    assert one.paid == pytest.approx(one.tokens + 0.25 * one.written)
    assert two.paid == pytest.approx(two.tokens - 0.9 * two.read)
    assert (one.changed_at, two.changed_at) == ("", "messages[1][0]")


def test_claude_without_marks_caches_nothing() -> None:
    found = prompt_cache([claude(block(2000))] * 2, "anthropic")
    assert [(one.read, one.written, one.paid) for one in found] == [(0, 0, found[0].tokens)] * 2


def test_the_mark_of_the_whole_request_moves_on_with_the_conversation() -> None:
    bodies = [claude(*[block(1500, c) for c in "abcd"[:n]], cache_control=MARK) for n in (1, 2, 3)]
    found = prompt_cache(bodies, "anthropic")
    assert [one.read for one in found] == [0, found[0].tokens, found[1].tokens]
    assert all(one.read + one.written == one.tokens for one in found)


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-6", 4096),
        ("claude-haiku-4-5-20251001", 4096),
        ("claude-opus-4-7", 2048),
        ("claude-3-5-haiku-latest", 2048),
        ("claude-opus-5", 512),
    ],
)
def test_a_beginning_that_is_too_short_for_the_model_is_not_kept(model: str, least: int) -> None:
    short, long = block(least - 50, cache_control=MARK), block(least + 1, cache_control=MARK)
    for body, is_kept in ((claude(short), False), (claude(long), True)):
        found = prompt_cache([body | {"model": model}] * 2, "anthropic")
        assert (found[0].written > 0, found[1].read > 0) == (is_kept, is_kept)


@pytest.mark.parametrize(("mark", "seconds"), [(MARK, 300), (LASTING, 3600)])
def test_what_is_not_used_is_forgotten_and_a_use_keeps_it(mark: Any, seconds: float) -> None:
    bodies = [claude(block(2000, cache_control=mark))] * 3
    used = prompt_cache(bodies, "anthropic", times=[0, seconds, 2 * seconds])
    late = prompt_cache(bodies[:2], "anthropic", times=[0, seconds + 1])
    assert [one.read > 0 for one in used] == [False, True, True]
    assert [one.read > 0 for one in late] == [False, False]


def test_writing_for_an_hour_costs_twice() -> None:
    (one,) = prompt_cache([claude(block(2000, cache_control=LASTING))], "anthropic")
    assert one.paid == pytest.approx(2 * one.written)


def test_claude_looks_back_twenty_blocks_and_no_further() -> None:
    def after(count: int) -> int:
        start = [block(1500, "a")]
        bodies = [claude(*start, *[block(1, "b")] * n, cache_control=MARK) for n in (0, count)]
        return prompt_cache(bodies, "anthropic")[1].read

    assert after(19) > 0
    assert after(20) == 0


def test_claude_takes_four_marks() -> None:
    with pytest.raises(UsageError, match="4 cache marks; found 5"):
        prompt_cache([claude(*[block(1, cache_control=MARK)] * 5)], "anthropic")


def test_another_choice_of_tools_leaves_what_is_before_the_messages() -> None:
    body = claude(block(2000), system=[block(3000, cache_control=MARK)], cache_control=MARK)
    kept, changed = prompt_cache([body, body | {"tool_choice": {"type": "any"}}], "anthropic")
    assert 3000 < changed.read < 3020
    assert changed.written == kept.written - changed.read


def test_other_models_share_nothing() -> None:
    body = claude(block(5000, cache_control=MARK))
    found = prompt_cache([body, body | {"model": "claude-opus-4-6"}], "anthropic")
    assert found[1].read == 0


@pytest.mark.parametrize(
    ("shared", "read"), [(900, 0), (1100, 1024), (1160, 1152), (1280, 1280), (2000, 1920)]
)
def test_openai_reads_in_steps_of_128_from_1024_on(shared: int, read: int) -> None:
    found = prompt_cache([gpt(words(shared) + "x"), gpt(words(shared) + words(500, "y"))], "openai")
    assert found[1].read == read
    assert found[1].paid == pytest.approx(found[1].tokens - 0.9 * read)


def test_openai_forgets_after_five_minutes_and_keeps_for_a_day_if_asked() -> None:
    for more, is_read in (({}, False), ({"prompt_cache_retention": "24h"}, True)):
        found = prompt_cache([gpt(words(2000), **more)] * 2, "openai", times=[0, 301])
        assert (found[1].read > 0) is is_read


def test_requests_with_other_cache_keys_share_nothing() -> None:
    found = prompt_cache([gpt(words(2000), prompt_cache_key=key) for key in "aba"], "openai")
    assert [one.read > 0 for one in found] == [False, False, True]


@pytest.mark.parametrize(("model", "least"), [("gemini-2.5-pro", 2048), ("gemini-3.6-flash", 4096)])
def test_gemini_reads_a_common_beginning_of_some_length(model: str, least: int) -> None:
    for tokens, is_read in ((least - 50, False), (least + 1, True)):
        found = prompt_cache([gemini(words(tokens))] * 2, "google", model=model)
        assert (found[1].read > 0) is is_read


def test_what_cannot_be_simulated_is_told() -> None:
    with pytest.raises(UsageError, match="Known providers: anthropic, openai, google"):
        prompt_cache([], "mistral")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="1 requests, and 2 times"):
        prompt_cache([gpt("a")], "openai", times=[0, 1])
