"""What the text of a host stands for: an address, in whatever spelling, or a name."""

import re
from ipaddress import IPv4Address, IPv6Address

from toolwright._special_addresses import Address, is_for

__all__ = ["is_plainly_local", "read_address", "read_host"]

_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"0x[0-9a-f]+|0|[1-9][0-9]*")
_LOOKS_LIKE_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_LONGEST = 255


def read_host(text: str) -> Address | str:
    """The address that `text` spells, or the name that it is, in lower case and without a last dot.

    Numbers are read as resolvers read them (`127.1`, `0x7f000001`, `2130706433`), so that none is
    asked: what is judged is what is connected to. `ValueError` for what is neither, and for numbers
    with a leading zero: `010.0.0.1` is 8.0.0.1 to some and 10.0.0.1 to others.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"{text[:20]!r}… is too long for a host: {len(text):,} characters")
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if ":" in bare:
        return _read_ipv6(bare)
    name = _in_ascii(bare)
    if _LOOKS_LIKE_NUMBER.fullmatch(name.rpartition(".")[2]):
        return _read_ipv4(name)
    if not _NAME.fullmatch(name):
        raise ValueError(f"{text!r} is neither an address nor the name of a host")
    return name


def read_address(text: str) -> Address | None:
    """The address that `text` spells; None when it is a name, or nothing."""
    try:
        found = read_host(text)
    except ValueError:
        return None
    return None if isinstance(found, str) else found


def is_plainly_local(host: str) -> bool:
    """Whether the text alone says that a host is this machine: a loopback address, or `localhost`.

    As people write it: other spellings of the same address are for hiding it.
    """
    if host.lower().removesuffix(".") == "localhost" or host in ("::1", "[::1]"):
        return True
    found = read_address(host)
    return isinstance(found, IPv4Address) and str(found) == host and is_for(found, "loopback")


def _in_ascii(name: str) -> str:
    """The name as it is looked up: lower case, other scripts encoded, their dots and digits plain."""
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError as error:
            raise ValueError(f"{name!r} is not the name of a host") from error
    return name.lower().removesuffix(".")


def _read_ipv6(text: str) -> IPv6Address:
    # A zone may be written as in a URL, where a percent sign is %25.
    return IPv6Address(text.replace("%25", "%", 1))


def _read_ipv4(text: str) -> IPv4Address:
    """An address in one to four parts, each decimal or hexadecimal; the last fills the rest."""
    parts = text.split(".")
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"{text!r} ends like an address but is none")
    *first, last = [int(part, 16 if part.startswith("0x") else 10) for part in parts]
    if len(first) > 3 or any(part > 0xFF for part in first) or last >= 256 ** (4 - len(first)):
        raise ValueError(f"{text!r} ends like an address but is none")
    high = sum(part << 24 - 8 * place for place, part in enumerate(first))
    return IPv4Address(high + last)
