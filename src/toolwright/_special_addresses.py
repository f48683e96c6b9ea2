"""Which IP addresses are set aside for something, and for what: everything else is the public internet.

Written out rather than asked of `ipaddress`, whose answer differs between versions of Python.
"""

from functools import cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_network,
)

__all__ = [
    "METADATA",
    "METADATA_NAMES",
    "NEVER_BY_NAME",
    "SPECIAL",
    "Address",
    "Network",
    "carried_by",
    "is_for",
    "is_metadata",
    "purpose_of",
    "unmapped",
]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SPECIAL: dict[str, str] = {
    # IANA's IPv4 special-purpose address registry, every row, whether or not it is routed: what is
    # in it belongs to a protocol and is nobody's web site.
    "0.0.0.0/8": "this network",
    "0.0.0.0/32": "this host",
    "10.0.0.0/8": "private use",
    "100.64.0.0/10": "shared address space of carriers",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link local",
    "172.16.0.0/12": "private use",
    "192.0.0.0/24": "IETF protocol assignments",
    "192.0.0.0/29": "IPv4 service continuity",
    "192.0.0.8/32": "IPv4 dummy address",
    "192.0.0.9/32": "port control protocol anycast",
    "192.0.0.10/32": "TURN anycast",
    "192.0.0.170/32": "NAT64 discovery",
    "192.0.0.171/32": "NAT64 discovery",
    "192.0.2.0/24": "documentation",
    "192.31.196.0/24": "AS112",
    "192.52.193.0/24": "automatic multicast tunneling",
    "192.88.99.0/24": "6to4 relay anycast",
    "192.88.99.2/32": "6a44 relay anycast",
    "192.168.0.0/16": "private use",
    "192.175.48.0/24": "AS112",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "240.0.0.0/4": "reserved",
    "255.255.255.255/32": "limited broadcast",
    # IANA's IPv4 multicast registry.
    "224.0.0.0/4": "multicast",
    # IANA's IPv6 special-purpose address registry, every row but the two that only carry an IPv4
    # address, which is then what counts: ::ffff:0:0/96 and 64:ff9b::/96.
    "::1/128": "loopback",
    "::/128": "unspecified",
    "64:ff9b:1::/48": "local use translation",
    "100::/64": "discard only",
    "100:0:0:1::/64": "dummy prefix",
    "2001::/23": "IETF protocol assignments",
    "2001::/32": "Teredo",
    "2001:1::1/128": "port control protocol anycast",
    "2001:1::2/128": "TURN anycast",
    "2001:1::3/128": "service registration anycast",
    "2001:2::/48": "benchmarking",
    "2001:3::/32": "automatic multicast tunneling",
    "2001:4:112::/48": "AS112",
    "2001:10::/28": "ORCHID",
    "2001:20::/28": "ORCHIDv2",
    "2001:30::/28": "drone remote identification",
    "2001:db8::/32": "documentation",
    "2002::/16": "6to4",
    "2620:4f:8000::/48": "AS112",
    "3fff::/20": "documentation",
    "5f00::/16": "segment routing",
    "fc00::/7": "unique local",
    "fe80::/10": "link local",
    # The rest of IANA's IPv6 address space: global unicast is 2000::/3 and nothing else.
    "::/96": "IPv4-compatible",
    "::ffff:0:0:0/96": "IPv4-translated",
    "fec0::/10": "site local",
    "ff00::/8": "multicast",
    "::/3": "not global unicast",
    "4000::/2": "not global unicast",
    "8000::/1": "not global unicast",
}
"""Ranges, and what each is for."""

