"""An answer with more values or levels than are worth reading is text, and no more."""

import json
from typing import Any

import httpx2
import pytest

from toolwright.sources.openapi._answers import to_answer
from toolwright.tools import Output

pytestmark = pytest.mark.anyio
HOSTILE = {
    "dense": "[" + "[]," * 200_000 + "[]]",
    "deep": "[" * 70 + "]" * 70,
    "many strings": "[" + '"",' * 250_001 + '""]',
}


async def answer(status: int, body: str) -> Output:
    ctx: Any = None
    headers = {"content-type": "application/json"}
    request = httpx2.Request("GET", "http://a.example")
    response = httpx2.Response(status, headers=headers, text=body, request=request)
    response.headers["content-type"] = "application/json"
    return await to_answer("act", response, ctx)


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
async def test_what_is_too_much_stays_text(body: str) -> None:
    found = await answer(200, body)
    assert found.text == found.value == body
    refused = await answer(500, body)
    assert refused.data == {"status": 500, "body": body}


async def test_what_is_not_is_read() -> None:
    body = json.dumps([{"a": [1, None]}] * 1000)
    assert (await answer(200, body)).value == json.loads(body)
