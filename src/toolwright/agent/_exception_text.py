"""What is told of an exception, to a model, a person or a log: bounded, and without secrets."""

import traceback

from toolwright.messages import Redactor, redact

__all__ = ["message_without_secrets", "trace_without_secrets"]

_LONGEST = 32_768
"""Letters of an exception that are told: it may have any number, and the loop waits."""
_MARGIN = 4_000


def message_without_secrets(redactor: Redactor, message: str) -> str:
    """The message, without what is too long to be looked through for secrets."""
    # With some more at first: what looks like a secret at the cut is not told by half.
    return redact(redactor.beginning(message, _LONGEST + _MARGIN))[:_LONGEST]


def trace_without_secrets(redactor: Redactor, error: BaseException) -> str:
    """The traceback, as a log file can hold it."""
    trace = "".join(traceback.format_exception(error))
    told = redact(redactor.ending(trace, _LONGEST + _MARGIN))[-_LONGEST:]
    return told.encode(errors="backslashreplace").decode()
