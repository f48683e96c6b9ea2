"""The text of an answer: read off the event loop, in an encoding of the web."""

import threading
from typing import Any, cast

import httpx2
import pytest

from toolwright._charset import decode_text
from toolwright.sources.openapi import _answers
from toolwright.sources.openapi._answers import to_answer
from toolwright.tools import ToolContext

pytestmark = pytest.mark.anyio

NOT_NEEDED = cast("ToolContext", None)


@pytest.mark.parametrize("status", [200, 201, 400, 503])
@pytest.mark.parametrize(
    "charset", ["utf-8", "punycode", "idna", "undefined", "unicode_escape", "nonsense"]
)
async def test_an_answer_is_decoded_outside_the_event_loop_whatever_it_names(
    monkeypatch: pytest.MonkeyPatch, status: int, charset: str
) -> None:
    on_the_loop: list[bool] = []

    def noted(*args: Any, **named: Any) -> str:
        on_the_loop.append(threading.current_thread() is threading.main_thread())
        return decode_text(*args, **named)

    monkeypatch.setattr(_answers, "decode_text", noted)
    headers = {"Content-Type": f"text/plain; charset={charset}"}
    text = r"Grüße \u0041 xn--a" + "a" * 100_000 + "-" + "a" * 50_000
    sent = httpx2.Response(status, headers=headers, content=text.encode())
    output = await to_answer("look", sent, NOT_NEEDED)
    assert text in output.text
    assert on_the_loop == [False]


async def test_an_answer_in_another_encoding_of_the_web_is_read_in_it() -> None:
    headers = {"Content-Type": "text/plain; charset=windows-1251"}
    sent = httpx2.Response(200, headers=headers, content="мир".encode("cp1251"))
    assert (await to_answer("look", sent, NOT_NEEDED)).text == "мир"
