"""Secrets that a run knows: in no encoding that comes back, and in nobody's log."""

import base64
import gc
import html
import json
import logging
import pickle
import re
import textwrap
import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.messages import REDACTED, Redactor

LATIN = ["pä$$wörd/ü", "clé de l’été"]
SECRETS = ["abcDEF1234567890", "s3cr3t/key+value==", "p\"a's&s<w>o\\r d", "pä$$wörd/ü"]


@pytest.fixture
def factory() -> Iterator[None]:
    """What makes records, as it was."""
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)


def encoded(secret: str) -> dict[str, str]:
    data = secret.encode()
    basic = base64.b64encode(b"user:" + data).decode()
    return {
        "as it is": secret,
        "address": quote(secret),
        "all of an address": quote(secret, safe=""),
        "query": urlencode({"key": secret}),
        "small digits": re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
        "address twice": quote(quote(secret, safe=""), safe=""),
        "plus": quote_plus(secret),
        "json": json.dumps({"key": secret}),
        "json of letters": json.dumps({"key": secret}, ensure_ascii=False),
        "json in json": json.dumps(json.dumps({"key": secret})),
        "json with slashes": json.dumps(secret).replace("/", "\\/"),
        "address in json": json.dumps(quote(secret)),
        "in a browser": quote(secret, safe="!~*'()"),
        "whole address in a browser": quote(secret, safe="!~*'();/?:@&=+$,#"),
        "json of Go": json.dumps(secret, ensure_ascii=False)
        .replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e"),
        "html of templates": html.escape(secret).replace("/", "&#x2F;").replace("=", "&#x3D;"),
        "bytes in a traceback": repr(secret.encode()),
        "html": html.escape(f"<p>{secret}</p>"),
        "html of json": html.escape(json.dumps(secret)),
        "repr": repr(secret),
        "repr of a list": repr([secret]),
        "basic": f"Authorization: Basic {basic}",
        "bytes": str(f"Basic {basic}".encode()),
        "base64": base64.b64encode(data).decode(),
        "for addresses": base64.urlsafe_b64encode(b"xx" + data).decode().rstrip("="),
        "base64 in an address": quote(base64.b64encode(data).decode(), safe=""),
        "lines of a mail": base64.encodebytes(b"x" * 50 + data + b"x" * 9).decode().strip(),
        "lines in json": json.dumps(base64.encodebytes(b"x" * 51 + data + b"x" * 9).decode()),
        "lines in an address": quote(base64.encodebytes(b"x" * 52 + data + b"x" * 9), safe=""),
        "indented lines": "\r\n    ".join(textwrap.wrap(base64.b64encode(data).decode(), 5)),
        "lines of hex": "\n".join(textwrap.wrap(data.hex(), 7)),
        "lines in html": "&#13;&#10;".join(textwrap.wrap(base64.b64encode(data).decode(), 5)),
        "wide": base64.b64encode(secret.encode("utf-16-le")).decode(),
        "hex": data.hex(),
        "HEX": data.hex().upper(),
    }


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_taken_out_in_every_encoding(secret: str, factory: None) -> None:
    redactor = Redactor([secret])
    for name, text in encoded(secret).items():
        shown = redactor.exact(f"before {text} after")
        assert REDACTED in shown, name
        assert shown.startswith("before ")
        assert shown.endswith(" after")
        for other in (secret, base64.b64encode(secret.encode()).decode()[4:-6]):
            assert other not in shown, name


@pytest.mark.parametrize("secret", LATIN)
def test_a_secret_is_taken_out_where_programs_differ_about_its_letters(
    secret: str, factory: None
) -> None:
    redactor = Redactor([secret])
    latin = secret.encode("cp1252")
    for text in (
        base64.b64encode(b"user:" + latin).decode(),
        latin.hex(),
        quote(latin, safe=""),
        quote_plus(latin),
        latin.decode("latin-1"),
        latin.decode("utf-8", "replace"),
        secret.encode().decode("cp1252", "replace"),
        json.dumps(secret.encode().decode("latin-1")),
        unicodedata.normalize("NFD", secret),
        repr(latin),
    ):
        shown = redactor.exact(f"before {text} after")
        assert REDACTED in shown, text
        assert shown.startswith("before ")
        assert shown.endswith(" after")


@pytest.mark.parametrize("secret", ["пароль-пароль", "äöüäöüäö"])
def test_letters_that_were_lost_are_nobodys_secret(secret: str, factory: None) -> None:
    redactor = Redactor([secret])
    for text in ("????????????? ??????-??????", "\ufffd" * 20, "", "\n"):
        assert redactor.exact(text) == text


def test_a_text_keeps_its_lines_around_a_secret_that_is_broken_into_some(factory: None) -> None:
    redactor = Redactor(["abcDEF1234567890", "abcDEF1234567890xyz"])
    packed = base64.b64encode(b"abcDEF1234567890xyz").decode()
    broken = f"{packed[:9]}\n{packed[9:]}"
    text = f"one\n\n two {broken} three\n{broken}\n\\n{packed}"
    assert redactor.exact(text) == (f"one\n\n two {REDACTED} three\n{REDACTED}\n\\n{REDACTED}")


