"""The certificates that this process trusts, read once: a megabyte, and longer than many a request."""

import ssl
from functools import cache

__all__ = ["certificates"]


@cache
def certificates() -> ssl.SSLContext:
    """For every client that has no certificates of its own."""
    import httpx2  # noqa: PLC0415 - who asks has it, and says which extra brings it

    return httpx2.create_ssl_context()
