"""No logger prints a secret that this process knows: those of HTTP libraries write whole addresses."""

import logging
import traceback
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

__all__ = ["keep_out_of_logs"]

_LONGEST = 32_768
"""Letters of one text in the log, while there are secrets to be kept out of it."""
_hiding: WeakSet[Any] = WeakSet()
"""Whoever knows secrets now."""


def keep_out_of_logs(redactor: Any) -> None:
    """While `redactor` lives, its secrets are taken out of what any logger is told."""
    _hiding.add(redactor)
    make = logging.getLogRecordFactory()
    if not getattr(make, "hides_secrets", False):
        logging.setLogRecordFactory(_Hiding(make))


class _Hiding:
    """Makes records as before, without secrets in their texts, tracebacks and fields of `extra=`."""

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
            if (hidden := _without_secrets(trace, end=True)) != trace:
                record.exc_text, record.exc_info = hidden, None
        record.__dict__ = _Fields(record.__dict__)
        return record


class _Fields(dict[str, Any]):
    """The fields of a record; a logger puts those of `extra=` there once the record has been made."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, _hidden_in(value))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)  # Records are sent to programs that know nothing of this class.


def _hidden_in(value: Any) -> Any:
    """The value, if nothing in it says a secret; otherwise what can be shown of it."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        told = str(value)
    except Exception:  # noqa: BLE001 - nobody else can write it either
        return value
    shown = _without_secrets(told)
    if shown == told:
        return value
    if isinstance(value, dict):
        return {_hidden_in(key): _hidden_in(item) for key, item in value.items()}
    return [_hidden_in(item) for item in value] if isinstance(value, list | tuple) else shown


def _without_secrets(text: str, *, end: bool = False) -> str:
    """Not all of a long text, of a trace its end: whoever logs waits until it has been searched."""
    more = len(text) - _LONGEST
    for redactor in list(_hiding):
        text = redactor.ending(text, _LONGEST) if end else redactor.beginning(text, _LONGEST)
    return text if more <= 0 or not _hiding or end else f"{text}… ({more:,} more letters)"
