"""What a source shows while its tool runs is bounded, each message and all of a call together."""

from typing import Any

import pytest

from toolwright.sources._counted import (
    LETTERS_OF_PROGRESS,
    LONGEST_PROGRESS,
    MOST_PROGRESS,
    CountedProgress,
)

LAST = ("(What comes after this is not shown.)", None)


def shown(*messages: tuple[str, Any]) -> list[tuple[str, Any]]:
    told: list[tuple[str, Any]] = []
    progress = CountedProgress(lambda text, data: told.append((text, data)))
    for message in messages:
        progress(*message)
    return told


def test_few_messages_are_shown_as_they_are() -> None:
    messages = [("one", {"a": 1}), ("", None), ("two", ["x", 1.5, None])]
    assert shown(*messages) == messages


def test_many_small_messages_end_with_a_note() -> None:
    told = shown(*[("x", None)] * (MOST_PROGRESS + 100))
    assert len(told) == MOST_PROGRESS
    assert told[-1] == LAST


@pytest.mark.parametrize("message", [("x" * 10**6, None), ("x", "y" * 50_000)])
def test_many_long_messages_end_with_a_note_sooner(message: tuple[str, Any]) -> None:
    told = shown(*[message] * 200)
    assert len(told) < 200
    assert told[-1] == LAST
    assert sum(len(text) + len(data or "") for text, data in told) < LETTERS_OF_PROGRESS + 66_000


def test_a_long_message_is_cut_and_large_data_is_left_out() -> None:
    [(text, data)] = shown(("x" * 10**6, {"all": ["y" * 10] * 10**5}))
    assert (len(text), data) == (LONGEST_PROGRESS, None)
