"""Each call of a streamed reply is handed on whole as soon as the model has written it, if asked."""

from typing import Any

import pytest

from toolwright.messages import ToolCall
from toolwright.models import Delta
from toolwright.models._anthropic.stream import StreamedMessage
from toolwright.models._anthropic.wire import read_message
from toolwright.models._openai.responses import _Listener
from toolwright.models._openai.responses_wire import read_response


def _block(index: int, city: str) -> list[Any]:
    start = {"type": "tool_use", "id": f"toolu_{index}", "name": "weather", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": f'{{"city": "{city}"}}'}
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        {"type": "content_block_delta", "index": index, "delta": piece},
        {"type": "content_block_stop", "index": index},
    ]


@pytest.mark.parametrize("asked", [True, False])
def test_claude(asked: bool) -> None:
    told: list[Delta] = []
    streamed = StreamedMessage(told.append, whole_calls=asked)
    streamed.hear({"type": "message_start", "message": {"content": [], "usage": {}}})
    when: list[int] = []
    for number, event in enumerate([*_block(0, "Oslo"), *_block(1, "Rome")]):
        streamed.hear(event)
        if told[-1].call is not None:
            when.append(number)
    streamed.hear({"type": "message_stop"})

    reply = read_message(streamed.message(), "anthropic:claude")
    whole = [(delta.index, delta.call) for delta in told if delta.call is not None]
    assert whole == (list(enumerate(reply.calls)) if asked else [])
    assert when == ([2, 5] if asked else [])


@pytest.mark.parametrize("asked", [True, False])
def test_the_responses_api(asked: bool) -> None:
    told: list[Delta] = []
    listener = _Listener(told.append, asked)
    items = []
    for index, city in enumerate(["Oslo", "Rome"]):
        ids = {"type": "function_call", "id": f"fc_{index}", "call_id": f"c{index}"}
        item = {**ids, "name": "weather", "arguments": f'{{"city": "{city}"}}'}
        listener.hear({"type": "response.output_item.added", "output_index": index, "item": item})
        listener.hear({"type": "response.output_item.done", "output_index": index, "item": item})
        items.append(item)
    response = listener.hear({"type": "response.completed", "response": {"output": items}})

    assert response is not None
    reply = read_response(response, "openai:gpt-5")
    whole = [(delta.index, delta.call) for delta in told if delta.call is not None]
    assert whole == (list(enumerate(reply.calls)) if asked else [])
    assert all(isinstance(call, ToolCall) for call in reply.calls)