METADATA: dict[str, str] = {
    "169.254.169.254/32": "metadata of most clouds",
    "169.254.170.2/32": "AWS container credentials",
    "169.254.170.23/32": "AWS container credentials",
    "169.254.169.250/32": "Rancher metadata",
    "169.254.42.42/32": "Scaleway metadata",
    "169.254.0.23/32": "Tencent Cloud metadata",
    "169.254.10.10/32": "Tencent Cloud metadata",
    "100.100.100.200/32": "Alibaba Cloud metadata",
    # Of Microsoft's public range, and answered by the host of every Azure machine.
    "168.63.129.16/32": "Azure WireServer",
    "192.0.0.192/32": "Oracle Cloud metadata",
    "fd00:ec2::/32": "AWS metadata and credentials",
    "fd20:ce::254/128": "Google Cloud metadata",
    "fd00:c1::a9fe:a9fe/128": "Oracle Cloud metadata",
    "fd00:42::42/128": "Scaleway metadata",
    "fd00:100::100:200/128": "Alibaba Cloud metadata",
    "fd00:a9fe:a9fe::1/128": "Linode metadata",
    "fe80::a9fe:a9fe/128": "OpenStack metadata",
}
"""Where clouds tell their machines who they are, credentials included."""

METADATA_NAMES = frozenset(
    {
        "api.metadata.cloud.ibm.com",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "metadata.tencentyun.com",
        "rancher-metadata",
    }
)
"""Names of the same, which the machine's own network resolves."""

NEVER_BY_NAME = (
    "link local",
    "limited broadcast",
    "multicast",
    "this host",
    "this network",
    "unspecified",
)
"""Purposes of addresses that no name may lead to, not even one that is trusted."""

_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def purpose_of(ip: Address) -> str | None:
    """What an address, or one that it carries, is set aside for; None on the public internet."""
    return next((row for one in _meant_by(ip) if (row := _row(one))), None)


def is_for(ip: Address, *purposes: str) -> bool:
    """Whether an address, or one that it carries, is set aside for one of these purposes."""
    return any(_row(one) in purposes for one in _meant_by(ip))


def is_metadata(ip: Address) -> bool:
    """Whether a cloud's machines get their credentials at an address, or at one that it carries."""
    return is_for(ip, *METADATA.values())


def unmapped(ip: Address) -> Address:
    """The IPv4 address that the system connects to in place of an IPv4-mapped one."""
    return (isinstance(ip, IPv6Address) and ip.ipv4_mapped) or ip


def carried_by(ip: Address) -> list[Address]:
    """The IPv4 addresses inside an IPv6 address, in every way that there is a standard for."""
    if isinstance(ip, IPv4Address):
        return []
    bits, found = int(ip), list[Address]()
    last = IPv4Address(bits & 0xFFFFFFFF)
    if ip.ipv4_mapped or any(ip in n for n in (_NAT64, _NAT64_LOCAL, _COMPATIBLE, _TRANSLATED)):
        found.append(last)
    if bits >> 32 & 0xFFFFFFFF in _ISATAP:
        found.append(last)
    if ip in _NAT64_LOCAL:
        # After a prefix of 48, 56 or 64 bits it stands around, or behind, bits 64 to 71.
        around = bits >> 64 << 56 | bits & (1 << 56) - 1
        found += [IPv4Address(around >> 88 - prefix & 0xFFFFFFFF) for prefix in (48, 56, 64)]
    return [*found, *([ip.sixtofour] if ip.sixtofour else []), *(ip.teredo or ())]


def _meant_by(ip: Address) -> list[Address]:
    """The address and those it carries; of a mapped or translated one, the carried one alone."""
    carried = carried_by(ip)
    only_carries = isinstance(ip, IPv6Address) and (ip.ipv4_mapped or ip in _NAT64)
    return carried if only_carries else [ip, *carried]


def _row(ip: Address) -> str | None:
    """The narrowest row that an address is in."""
    return next((name for network, name in _rows() if ip in network), None)


@cache
def _rows() -> list[tuple[Network, str]]:
    rows = [(ip_network(text), name) for text, name in {**SPECIAL, **METADATA}.items()]
    return sorted(rows, key=lambda row: row[0].prefixlen, reverse=True)
