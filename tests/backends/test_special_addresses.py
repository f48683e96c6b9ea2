"""Which addresses are public, in whatever spelling: the table and the reading of hosts."""

import contextlib
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwright._hosts import is_plainly_local, read_address, read_host
from toolwright._special_addresses import (
    METADATA,
    SPECIAL,
    Address,
    carried_by,
    is_metadata,
    purpose_of,
)

ROWS = {**SPECIAL, **METADATA}
# Transcribed from IANA's two special-purpose registries, the IPv4 multicast registry and the IPv6
# address space.
REGISTERED = [
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.88.99.2/32",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
]
fours = st.one_of(
    st.ip_addresses(v=4),
    # At the edges of the rows, where a wrong digit shows.
    st.sampled_from(
        [
            IPv4Address(max(0, min(2**32 - 1, int(edge) + step)))
            for row in ROWS
            if ":" not in row
            for edge in (ip_network(row)[0], ip_network(row)[-1])
            for step in (-1, 0, 1)
        ]
    ),
)
sixes = st.one_of(
    st.ip_addresses(v=6),
    st.sampled_from(
        [
            IPv6Address(max(0, min(2**128 - 1, int(edge) + step)))
            for row in ROWS
            if ":" in row
            for edge in (ip_network(row)[0], ip_network(row)[-1])
            for step in (-1, 0, 1)
        ]
    ),
)


def test_every_registered_range_has_a_row_with_a_name() -> None:
    assert [row for row in REGISTERED if not SPECIAL.get(row)] == []


def test_what_is_left_of_ipv6_is_global_unicast_and_nothing_else() -> None:
    covered = [IPv6Network(row) for row in SPECIAL if ":" in row]
    outside = IPv6Network("::/0").address_exclude(IPv6Network("2000::/3"))
    assert all(any(part.subnet_of(row) for row in covered) for part in outside)


@pytest.mark.parametrize("row", ROWS)
def test_no_address_of_a_row_is_public(row: str) -> None:
    network = ip_network(row)
    assert purpose_of(network[0]) is not None
    assert purpose_of(network[-1]) is not None
    assert is_metadata(network[0]) is (row in METADATA)


@pytest.mark.parametrize(
    ("address", "purpose"),
    [
        ("10.1.2.3", "private use"),
        ("169.254.1.1", "link local"),
        ("169.254.169.254", "metadata of most clouds"),
        ("192.0.0.192", "Oracle Cloud metadata"),
        ("192.0.0.8", "IPv4 dummy address"),
        ("192.88.99.1", "6to4 relay anycast"),
        ("168.63.129.16", "Azure WireServer"),
        ("::ffff:10.0.0.1", "private use"),
        ("64:ff9b::7f00:1", "loopback"),
        ("3fff::1", "documentation"),
        ("fe80::1%eth0", "link local"),
        ("fd12::1", "unique local"),
        ("4000::1", "not global unicast"),
        ("2606:4700::5efe:10.0.0.1", "private use"),
    ],
)
def test_an_address_is_told_with_its_purpose(address: str, purpose: str) -> None:
    assert purpose_of(ip_address(address)) == purpose


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1", "8.8.8.8", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "168.63.129.15", "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
        "198.20.0.0", "223.255.255.255",
        "2000::", "2001:200::1", "2003::1", "2606:4700::1111", "3fff:1000::1", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2606:4700::5efe:808:808",
    ],
)  # fmt: skip
def test_public_addresses_are_public(address: str) -> None:
    assert purpose_of(ip_address(address)) is None


@settings(max_examples=300)
@given(fours | sixes)
def test_whatever_python_knows_to_be_private_is_not_public(ip: Address) -> None:
    if isinstance(ip, IPv6Address) and (ip.ipv4_mapped or ip in ip_network("64:ff9b::/96")):
        return
    if purpose_of(ip) is None:
        assert ip.is_global
        assert not any((ip.is_multicast, ip.is_reserved, ip.is_link_local, ip.is_loopback))


def wrapped(ip: IPv4Address) -> list[str]:
    """An IPv4 address inside IPv6 ones, in every way."""
    high, low = f"{int(ip) >> 16:x}", f"{int(ip) & 0xFFFF:x}"
    bits = int(ip)
    return [
        f"::ffff:{ip}",
        f"::ffff:{high}:{low}",
        f"0:0:0:0:0:ffff:{ip}",
        f"::{ip}",
        f"::ffff:0:{ip}",
        f"64:ff9b::{ip}",
        f"64:ff9b:1::{ip}",
        str(IPv6Address(0x0064FF9B0001 << 80 | bits >> 16 << 64 | (bits & 0xFFFF) << 40)),
        str(IPv6Address(0x0064FF9B0001 << 80 | bits >> 24 << 64 | (bits & 0xFFFFFF) << 32)),
        str(IPv6Address(0x0064FF9B0001 << 80 | bits << 24)),
        f"2002:{high}:{low}::1",
        f"2001:0:{high}:{low}::",
        str(IPv6Address(0x20010000 << 96 | bits ^ 0xFFFFFFFF)),
        f"2606:4700::5efe:{ip}",
        f"2606:4700::200:5efe:{ip}",
    ]


