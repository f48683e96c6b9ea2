"""Text from the web in the encoding that it names, if that is one of the web's."""

import encodings
import pkgutil
import time

import pytest

from toolwright._charset import decode_text

KNOWN = {
    "utf-8": "Grüße, мир, 世界", "UTF_8": "Grüße", " Latin-1 ": "Grüße", "windows-1251": "мир", "KOI8-R": "мир",
    "iso-8859-15": "€", "shift_jis": "世界", "EUC-JP": "世界", "iso-2022-jp": "世界", "gb18030": "世界", "big5": "世界",
    "euc-kr": "세계", "utf-16": "мир", "windows-1252": "Grüße €", "macintosh": "Grüße",
}  # fmt: skip
EVERY = sorted(module.name for module in pkgutil.iter_modules(encodings.__path__))


@pytest.mark.parametrize("name", KNOWN)
def test_the_encodings_of_the_web_are_read(name: str) -> None:
    assert decode_text(KNOWN[name].encode(name.strip()), name) == KNOWN[name]


def test_a_page_may_name_its_own() -> None:
    assert decode_text('<meta charset="windows-1251">мир'.encode("cp1251")).endswith("мир")


@pytest.mark.parametrize("name", ["punycode", "idna", "utf_7", "unicode_escape", "raw_unicode_escape", "rot13",
                                  "zlib_codec", "hex", "undefined", "mbcs", "\0", "", "²", "x" * 10_000])  # fmt: skip
def test_others_are_taken_for_utf_8(name: str) -> None:
    text = r"Grüße xn--a \u0041 +AGE- 41-"
    assert decode_text(text.encode(), name) == text
    page = b"<meta charset=" + name.encode() + b">" + text.encode()
    assert decode_text(page) == page.decode()


def test_no_encoding_that_python_has_takes_more_than_a_moment() -> None:
    data = b"a" * 200_000 + b"-" + b"a" * 100_000
    for name in EVERY:
        before = time.process_time()
        assert isinstance(decode_text(data, name), str)
        assert time.process_time() - before < 1, name


@pytest.mark.parametrize("charset", [None, "utf-8", "shift_jis", "gb18030", "utf-16"])
def test_where_it_was_cut_no_character_is_made_up(charset: str | None) -> None:
    data = ("世界" * 10).encode(charset or "utf-8")
    for length in range(len(data)):
        assert ("世界" * 10).startswith(decode_text(data[:length], charset, is_cut=True))


def test_what_is_in_no_such_encoding_is_read_as_windows_1252() -> None:
    assert decode_text("Grüße €".encode("cp1252")) == "Grüße €"
