"""A web server on the loopback interface that answers what a test tells it to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

__all__ = ["Answer", "WebServer", "serving", "stored"]


def stored(name: str) -> bytes:
    """A page kept beside the tests."""
    return (Path(__file__).parent / "pages" / name).read_bytes()


@dataclass(kw_only=True)
class Answer:
    """What to answer: a body in pieces, and until when to wait after the last one."""

    body: bytes | list[bytes] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    until: Event | None = None


class WebServer:
    """Answers by path; remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[str], Answer]] = {}
        self.asked: list[str] = []
        self.url = ""


@contextmanager
def serving() -> Iterator[WebServer]:
    """A server for the length of the block."""
    web = WebServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append(self.path)
            answer = web.answers.get(self.path.partition("?")[0], Answer(status=404))
            answer = answer(self.path) if callable(answer) else answer
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for piece in [answer.body] if isinstance(answer.body, bytes) else answer.body:
                    self.wfile.write(piece)
            except OSError:
                return
            if answer.until is not None:
                answer.until.wait(20)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.url = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
