"""Whatever encoder a service writes with, a secret that it repeats is taken out: also where two were used."""

import base64
import html
import json
import quopri
import re
import shlex
from collections.abc import Callable, Iterable
from threading import Thread
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright._spellings import Spellings
from toolwright.messages import REDACTED, Redactor, _redact

Encoder = Callable[[str], str]


def of(signs: str, form: str) -> Encoder:
    """What writes some characters by their numbers, as libraries do that differ in which."""
    return lambda text: "".join(form.format(ord(c)) if c in signs else c for c in text)


def small(text: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), text)


ENCODERS: dict[str, Encoder] = {
    "HTML": html.escape,
    "XML text": escape,
    "XML attribute": lambda text: quoteattr(text)[1:-1],
    "XML with &apos;": lambda text: escape(text, {"'": "&apos;", '"': "&quot;"}),
    "PHP": lambda text: escape(text, {"'": "&#039;", '"': "&quot;"}),
    "Go's templates": of("&<>'\"+\0", "&#{};"),
    "Mustache": of("&<>'\"/`=", "&#x{:X};"),
    "Razor": of("&<>'\"+`", "&#x{:X};"),
    "all of HTML": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with letters": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON of .NET": of("\\\"&<>'+`", "\\u{:04X}"),
    "JSON of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "script in a page": of("\\'\"<>&=-;`", "\\x{:02x}"),
    "a string of a program": lambda text: repr(f"{text}'\"")[1:-4],
    "a pattern": re.escape,
    "address": lambda text: quote(text, safe=""),
    "address with + and /": lambda text: quote(text, safe="/+"),
    "address in small letters": lambda text: small(quote(text)),
    "form": quote_plus,
    "a browser's address": lambda text: quote(text, safe="!*'()~-_.;/?:@&=+$,#"),
    "all of an address": lambda text: "".join(f"%{c:02X}" for c in text.encode()),
    "SQL": lambda text: text.replace("'", "''"),
    "CSV": lambda text: text.replace('"', '""'),
    "shell": lambda text: text.replace("'", "'\\''"),
    "Python's shell": shlex.quote,
    "mail": lambda text: quopri.encodestring(text.encode()).decode(),
}
PACKED: dict[str, Encoder] = {
    "as it is": str,
    "Basic": lambda text: base64.b64encode(b"user:" + text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal by pairs": lambda text: text.encode().hex(":"),
    "hexadecimal, a list": lambda text: ", ".join(f"0x{c:02X}" for c in text.encode()),
}
ASCII = st.characters(min_codepoint=32, max_codepoint=126)
LETTERS = st.characters(categories=["L", "N", "P", "S"])
AROUND = st.sampled_from(["%s", "'%s'", '"%s"', "key=%s&x=1", "<p>%s</p>\n", "\\n%s\\n", "(%s)"])


@settings(max_examples=250, deadline=None)
@given(
    st.text(ASCII, min_size=8, max_size=30) | st.text(LETTERS, min_size=8, max_size=30),
    st.sampled_from(sorted(PACKED)),
    st.lists(st.sampled_from(sorted(ENCODERS)), max_size=2),
    AROUND,
)
def test_a_secret_is_taken_out_whichever_encoders_wrote_it(
    secret: str, packed: str, encoders: list[str], around: str
) -> None:
    text = PACKED[packed](secret)
    for name in encoders if packed in ("as it is", "Basic") else encoders[:1]:
        text = ENCODERS[name](text)
    shown = Redactor([secret]).exact(around % text)
    assert REDACTED in shown
    before, after = around.split("%s")
    assert shown.startswith(before)
    assert shown.endswith(after)


@pytest.mark.parametrize("name", ENCODERS)
def test_each_encoder_is_read_and_what_stands_around_it_is_kept(name: str) -> None:
    secret = "dGhp/c0lz'QV\"R+va&2V<u>Of=~9 8\\Qz=="
    encoded = ENCODERS[name](secret)
    shown = Redactor([secret]).exact(f"100% &amp; \\n {encoded} '' 50%25 =\n")
    inner = "'[redacted]'" if encoded.startswith("'") else REDACTED
    assert shown == f"100% &amp; \\n {inner} '' 50%25 =\n"


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("%25\\u0041&#x;amp'\"=:, \nabcé\ud83d"), max_size=60))
def test_a_text_without_the_secret_stays_as_it_is(text: str) -> None:
    assert Redactor(["Zq9-Zq8-Zq7-Zq6"]).exact(text) == text


def test_a_form_in_another_encoding_never_cuts_a_letter_in_two() -> None:
    # In latin-1 the secret ends with the byte that begins this letter in UTF-8.
    shown = Redactor(["passwordä"]).exact("password\N{CJK UNIFIED IDEOGRAPH-4E00}.")
    assert shown == f"{REDACTED}."


def test_many_places_are_taken_out_in_one_pass() -> None:
    text = "a&amp;b-secret-1 " * 20_000
    assert Redactor(["a&b-secret-1"]).exact(text) == f"{REDACTED} " * 20_000


def test_secrets_that_two_threads_add_are_both_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor, first, second = Redactor(), "Zq7mB2xWn4Lp", "RtY6vKc3HsD8"
    other = Thread(target=redactor.add, args=(second,))
    work_out = _redact.Spellings

    def slowly(forms: Iterable[bytes]) -> Spellings:
        spellings = work_out(forms)
        if not other.ident:
            other.start()
            other.join(0.05)  # it has to wait for the first; else it is over at once
        return spellings

    monkeypatch.setattr(_redact, "Spellings", slowly)
    redactor.add(first)
    other.join()

    assert redactor.exact(f"{first} {second}") == f"{REDACTED} {REDACTED}"
