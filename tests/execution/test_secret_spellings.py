"""A secret is found in an answer in every spelling that is promised, wherever the answer is cut."""

import base64
import html
import json
import quopri
import random
import re
import shlex
import textwrap
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.sandboxes._secrets import Exchange, HostSecret
from toolwright.errors import UsageError

SECRET = "CANARY/secret+0<1>2&3\"4'5 %2F"
Spell = Callable[[str], str]


def by_character(spell: Spell) -> Spell:
    return lambda text: "".join(map(spell, text))


def basic(before: str) -> Spell:
    return lambda text: base64.b64encode(f"{before}{text}".encode()).decode()


def every_other(text: str) -> str:
    return "".join(
        c if place % 2 and c not in '"\\' else f"\\u{ord(c):04X}" for place, c in enumerate(text)
    )


SPELLINGS: dict[str, Spell] = {
    "as it is": str,
    "percent": lambda text: quote(text, safe=""),
    "percent, lower case": lambda text: "".join(
        c if c.isalnum() else f"%{ord(c):02x}" for c in text
    ),
    "percent, everything": by_character(lambda c: f"%{ord(c):02X}"),
    "percent, slashes left": quote,
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "percent, spaces as plus": lambda text: quote_plus(text),
    "percent, by four digits": by_character(lambda c: f"%u{ord(c):04x}"),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON, slashes too": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON, everything": by_character(lambda c: f"\\u{ord(c):04x}"),
    "JSON, every other": every_other,
    "JSON in JSON": lambda text: json.dumps(json.dumps(text))[3:-3],
    "JavaScript": by_character(lambda c: f"\\x{ord(c):02X}"),
    "JavaScript, braces": by_character(lambda c: f"\\u{{{ord(c):x}}}"),
    "octal": by_character(lambda c: f"\\{ord(c):03o}"),
    "HTML, by number, in percent": lambda text: "".join(
        f"%{ord(c):02x}" for c in "".join(f"&#{ord(c)};" for c in text)
    ),
    "HTML, by number, in JavaScript": lambda text: "".join(
        f"\\x{ord(c):02x}" for c in "".join(f"&#{ord(c)};" for c in text)
    ),
    "HTML": html.escape,
    "HTML, decimal": by_character(lambda c: f"&#{ord(c)};"),
    "HTML, hexadecimal": by_character(lambda c: f"&#x{ord(c):X};"),
    "HTML in JSON": lambda text: json.dumps(html.escape(text))[1:-1],
    "JSON in an address": lambda text: quote(json.dumps(text)[1:-1], safe=""),
    "HTML, no semicolons": lambda text: by_character(lambda c: f"&#{ord(c):03}")(text) + "&lt;",
    "XML": lambda text: quoteattr(text)[1:-1],
    "program text, every sign": lambda text: re.sub(r"([^A-Za-z0-9])", r"\\\1", text),
    "program text, eight digits": by_character(lambda c: f"\\U{ord(c):08x}"),
    "SQL": lambda text: text.replace("'", "''"),
    "SQL in JSON": lambda text: json.dumps(text.replace("'", "''"))[1:-1],
    "CSV": lambda text: text.replace('"', '""'),
    "shell": lambda text: text.replace("'", "'\\''"),
    "shell of Python": shlex.quote,
    "JSON in a shell": lambda text: shlex.quote(json.dumps(text)),
    "mail": lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode(),
    "HTML in a mail": lambda text: quopri.encodestring(html.escape(text).encode()).decode(),
    "hexadecimal by pairs": lambda text: text.encode().hex(":"),
    "hexadecimal by pairs and spaces": lambda text: text.encode().hex(" "),
    "hexadecimal by two pairs": lambda text: text.encode().hex(" ", -2),
    "hexadecimal, a list": lambda text: ", ".join(f"0x{c:02x}" for c in text.encode()),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal, upper case": lambda text: text.encode().hex().upper(),
    "base64": basic(""),
    "base64 behind one character": basic(":"),
    "base64 behind two characters": basic("u:"),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(f"u:{text}".encode()).decode(),
    "base64 in an address": lambda text: quote(basic("u:")(text), safe=""),
    "base64 in JSON": lambda text: basic("u:")(text).replace("/", "\\/"),
}
for _name in ("base64", "base64 behind one character", "base64 behind two characters"):
    for _kind, _break, _escape in (
        ("lines", "\n", str), ("lines of CR and LF", "\r\n", str), ("folded lines", "\r\n ", str),
        ("lines in JSON", "\n", lambda text: json.dumps(text)[1:-1]),
        ("lines in HTML", "\n", lambda text: text.replace("\n", "&#10;")),
        ("lines in an address", "\r\n", lambda text: quote(text, safe="")),
    ):  # fmt: skip
        SPELLINGS[f"{_name} in {_kind}"] = (
            lambda text, spell=SPELLINGS[_name], end=_break, escape=_escape: escape(
                end.join(textwrap.wrap(spell(text), 11))
            )
        )
    for _before in ("", "A", "AB"):
        SPELLINGS[f"{_name} in base64 behind {_before!r}"] = (
            lambda text, spell=SPELLINGS[_name], b=_before: basic(b)(spell(text))
        )
    SPELLINGS[f"{_name} in hexadecimal"] = lambda text, spell=SPELLINGS[_name]: (
        spell(text).encode().hex()
    )
