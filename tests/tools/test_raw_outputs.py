"""Bytes that a tool returns, in whatever they are held, are seen as what they are."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import Agent, BlobPart, TextPart, tool
from toolwright.errors import UsageError
from toolwright.messages import ToolMessage
from toolwright.testing import ScriptedModel, call
from toolwright.tools import to_output

BEGINNINGS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x0a\x00\x00\x00WEBPVP8 ",
    "image/avif": b"\x00\x00\x00\x20ftypavif",
    "image/heic": b"\x00\x00\x00\x20ftypheic",
    "audio/wav": b"RIFF\x0a\x00\x00\x00WAVEfmt ",
    "audio/mpeg": b"ID3\x03\x00",
    "audio/ogg": b"OggS\x00\x02",
    "audio/flac": b"fLaC\x00",
    "audio/mp4": b"\x00\x00\x00\x20ftypM4A ",
    "video/mp4": b"\x00\x00\x00\x20ftypisom",
    "application/pdf": b"%PDF-1.7",
}
OTHERS = [b"", b"RIFF", b"RIFF\x0a\x00\x00\x00AVI ", b"GIF8", b"ID3", b"plain", b"\xff\xfeU\x00"]
HELD: dict[str, Callable[[bytes], Any]] = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "file in memory": io.BytesIO,
    "file read to its end": lambda data: _at_end(io.BytesIO(data)),
}


def _at_end(file: io.BytesIO) -> io.BytesIO:
    file.read()
    return file


@given(st.sampled_from(sorted(BEGINNINGS)), st.binary(max_size=9), st.sampled_from(sorted(HELD)))
def test_media_are_known_by_how_they_begin(media_type: str, rest: bytes, held: str) -> None:
    data = BEGINNINGS[media_type] + rest
    [part] = to_output(HELD[held](data)).content
    assert part == BlobPart(media_type=media_type, data=data)


@pytest.mark.parametrize("data", [b"\xff\xfb\x90\x00", b"\xff\xf3\x90\x00", b"GIF87a"])
def test_other_beginnings_of_the_same_media(data: bytes) -> None:
    [part] = to_output(data).content
    assert isinstance(part, BlobPart)
    assert part.media_type in ("audio/mpeg", "image/gif")


@pytest.mark.parametrize("data", OTHERS)
@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_other_bytes_are_no_media(data: bytes, held: Callable[[bytes], Any]) -> None:
    assert to_output(held(data)).content == (
        BlobPart(media_type="application/octet-stream", data=data),
    )


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_a_list_with_a_picture_in_it_shows_it(held: Callable[[bytes], Any]) -> None:
    png = BEGINNINGS["image/png"]
    picture = BlobPart(media_type="image/png", data=png)
    assert to_output([held(png), held(png)]).content == (picture, picture)
    assert to_output(["a cat", held(png)]).content == (TextPart("a cat"), picture)


def test_a_list_of_other_bytes_is_data() -> None:
    assert to_output([b"digest", b"other"]).text == '["ZGlnZXN0","b3RoZXI="]'


def test_text_in_memory_is_text() -> None:
    assert to_output(io.StringIO("whole")).text == "whole"


def test_an_open_file_is_refused_with_what_to_return_instead(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    with path.open("rb") as file, pytest.raises(UsageError, match=r"return .* file\.read\(\)"):
        to_output(file)


def test_the_model_is_told_of_it() -> None:
    @tool
    def opens() -> Any:
        """Gives an open file."""
        return Path(__file__).open()

    agent = Agent(name="a", model=ScriptedModel(call("opens"), "ok"), tools=[opens])
    told = agent.run_sync("go").history[2]
    assert isinstance(told, ToolMessage)
    assert (told.results[0].status, "An open file" in told.results[0].text) == ("error", True)