def test_secrets_that_overlap_in_broken_lines_are_taken_out_together(factory: None) -> None:
    redactor = Redactor(["abcdefghijkl", "ghijklmnopqr"])
    packed = base64.b64encode(b"abcdefghijklmnopqr").decode()
    lines = "\n".join(textwrap.wrap(packed, 5))
    assert redactor.exact(f"<{lines}>") == f"<{REDACTED}>"


@given(st.text(min_size=8, max_size=40), st.text(max_size=30), st.text(max_size=30))
def test_whatever_the_secret_is_it_is_not_in_an_address_or_json(
    secret: str, before: str, after: str
) -> None:
    redactor = Redactor([secret])
    text = f"{before}{secret}{after}".encode("utf-8", "replace").decode()
    for written in (quote(text, safe=""), quote_plus(text), json.dumps(text)):
        if secret in text:
            assert REDACTED in redactor.exact(written)


def test_short_words_are_found_as_they_are_and_not_in_what_only_looks_like_them(
    factory: None,
) -> None:
    redactor = Redactor(["a/bc"])
    assert redactor.exact("a/bc a%2Fbc") == f"{REDACTED} {REDACTED}"
    packed = base64.b64encode(b"a/bc").decode()
    assert redactor.exact(packed) == packed


@pytest.mark.parametrize("secret", SECRETS)
def test_no_logger_prints_a_secret_while_a_run_knows_it(
    secret: str, factory: None, caplog: pytest.LogCaptureFixture
) -> None:
    redactor = Redactor([secret])
    caplog.set_level(logging.DEBUG)
    for name in ("httpx2", "mcp.client", "some.application"):
        for text in encoded(secret).values():
            logging.getLogger(name).info("GET %s took %d ms", text, 7)
            try:
                raise ValueError(text)
            except ValueError:
                logging.getLogger(name).exception("failed")
    assert "took 7 ms" in caplog.text
    assert REDACTED in caplog.text
    for text in encoded(secret).values():
        assert text not in caplog.text
    assert redactor


async def test_a_key_in_an_address_is_not_in_the_log_of_the_client(
    anyio_backend: str, factory: None, caplog: pytest.LogCaptureFixture
) -> None:
    redactor = Redactor(["s3cr3t/key+value=="])
    caplog.set_level(logging.DEBUG)
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200))
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("http://127.0.0.1:9/", params={"key": "s3cr3t/key+value=="})
    assert "HTTP Request: GET" in caplog.text
    assert "s3cr3t" not in caplog.text
    assert redactor


def test_what_nobody_knows_any_more_is_logged_as_it_is_and_other_factories_still_work(
    factory: None, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[str] = []
    before = logging.getLogRecordFactory()

    def counting(*args: object, **settings: object) -> logging.LogRecord:
        record = before(*args, **settings)
        made.append(record.name)
        return record

    logging.setLogRecordFactory(counting)
    redactor = Redactor(["abcDEF1234567890"])
    logging.getLogger("one").warning("abcDEF1234567890")
    del redactor
    gc.collect()
    logging.getLogger("two").warning("abcDEF1234567890")
    assert made == ["one", "two"]
    assert caplog.messages == [REDACTED, "abcDEF1234567890"]


def test_a_message_that_cannot_be_formatted_is_told_without_secrets(factory: None) -> None:
    redactor = Redactor(["abcDEF1234567890"])
    given = ("abcDEF1234567890",)
    record = logging.getLogRecordFactory()("x", 20, "f", 1, "%d of %d", given, None)
    assert record.getMessage() == f"%d of %d ('{REDACTED}',)"
    assert redactor


class Request:
    def __init__(self, address: str) -> None:
        self.address = address

    def __str__(self) -> str:
        return f"GET {self.address}"


class Unwritable:
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("secret", SECRETS)
def test_fields_that_a_record_is_given_are_without_secrets(
    secret: str, factory: None, caplog: pytest.LogCaptureFixture
) -> None:
    redactor = Redactor([secret])
    fine, broken = Request("http://127.0.0.1/"), Unwritable()
    fields = {
        "text": f"Bearer {secret}",
        "packed": base64.b64encode(secret.encode()),
        "nested": {"headers": [("Authorization", secret), ("Accept", 1)], secret: None},
        "request": Request(secret),
        "fine": fine,
        "pair": (1, "two"),
        "number": 7,
        "broken": broken,
    }
    adapter = logging.LoggerAdapter(logging.getLogger("some.application"), fields)
    adapter.warning("sent")
    [record] = caplog.records
    told: Any = record
    assert told.text == f"Bearer {REDACTED}"
    assert told.packed == f"b'{REDACTED}'"
    headers = [["Authorization", REDACTED], ("Accept", 1)]
    assert told.nested == {"headers": headers, REDACTED: None}
    assert told.request == f"GET {REDACTED}"
    assert (told.fine, told.pair, told.number, told.broken) == (fine, (1, "two"), 7, broken)
    assert b"toolwright" not in pickle.dumps(logging.makeLogRecord({}))  # For any program.
    assert redactor


def test_a_field_that_a_record_has_already_is_refused_as_before(factory: None) -> None:
    redactor = Redactor(["abcDEF1234567890"])
    with pytest.raises(KeyError, match="overwrite 'name'"):
        logging.getLogger("some.application").warning("sent", extra={"name": "other"})
    assert redactor
