"""Which host an address leads to, for the person who decides whether to follow it."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

__all__ = ["hosts_in", "web_host"]

_PLAIN_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?|\[[0-9a-f:.]+\]")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_DOTTED = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_READ_IN_TWO_WAYS = "\u00df\u1e9e\u03c2\u200c\u200d"
"""Letters that one standard for names of hosts keeps and another replaces."""
_LINK = re.compile(r"\s*([a-z][a-z0-9+.-]*):([^ ]+)", re.IGNORECASE)
_UNCLEAR = "an address that programs read in different ways"


def web_host(address: str) -> str:
    """The host and port that a web address leads to, as a browser asks for it.

    Empty for every other address, for one with a user name or password, which looks like another
    host, and for one that programs read in different ways.
    """
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return ""
    is_web = address.lower().startswith(("http://", "https://")) and address.isprintable()
    if not is_web or any(char in address for char in " \\") or "@" in parts.netloc:
        return ""
    named = _plain_host(f"[{host}]" if ":" in host else host)
    return f"{named}:{port}" if named and port is not None else named


def _plain_host(host: str) -> str:
    """The name as it is asked for; empty for what is none."""
    if any(char in _READ_IN_TWO_WAYS for char in host):
        return ""
    try:
        plain = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return ""
    last = plain.removesuffix(".").rpartition(".")[2]
    # 2130706433 and 0x7f.1 are addresses, which are not seen to be ones.
    if _NUMBER.fullmatch(last) and not _DOTTED.fullmatch(plain):
        return ""
    return plain if _PLAIN_HOST.fullmatch(plain) else ""


def hosts_in(*values: Any) -> list[str]:
    """Where the links among these JSON values lead, each place once and in words."""
    return list(dict.fromkeys(place for value in values for place in _places(value)))


def _places(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if place := _place(value):
            yield place
    elif isinstance(value, dict):
        yield from (place for pair in value.items() for part in pair for place in _places(part))
    elif isinstance(value, list | tuple):
        yield from (place for part in value for place in _places(part))


def _place(text: str) -> str:
    """Where a text leads that begins with an address; empty for any other text."""
    found = _LINK.match(text)
    if found is None:
        return ""
    scheme, rest = found[1].lower(), found[2]
    if scheme not in ("http", "https") and not re.match("//[^/]", rest):
        return ""
    address = f"http:{rest}"
    if named := web_host(address):
        return named
    user, at, _ = rest.removeprefix("//").partition("/")[0].rpartition("@")
    named = web_host(address.replace(f"{user}{at}", "", 1)) if at else ""
    # With these in it, what stands before @ is the host to some programs.
    if named and not any(char in user for char in "\\?#"):
        return f"{named} (what stands before @ is a user name)"
    return _UNCLEAR
