"""What a model holds as secrets: hidden, by value, in every text that an error of it shows."""

import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from toolwright.errors import ModelError, ToolwrightError, UsageError
from toolwright.messages import Redactor

__all__ = ["Secrets", "errors_behind", "hidden", "hiding", "hold_sent", "noticing_requests"]

_SHORTEST = 8
"""Below this a key is a word for none, such as `none`, `EMPTY` or `ollama`."""
_NO_KEYS = frozenset({"not-needed", "not_needed", "no-key-required", "lm-studio", "placeholder"})
_SIGNS_IN = re.compile(r"auth|key|token|secret|cookie|credential|signature|password", re.I)
"""In the names of headers and parameters: proxies and gateways have many of their own."""
_ATTRIBUTES = ("api_key", "auth_token", "_azure_ad_token", "token")
_MOST = 2**16
"""Characters that are looked at: far more than any error shows."""


class Secrets:
    """The secrets of one model, as they become known: a token may be fetched with a request."""

    def __init__(self, name: str, *values: object) -> None:
        self._name = name
        self.hide = Redactor()
        self._client: Any = None
        self.hold(*values)

    def hold(self, *values: object) -> None:
        """Hide these from now on; what is part of the model's name, or a word for no key, is none."""
        for value in values:
            if isinstance(value, str) and _is_secret(value) and value not in self._name:
                self.hide.add(value)

    def hold_address(self, url: object) -> None:
        """Hide the password and the values of the query."""
        if not url:
            return
        try:
            parts = urlsplit(str(url))
        except ValueError:
            return
        password = parts.netloc.rpartition("@")[0].partition(":")[2]
        self.hold(password, unquote(password), *(value for _, value in parse_qsl(parts.query)))

    def hold_headers(self, headers: Mapping[str, Any]) -> None:
        """Hide what signs a request in."""
        for name, value in headers.items():
            if _SIGNS_IN.search(name) and isinstance(value, str):
                self.hold(value, value.rpartition(" ")[2])

    def hold_request(self, request: Any) -> None:
        """Hide what a request was signed with, in its headers and in its address."""
        headers = getattr(request, "headers", None)
        if isinstance(headers, Mapping):
            self.hold_headers(headers)
        query = urlsplit(str(getattr(request, "url", ""))).query
        self.hold(*(value for name, value in parse_qsl(query) if _SIGNS_IN.search(name)))

    def hold_client(self, client: Any) -> None:
        """Hide what an SDK's client, that somebody else has made, was given, or gets later."""
        self._client = client
        self.look_again()

    def look_again(self) -> None:
        """Hide what the client has by now: keys are exchanged, and fetched with a request."""
        client = self._client
        inner = getattr(client, "_api_client", client)  # Google's has its own around it
        for one in (client, inner, getattr(inner, "_credentials", None)):
            self.hold(*(getattr(one, name, None) for name in _ATTRIBUTES))
        self.hold_address(getattr(client, "base_url", None))
        headers = getattr(client, "_custom_headers", None)
        headers = headers or getattr(getattr(inner, "_http_options", None), "headers", None)
        if isinstance(headers, Mapping):
            self.hold_headers(headers)


def _is_secret(value: str) -> bool:
    return len(value) >= _SHORTEST and value.lower() not in _NO_KEYS


_NONE = Secrets("")
_asked: ContextVar[Secrets] = ContextVar("secrets", default=_NONE)
"""Of the model that is being asked. Errors are written in many places, and cut short there: what
is only half a key would not be found any more by whoever looks at them later."""


def hidden(text: str) -> str:
    """`text` without the secrets of the model that is being asked, and without what looks like one."""
    return _asked.get().hide(text[:_MOST])


def hold_sent(response: Any) -> None:
    """Hide what signed the request of this answer: a client may have fetched it only for that."""
    secrets = _asked.get()
    if secrets is not _NONE:
        # aiohttp, which Google's SDK uses where it can, has a name of its own for it.
        secrets.hold_request(_attribute(response, "request"))
        secrets.hold_request(_attribute(response, "request_info"))


@contextmanager
def noticing_requests() -> Iterator[None]:
    """Hide what signed the requests that the errors from inside are about, before they are told."""
    try:
        yield
    except Exception as error:
        _asked.get().look_again()
        for one in errors_behind(error):
            hold_sent(one)
            hold_sent(_attribute(one, "response"))
        raise


def _attribute(one: Any, name: str) -> Any:
    with suppress(
        RuntimeError
    ):  # HTTP clients' errors and answers raise it for one that is not set
        return getattr(one, name, None)
    return None


@contextmanager
def hiding(secrets: Secrets) -> Iterator[None]:
    """Hide the secrets in what is written inside, and in the errors that leave, chained ones too."""
    token = _asked.set(secrets)
    try:
        yield
    except (ModelError, UsageError) as error:
        _hide_in(error, secrets.hide)
        raise
    finally:
        _asked.reset(token)


def _hide_in(error: ToolwrightError, hide: Redactor) -> None:
    error.args = tuple(hide(arg) if isinstance(arg, str) else arg for arg in error.args)
    behind = _behind(error)
    if behind is not None and any(hide(text) != text for text in _texts(behind)):
        # SDKs repeat what the server said. Of their errors only the text can be shown, hidden.
        trace = "".join(traceback.format_exception(behind))
        error.__cause__, error.__context__ = _Hidden(hide(trace)), None


class _Hidden(Exception):
    """Stands for exceptions whose text told a secret, and shows their trace without it."""


def _behind(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _texts(error: BaseException) -> Iterator[str]:
    for one in errors_behind(error):
        yield str(one)
        yield from getattr(one, "__notes__", ())


def errors_behind(error: BaseException) -> Iterator[BaseException]:
    """The error itself, and all that are behind it."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()  # an error may be raised from another one that it caused
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting.append(_behind(one))