SECRETS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=30)


def masked(exchange: Exchange, pieces: list[bytes]) -> bytes:
    found = exchange.filter()
    return b"".join([*(found.feed(piece) for piece in pieces), found.end()])


def inner(spelling: str, spelled: str) -> bytes:
    """What must not come through: in base64 the outermost characters are not the secret's alone."""
    return (spelled[4:-6] if spelling.startswith("base64") else spelled).encode()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_found_in_every_spelling_wherever_it_is_cut(spelling: str) -> None:
    secret = HostSecret(SECRET, ["a.test"])
    exchange = Exchange([secret])
    spelled = SPELLINGS[spelling](SECRET)
    text = f'{{"told": "{spelled}", "more": 1}}\n'.encode()
    placeholder = exchange.placeholder(secret).encode()
    for cut in range(0, len(text), 5):
        answer = masked(exchange, [text[:cut], text[cut:]])
        assert inner(spelling, spelled) not in answer, cut
        assert placeholder in answer, cut
        assert answer.startswith(b'{"told": "'), cut
        assert answer.endswith(b'", "more": 1}\n'), cut
    by_bytes = masked(exchange, [text[at : at + 1] for at in range(len(text))])
    assert inner(spelling, spelled) not in by_bytes
    assert placeholder in by_bytes


@settings(max_examples=150, deadline=None)
@given(SECRETS, st.sampled_from(sorted(SPELLINGS)), st.randoms(use_true_random=False))
def test_any_secret_is_found_in_any_spelling(
    value: str, spelling: str, chance: random.Random
) -> None:
    exchange = Exchange([HostSecret(value, ["a.test"])])
    spelled = SPELLINGS[spelling](value)
    text = f"<<{spelled}>>".encode()
    cuts = sorted(chance.sample(range(len(text) + 1), 3))
    pieces = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
    answer = masked(exchange, pieces)
    assert b"placeholder-" in answer
    assert inner(spelling, spelled) not in answer


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.binary(max_size=60) | st.sampled_from([b"%2", b"\\u00", b"&#", b"&amp;", b"CAN"]))
)
def test_everything_else_passes_unchanged(pieces: list[bytes]) -> None:
    assert masked(Exchange([HostSecret(SECRET, ["a.test"])]), pieces) == b"".join(pieces)


@pytest.mark.parametrize("event", [b'data: {"x": "\\u00e9 100% &amp;"}\n\n', b"data: hello\n\n"])
def test_an_event_of_a_stream_is_handed_on_at_once(event: bytes) -> None:
    assert Exchange([HostSecret(SECRET, ["a.test"])]).filter().feed(event) == event


@pytest.mark.parametrize("spelled", [b"%61bc%2Fdef123", b"abc%2fdef123", b"%61bc/def123"])
def test_a_secret_that_looks_escaped_is_found_once_it_is_read(spelled: bytes) -> None:
    exchange = Exchange([HostSecret("abc%2Fdef123", ["a.test"])])
    assert b"placeholder-" in masked(exchange, [b"<", spelled, b">"])


def test_secrets_of_other_hosts_are_taken_out_too() -> None:
    one, other = HostSecret("first-secret", ["a.test"]), HostSecret("second-secret", ["b.test"])
    exchange = Exchange([one, other])
    assert exchange.filter().whole(b"first-secret second-secret") == (
        f"{exchange.placeholder(one)} {exchange.placeholder(other)}".encode()
    )


@pytest.mark.parametrize("value", ["Käsekuchen-geheim", "pass😀word-1234567", "пароль-пароль"])
def test_a_secret_that_has_many_spellings_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="ASCII"):
        HostSecret(value, ["a.test"])


def test_a_placeholder_is_passed_on_whole_whatever_it_ends_with() -> None:
    for _ in range(40):
        secret = HostSecret(SECRET, ["a.test"])
        exchange = Exchange([secret])
        assert exchange.filter().feed(SECRET.encode()) == exchange.placeholder(secret).encode()