@settings(max_examples=60)
@given(fours)
def test_an_address_carries_its_purpose_into_every_wrapping(ip: IPv4Address) -> None:
    for text in wrapped(ip):
        outer = read_address(text)
        assert outer is not None
        assert ip in carried_by(outer)
        if purpose_of(ip) is not None:
            assert purpose_of(outer) is not None, text
        assert is_metadata(ip) <= is_metadata(outer), text


def spelled(ip: IPv4Address) -> list[str]:
    """An IPv4 address in every spelling that a resolver takes."""
    a, b, c, d = ip.packed
    number = int(ip)
    return [
        str(ip), f"{ip}.", str(number), f"{number:#x}", f"{number:#X}", f"0x00{number:x}",
        f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"{a:#x}.{number & 0xFFFFFF:#x}",
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"{a}.{b:#x}.{c}.{d:#x}",
        "。".join(map(str, ip.packed)), "．".join(map(str, ip.packed)),
        "".join(chr(ord(char) + 0xFEE0) if char.isdigit() else char for char in str(ip)),
    ]  # fmt: skip


@settings(max_examples=60)
@given(fours)
def test_every_spelling_of_an_address_is_read_as_that_address(ip: IPv4Address) -> None:
    for text in spelled(ip):
        assert read_host(text) == ip, text


@settings(max_examples=400)
@given(st.text("0123456789abcfxX.", min_size=1, max_size=18))
@example("0x7f.1")
@example("0177.1")
@example("127.0.0.1.")
def test_what_the_system_reads_as_an_address_is_never_taken_for_a_name(text: str) -> None:
    try:
        meant = IPv4Address(socket.inet_aton(text))
    except OSError:
        return
    with contextlib.suppress(ValueError):  # then it is not connected to at all
        assert read_host(text) == meant


@settings(max_examples=300)
@given(st.text(max_size=30) | st.text("%@/\\#?: .[]0123456789abcx-_", max_size=30))
def test_any_text_is_read_as_an_address_or_a_plain_name_or_refused(text: str) -> None:
    try:
        meant = read_host(text)
    except ValueError:
        return
    if isinstance(meant, str):
        assert meant.isascii()
        assert not set(meant) & set("%@/\\#?: []")
        assert meant == meant.lower()
        assert read_host(meant) == meant


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "..", "a..b", "127.0.0.1:80", "http://127.0.0.1", "user@host", "a b", "a/b", "a\\b",
        "a%00", "%31", "a#b", "a?b", "[::1", "::1]", "[127.0.0.1]x", "1_0.0.0.1", "+1", "-1.0.0.1",
        "0o17.0.0.1", "0x", "1e3.0.0.1x.7", "١٢٧.٠.٠.١x.1", "::1%", "::ffff:0177.0.0.1",
        "1.2.3.4.5", "256.1.1.1", "8.8.8.256", "8.8.65536", "8.16777216", "4294967296", "010.0.0.1", "0177.1", "017700000001", "127.0.0.01", "00", "*.example.com", "9" * 300, "a." * 200, "a\n", "127.0.0.1\n",
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_host(text)
    assert read_address(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("127.0.0.1.nip.io", "127.0.0.1.nip.io"),
        ("1e100.net", "1e100.net"),
        ("my_service", "my_service"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("ｌｏｃａｌｈｏｓｔ", "localhost"),
        ("local\u00adhost", "localhost"),
    ],
)
def test_a_name_is_read_as_it_is_looked_up(text: str, name: str) -> None:
    assert read_host(text) == name


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.9.10", "::1", "[::1]"]
)
def test_loopback_as_people_write_it_is_plainly_local(host: str) -> None:
    assert is_plainly_local(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "0.0.0.0", "10.0.0.1", "192.168.1.1", "intranet", "printer.local", "nas.lan", "a.test",
        "x.localhost", "localhost.example", "localhost.localdomain", "127.1", "2130706433", "0x7f.1",
        "0177.0.0.1", "127.0.0.1.", "127.0.0.1.nip.io", "::ffff:127.0.0.1", "::ffff:7f00:1",
        "0:0:0:0:0:0:0:1", "::127.0.0.1", "2852039166", "0xa9fea9fe", "::ffff:169.254.169.254",
        "fd00:ec2::254", "100.100.100.200", "169.254.169.254", "ｌｏｃａｌｈｏｓｔ", "localhost%00",
        "user@localhost", "localhost:80", "fe80::1%lo", "::1%lo",
    ],
)  # fmt: skip
def test_nothing_else_is(host: str) -> None:
    assert not is_plainly_local(host)
