"""A link says which host it leads to, or that nobody can say."""

import pytest

from toolwright._links import hosts_in, web_host

UNCLEAR = "an address that programs read in different ways"
USER = " (what stands before @ is a user name)"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://a.example/x", "a.example"),
        ("HTTP://A.example:81", "a.example:81"),
        ("http://a.example?to=b@c", "a.example"),
        ("https://[::1]:9/", "[::1]:9"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("https://m\u00fcnchen.example", "xn--mnchen-3ya.example"),
        ("https://\uff45vil.example", "evil.example"),
        ("https://user@a.example", ""),
        ("https://:password@a.example", ""),
        ("https://a.example\\@evil.example", ""),
        ("https://a.example /x", ""),
        ("https://a.ex\tample", ""),
        ("https:a.example", ""),
        ("https:///a.example", ""),
        ("https://stra\u00dfe.example", ""),
        ("https://ev%69l.example", ""),
        ("https://a..example.\u00fc", ""),
        ("http://2130706433", ""),
        ("http://0x7f.1", ""),
        ("http://a.example:port", ""),
        ("https://[", ""),
        ("ftp://a.example", ""),
        ("javascript:alert(1)", ""),
        ("", ""),
    ],
)
def test_only_what_every_program_reads_alike_has_a_host(address: str, host: str) -> None:
    assert web_host(address) == host


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("https://a.example/" + "x" * 5000, ["a.example"]),
        (" https://a.example is down", ["a.example"]),
        ("https://accounts.example:x@evil.example/", ["evil.example" + USER]),
        ("ssh://git@a.example/x", ["a.example" + USER]),
        ("postgres://a.example/x", ["a.example"]),
        ("https://a.example\\@evil.example", [UNCLEAR]),
        ("https://a\\@b@evil.example", [UNCLEAR]),
        ("https://a.ex\nample", [UNCLEAR]),
        ("https:evil.example", [UNCLEAR]),
        ("http: a protocol", []),
        ("file:///etc/decoy", []),
        ("note: see https://a.example", []),
        ("mailto:a@b.example", []),
        ({"url": ["https://a.example", "https://b.example"], "to": "https://a.example/2"}, ["a.example", "b.example"]),
        ({"https://key.example": (1, None)}, ["key.example"]),
    ],
    ids=str,
)  # fmt: skip
def test_every_value_that_begins_with_an_address_says_where_it_leads(
    text: object, places: list[str]
) -> None:
    assert hosts_in(text) == places
