"""Certificates are read once in a process, however many clients there are."""

import ssl
from typing import Any

import httpx2
import pytest

from toolwright import _tls
from toolwright.backends import guarded_client
from toolwright.backends.auth._http import connection
from toolwright.sources.mcp import _transport

pytestmark = pytest.mark.anyio


async def test_all_clients_have_the_same_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ssl.SSLContext] = []
    real = ssl.SSLContext.__new__

    def new(*args: Any, **settings: Any) -> ssl.SSLContext:
        made.append(real(*args, **settings))
        return made[-1]

    first = _tls.certificates()
    monkeypatch.setattr(ssl.SSLContext, "__new__", new)
    clients = [make() for _ in range(3) for make in (_transport._http_client, guarded_client)]
    clients.append(httpx2.AsyncClient(**connection()))
    assert made == []
    assert _tls.certificates() is first
    for client in clients:
        await client.aclose()
