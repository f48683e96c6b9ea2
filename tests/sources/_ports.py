"""Free ports, and servers that take a moment to listen on them."""

import socket
import time

__all__ = ["free_port", "wait_for_port"]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for_port(port: int, seconds: float = 30) -> None:
    """Return when somebody listens on `port`."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody listens on port {port}") from None
            time.sleep(0.05)
