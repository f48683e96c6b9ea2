"""Calls in a text are found in time that grows with its length, and only where they are meant."""

import time

import pytest

from toolwright.models._openai.chat_reply import ChatReply
from toolwright.models._openai.text_calls import TextCalls

TOOLS = frozenset({"f"})
MANY = 100_000
HOSTILE = {
    "blanks after a tag": "<tool_call>" + " " * MANY,
    "an object that is not closed": '<tool_call>{"name":"f"' + "\n" * MANY,
    "tags": "<tool_call>" * MANY,
    "calls and no end": '<tool_call>{"name":"f"}</tool_call>' * 5_000 + "<tool_call>",
    "a function with blanks": "<function=f>" + " " * MANY,
    "parameters": "<function=f>" + "<parameter=x>" * 10_000 + "</function>",
    "blanks in a function": "<function=f>" + " " * MANY + "</function>",
    "a fence": "```json" + "\n" * MANY,
    "fences": "```json\n" * 10_000,
    "a name": "[TOOL_CALLS]" + "f" * MANY,
    "blanks after a name": "[TOOL_CALLS]f" + " " * MANY,
    "nested": "[TOOL_CALLS]f" + '{"a":' * MANY,
    "blanks before a tag": "x" + " " * MANY + "<tool_call>",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    found = TextCalls(TOOLS)
    heard = "".join(found.hear(text))
    rest, calls = found.end()
    assert calls or heard + rest == text
    assert time.process_time() - begun < 1


def test_a_text_in_small_pieces_takes_no_longer() -> None:
    begun = time.process_time()
    found = TextCalls(TOOLS)
    heard = "".join(piece for _ in range(20_000) for piece in found.hear(" "))
    heard += "".join(piece for _ in range(20_000) for piece in found.hear("<tool_call>"))
    assert len(heard + found.end()[0]) == 240_000
    assert time.process_time() - begun < 5


def test_python_that_is_no_json_is_a_text() -> None:
    for text in ("[f(city={1, 2})]", "[f(city=b'x')]", "[f(city=1j)]"):
        found = TextCalls(TOOLS)
        assert not list(found.hear(text))
        assert found.end() == (text, [])


def test_a_call_at_the_end_of_a_refusal_is_none() -> None:
    reply = ChatReply("test:m", "test", tools=TOOLS)
    refusal = 'I will not do <tool_call>{"name": "f", "arguments": {}}</tool_call>'
    reply.hear({"choices": [{"message": {"refusal": refusal}, "finish_reason": "stop"}]})
    message = reply.end(done=True)
    assert (message.text, message.calls, message.finish_reason) == (refusal, (), "refused")
