"""No logger prints a secret that this process knows: those of HTTP libraries write whole addresses."""

import logging
import traceback
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

__all__ = ["keep_out_of_logs"]

_hiding: WeakSet[Any] = WeakSet()
"""Whoever knows secrets now."""


def keep_out_of_logs(redactor: Any) -> None:
    """While `redactor` lives, its secrets are taken out of what any logger is told."""
    _hiding.add(redactor)
    make = logging.getLogRecordFactory()
    if not getattr(make, "hides_secrets", False):
        logging.setLogRecordFactory(_Hiding(make))


class _Hiding:
    """Makes records as before, without secrets in their texts and tracebacks."""

    hides_secrets = True

    def __init__(self, make: Callable[..., logging.LogRecord]) -> None:
        self._make = make

    def __call__(self, *args: Any, **settings: Any) -> logging.LogRecord:
        record = self._make(*args, **settings)
        if not _hiding:
            return record
        try:
            told = record.getMessage()
        except Exception:  # noqa: BLE001 - it is told as it is, and what it was given beside it
            told = f"{record.msg} {record.args!r}"
            record.msg, record.args = told, None
        if (shown := _without_secrets(told)) != told:
            record.msg, record.args = shown, None
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            if (hidden := _without_secrets(trace)) != trace:
                record.exc_text, record.exc_info = hidden, None
        return record


def _without_secrets(text: str) -> str:
    for redactor in list(_hiding):
        text = redactor.exact(text)
    return text
