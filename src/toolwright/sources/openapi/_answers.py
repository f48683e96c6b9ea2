"""Turn an HTTP answer into an output: text for the model, files to where files are kept."""

import mimetypes
import re
import tempfile
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pydantic_core

from toolwright._charset import decode_text
from toolwright._temporary import temporary_root
from toolwright.backends.sandboxes import check_guest_json
from toolwright.concurrency import in_io_thread
from toolwright.messages import BlobPart
from toolwright.tools import Output, ToolContext

__all__ = ["to_answer"]

_MAX_IMAGE_BYTES = 3_000_000
_SEEN_BY_MODELS = ("image/png", "image/jpeg", "image/gif", "image/webp")


async def to_answer(name: str, response: httpx2.Response, ctx: ToolContext) -> Output:
    """What the model reads of `response`; an HTTP error is an output that it can act on."""
    if response.status_code >= 400 or response.has_redirect_location:
        return await _off_the_loop(_refusal, response)
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not response.content:
        return Output(text=_status_line(response), value=None)
    if _is_text(media_type, response.content):
        return await _off_the_loop(_text, response)
    part = BlobPart(media_type=media_type or "application/octet-stream", data=response.content)
    if media_type in _SEEN_BY_MODELS and len(response.content) <= _MAX_IMAGE_BYTES:
        return Output(text=_status_line(response), parts=(part,), value=response.content)
    return await _keep(name, part, response.content, ctx)


async def _off_the_loop(
    read: Callable[[httpx2.Response], Output], response: httpx2.Response
) -> Output:
    """A long text takes its time to decode and parse; whoever is cancelled does not wait for it."""
    return await in_io_thread(read, response, abandon_on_cancel=True)


def _refusal(response: httpx2.Response) -> Output:
    told = ("Location", "Retry-After", "WWW-Authenticate")
    found = [name for name in told if name in response.headers]
    lines = [_status_line(response), *(f"{name}: {response.headers[name]}" for name in found)]
    if response.has_redirect_location:
        lines.append("The redirect leads to another origin and was not followed.")
    text = _decoded(response)
    lines.append(text)
    body = _parsed(response, text)
    return Output(
        text="\n".join(lines).strip(),
        data={"status": response.status_code, "body": body},
        status="error",
    )


def _text(response: httpx2.Response) -> Output:
    text = _decoded(response)
    value = _parsed(response, text)
    if response.status_code in (201, 202) and "Location" in response.headers:
        text = f"{_status_line(response)}\nLocation: {response.headers['Location']}\n{text}"
    return Output(text=text, value=value)


async def _keep(name: str, part: BlobPart, content: bytes, ctx: ToolContext) -> Output:
    """Put a binary answer where the model can find it again without reading it."""
    ending = mimetypes.guess_extension(part.media_type) or ".bin"
    filename = re.sub(r"[^\w.-]", "_", f"{name}-{ctx.call.call_id}{ending}")
    if ctx.run.services.artifacts is not None:
        version = await ctx.save_artifact(filename, part)
        where: dict[str, Any] = {"artifact": filename, "version": version}
    else:
        folder = Path(await in_io_thread(_new_folder))
        await anyio.Path(folder / filename).write_bytes(content)
        where = {"file": str(folder / filename)}
    told = {**where, "media_type": part.media_type, "bytes": len(content)}
    return Output(text=pydantic_core.to_json(told).decode(), data=told, value=told)


def _new_folder() -> str:
    return tempfile.mkdtemp(prefix="toolwright-", dir=temporary_root())


def _is_text(media_type: str, content: bytes) -> bool:
    if media_type.startswith("text/") or media_type.endswith(("json", "xml", "yaml", "javascript")):
        return True
    return media_type in ("", "application/x-www-form-urlencoded") and b"\0" not in content


def _decoded(response: httpx2.Response) -> str:
    return decode_text(response.content, response.charset_encoding)


def _parsed(response: httpx2.Response, text: str) -> Any:
    """The values in an answer, if there are not more of them than are worth their memory."""
    try:
        check_guest_json(response.content)
        return pydantic_core.from_json(response.content)
    except ValueError:
        return text


def _status_line(response: httpx2.Response) -> str:
    try:
        phrase = HTTPStatus(response.status_code).phrase
    except ValueError:
        phrase = response.reason_phrase
    return f"HTTP {response.status_code} {phrase}"
