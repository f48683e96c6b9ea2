"""The examples with several agents run and do what they say."""

import pytest

from examples import researcher_writer, urgent_support
from toolwright.messages import ToolEnded


def test_the_writer_asks_the_researcher_who_really_searches() -> None:
    result = researcher_writer.main()
    assert result.text == "Brief: bees speak by dancing."
    found = [e.result.text for e in result.events if isinstance(e, ToolEnded) and e.path]
    assert found == ["Bees tell each other where flowers are by dancing (von Frisch, 1967)."]


@pytest.mark.row("001-33")
def test_an_urgent_message_ends_up_with_the_support_agent() -> None:
    result = urgent_support.main()
    assert (result.agent, result.text) == (
        "support_agent",
        "Support here. Let us get you logged in.",
    )


def test_an_ordinary_message_stays_at_the_desk() -> None:
    assert urgent_support.main("hello").agent == "main_agent"
