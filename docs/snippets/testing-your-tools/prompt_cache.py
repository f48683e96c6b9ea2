from typing import Any

from toolwright.testing import prompt_cache

TOOLS = [
    {
        "name": f"tool_{n}",
        "description": "Does one thing. " * 20,
        "input_schema": {"type": "object"},
    }
    for n in range(40)
]
MARK = {"type": "ephemeral"}


def body(*said: str, tools: list[dict[str, Any]] = TOOLS) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in said]
    return {
        "model": "claude-sonnet-4-5",
        "tools": tools,
        "messages": messages,
        "cache_control": MARK,
    }


def test_a_second_question_reads_what_the_first_one_wrote() -> None:
    first, second = prompt_cache([body("One?"), body("One?", "Two?")], "anthropic")
    assert second.read == first.written
    assert second.changed_at == ""  # it only adds to the first
    assert second.paid < 0.2 * first.paid


def test_tools_in_another_order_lose_everything() -> None:
    requests = [body("One?"), body("One?", "Two?", tools=TOOLS[::-1])]
    _, second = prompt_cache(requests, "anthropic")
    assert (second.read, second.changed_at) == (0, "tools[0]")
