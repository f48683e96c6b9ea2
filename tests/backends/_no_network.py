"""A resolver and a connector in memory: nothing that is judged here is ever sent anywhere."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import httpcore2

from toolwright.backends import Reachable

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
PUBLIC = "93.184.215.14"


def moved(to: str, status: int = 302) -> bytes:
    """An answer that sends the reader elsewhere."""
    return f"HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


class Wire(httpcore2.AsyncNetworkBackend):
    """Remembers what it was to connect to; each connection has one answer waiting, the last for ever."""

    def __init__(self, *answers: bytes, refuses: Iterable[str] = ()) -> None:
        self.connected: list[str] = []
        self._answers = list(answers) or [OK]
        self._refuses = refuses

    async def connect_tcp(
        self, host: str, port: int, *args: Any, **settings: Any
    ) -> httpcore2.AsyncNetworkStream:
        self.connected.append(host)
        if host in self._refuses:
            raise httpcore2.ConnectError("refused")
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return httpcore2.AsyncMockStream([answer])


class Names:
    """A resolver with a table; a name that has several answers gives one after the other."""

    def __init__(self, table: Mapping[str, Sequence[str] | Sequence[Sequence[str]]]) -> None:
        self.asked: list[str] = []
        self._table = {
            name: [list(one) for one in found]
            if found and not isinstance(found[0], str)
            else [found]
            for name, found in table.items()
        }

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._table:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = self._table[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [str(address) for address in found]


def reachable(wire: Wire, names: Names | None = None, allow: Sequence[str] = ()) -> Reachable:
    """What a guarded client is made with."""
    return Reachable(allow, resolve=names or Names({}), network=wire)


HOSTILE = {
    # Finding 10 of the first attacks: called plainly local, or public, at the time.
    "decimal metadata": "2852039166",
    "hexadecimal metadata": "0xa9fea9fe",
    "mapped metadata": "[::ffff:169.254.169.254]",
    "AWS metadata over IPv6": "[fd00:ec2::254]",
    "Alibaba metadata": "100.100.100.200",
    "Oracle metadata": "192.0.0.192",
    "dummy address": "192.0.0.8",
    "6to4 relay": "192.88.99.1",
    "IPv6 documentation": "[3fff::1]",
    # The same and others in further spellings.
    "metadata": "169.254.169.254",
    "metadata with a dot": "169.254.169.254.",
    "metadata in octal": "0251.0376.0251.0376",
    "metadata in one octal number": "025177524776",
    "metadata in hexadecimal parts": "0xa9.0xfe.0xa9.0xfe",
    "metadata in mixed parts": "169.0376.0xa9fe",
    "metadata in two parts": "169.16689662",
    "metadata in three parts": "169.254.43518",
    "metadata with leading zeros": "169.0254.169.254",
    "metadata in capitals": "0XA9FEA9FE",
    "metadata in wide digits": "１６９.２５４.１６９.２５４",
    "metadata in circled digits": "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
    "metadata with ideographic dots": "169。254。169。254",
    "metadata with wide dots": "169．254．169．254",
    "metadata percent-encoded": "%31%36%39.254.169.254",
    "metadata percent-encoded twice": "%2531%2536%2539.254.169.254",
    "metadata in a compatible address": "[::169.254.169.254]",
    "metadata in 6to4": "[2002:a9fe:a9fe::]",
    "metadata in NAT64": "[64:ff9b::a9fe:a9fe]",
    "metadata in local NAT64": "[64:ff9b:1::a9fe:a9fe]",
    "metadata in the middle of local NAT64": "[64:ff9b:1:a9fe:a9:fe00::]",
    "metadata in a translated address": "[::ffff:0:169.254.169.254]",
    "metadata in Teredo": "[2001:0:a9fe:a9fe::]",
    "metadata behind Teredo": "[2001::5601:5601]",
    "metadata in ISATAP": "[2606:4700::5efe:a9fe:a9fe]",
    "metadata in global ISATAP": "[2606:4700::200:5efe:a9fe:a9fe]",
    "metadata with a zone": "[fe80::a9fe:a9fe%25eth0]",
    "Azure WireServer": "168.63.129.16",
    "AWS container credentials": "169.254.170.2",
    "Google metadata over IPv6": "[fd20:ce::254]",
    "Google metadata by name": "metadata.google.internal",
    "Google metadata in capitals": "METADATA.Google.Internal.",
    "metadata by short name": "metadata",
    "instance data by name": "instance-data",
    "loopback": "127.0.0.1",
    "another loopback": "127.255.255.254",
    "short loopback": "127.1",
    "decimal loopback": "2130706433",
    "octal loopback": "017700000001",
    "hexadecimal loopback": "0x7f.1",
    "loopback over IPv6": "[::1]",
    "long loopback over IPv6": "[0:0:0:0:0:0:0:1]",
    "mapped loopback": "[::ffff:7f00:1]",
    "compatible loopback": "[::127.0.0.1]",
    "loopback by name": "localhost",
    "loopback by name with a dot": "LocalHost.",
    "loopback by name in wide letters": "ｌｏｃａｌｈｏｓｔ",
    "loopback by name with a soft hyphen": "local\u00adhost",
    "nothing": "0",
    "unspecified": "0.0.0.0",
    "this network": "0.1.2.3",
    "unspecified over IPv6": "[::]",
    "private": "10.1.2.3",
    "private too": "172.31.255.255",
    "home": "192.168.1.1",
    "carrier": "100.64.0.1",
    "link local with a zone": "[fe80::1%25lo]",
    "site local": "[fec0::1]",
    "unique local": "[fc00::1]",
    "multicast": "224.0.0.1",
    "multicast over IPv6": "[ff02::1]",
    "broadcast": "255.255.255.255",
    "reserved": "240.0.0.1",
    "benchmarking": "198.18.0.1",
    "documentation": "203.0.113.1",
    "discard": "[100::1]",
    "dummy prefix": "[100:0:0:1::1]",
    "segment routing": "[5f00::1]",
    "AS112": "192.175.48.1",
    "port control": "192.0.0.9",
    "not assigned": "[4000::1]",
    "too many parts": "1.2.3.4.5",
    "a number too large": "4294967296",
    "a part too large": "127.0.0.256",
    "no octal number": "08.8.8.8",
    "a name that ends in a number": "example.127",
}
"""Hosts, as they stand in a URL, that must not be connected to."""

HOSTILE_NAMES = {
    "to loopback": ["127.0.0.1"],
    "to loopback over IPv6": ["::1"],
    "to metadata": ["169.254.169.254"],
    "to mapped metadata": ["::ffff:169.254.169.254"],
    "to WireServer": ["168.63.129.16"],
    "to a private network": ["10.0.0.7"],
    "to the internet and then to loopback": [PUBLIC, "127.0.0.1"],
    "to loopback and then to the internet": ["127.0.0.1", PUBLIC],
    "to the internet over IPv6 and to metadata": ["2606:4700::1111", "fd00:ec2::254"],
    "to a link with a zone": ["fe80::1%eth0"],
    "to 6to4": ["2002:7f00:1::"],
    "to NAT64": ["64:ff9b::7f00:1"],
    "to a name": ["localhost"],
    "to the internet and to a name": [PUBLIC, "localhost"],
    "to nothing": [],
}
"""What a resolver may say of a name that must then not be connected to."""
