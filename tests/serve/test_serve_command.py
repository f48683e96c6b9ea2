"""The server as `toolwright serve` starts it: its own socket, its own limits."""

import socket

import httpx2
from starlette.applications import Starlette
from tests.serve._agents import chatting
from tests.serve._serving import served_as_by_the_command

from toolwright.serve import ServeSettings, create_app


def test_no_answer_on_a_kept_connection_waits_for_an_acknowledgement() -> None:
    def make_app(settings: ServeSettings) -> Starlette:
        return create_app(chatting(), settings=settings)

    with (
        served_as_by_the_command(make_app, ServeSettings(port=0)) as (address, server),
        httpx2.Client(base_url=address) as http,
    ):
        assert http.get("/api/health").status_code == 200
        (connection,) = server.server_state.connections
        at_once = connection.transport.get_extra_info("socket").getsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY
        )
    assert at_once
