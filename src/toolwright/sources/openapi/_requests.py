"""Make the HTTP request of one call. Its host is the developer's, whatever document and model say."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote, unquote_plus

import httpx2

from toolwright.errors import ToolError
from toolwright.sources.openapi._encode import Payload, encode_body
from toolwright.sources.openapi._operations import Operation
from toolwright.sources.openapi._plan import Parameter, Plan
from toolwright.sources.openapi._styles import (
    Pair,
    cookie_text,
    header_text,
    path_text,
    plain_text,
    query_pairs,
)
from toolwright.tools import Args, ToolContext

__all__ = ["build_request", "with_query", "without_query"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


async def build_request(
    operation: Operation, plan: Plan, server: httpx2.URL, args: Args, ctx: ToolContext
) -> httpx2.Request:
    """The request that `args` make of `operation`, without credentials yet."""
    given = [(p, args[p.argument]) for p in plan.parameters if args.get(p.argument) is not None]
    payload = await encode_body(plan.body, args, ctx)
    return httpx2.Request(
        operation.method,
        _url(server, operation, given),
        headers=_headers(given, payload),
        content=payload.content,
        files=payload.files or None,
    )


def with_query(url: httpx2.URL, pairs: list[Pair]) -> httpx2.URL:
    """`url` with more in its query; both parts of each pair are percent-encoded already."""
    more = "&".join(f"{key}={value}" for key, value in pairs)
    query = "&".join(part for part in (url.query.decode(), more) if part)
    path = url.raw_path.partition(b"?")[0]
    return url.copy_with(raw_path=path + (b"?" + query.encode() if query else b""))


def without_query(url: httpx2.URL, name: str) -> httpx2.URL:
    """`url` with nothing of this name in its query, however it is spelt."""
    path, _, query = url.raw_path.partition(b"?")
    parts = query.decode().split("&") if query else []
    kept = [p for p in parts if unquote_plus(p.partition("=")[0]).lower() != name.lower()]
    return url.copy_with(raw_path=path + (b"?" + "&".join(kept).encode() if kept else b""))


def _url(
    server: httpx2.URL, operation: Operation, given: list[tuple[Parameter, object]]
) -> httpx2.URL:
    path = _fill_path(operation, [(p, v) for p, v in given if p.location == "path"])
    base = server.raw_path.partition(b"?")[0].decode().rstrip("/")
    url = server.copy_with(raw_path=(base + path).encode() + _fixed_query(operation))
    pairs = [pair for p, v in given if p.location == "query" for pair in _query(p, v)]
    return with_query(url, pairs)


def _fixed_query(operation: Operation) -> bytes:
    """What some documents write behind a question mark, to tell paths apart."""
    fixed = operation.path.partition("#")[0].partition("?")[2]
    return f"?{quote(fixed, safe='=&%')}".encode() if fixed else b""


def _fill_path(operation: Operation, given: list[tuple[Parameter, object]]) -> str:
    texts = {p.name: _path_value(p, value) for p, value in given}
    parts = re.split(r"\{([^{}]*)\}", re.split("[?#]", operation.path)[0])
    # Every second part is a name from inside braces.
    filled = [
        texts.get(part, "") if index % 2 else quote(part, safe="/:@!$&'()*+,;=-._~%")
        for index, part in enumerate(parts)
    ]
    path = "".join(filled)
    missing = [name for name in parts[1::2] if not texts.get(name)]
    if missing:
        raise ToolError(f"The path {operation.path!r} needs a value for {missing[0]!r}.")
    steps = [step for part in path.split("/") for step in re.split(r"[/\\]", unquote(part))]
    if any(step in (".", "..") for step in steps):
        raise ToolError(
            f"A value in the path {operation.path!r} must not be or contain '..' steps."
        )
    return path


def _path_value(parameter: Parameter, value: object) -> str:
    if parameter.as_json:
        value = plain_text(value)
    return path_text(parameter.name, value, style=parameter.style, explode=parameter.explode)


def _query(parameter: Parameter, value: object) -> list[Pair]:
    if parameter.as_json:
        return query_pairs(parameter.name, plain_text(value))
    return query_pairs(
        parameter.name, value, style=parameter.style, explode=parameter.explode,
        reserved=parameter.allow_reserved,
    )  # fmt: skip


def _headers(given: list[tuple[Parameter, object]], payload: Payload) -> Mapping[str, str]:
    headers = {
        "Accept": "application/json, */*;q=0.5",
        "Accept-Encoding": "gzip, deflate",
        "User-Agent": "toolwright",
    }
    if payload.media_type:
        headers["Content-Type"] = payload.media_type
    for parameter, value in given:
        if parameter.location == "header" and _HEADER_NAME.match(parameter.name):
            text = plain_text(value) if parameter.as_json else value
            headers[parameter.name] = header_text(text, explode=parameter.explode)
    cookies = [cookie_text(p.name, value) for p, value in given if p.location == "cookie"]
    return {**headers, "Cookie": "; ".join(cookies)} if cookies else headers
