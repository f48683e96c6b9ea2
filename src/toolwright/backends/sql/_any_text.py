"""A column for any string that Python can hold, also what databases refuse."""

import re
from typing import Any

try:
    from sqlalchemy import Dialect, Text, TypeDecorator
except ImportError as error:
    raise ImportError("SQL stores need an extra: pip install 'toolwright[sql]'") from error

__all__ = ["AnyText"]

_MARK = "\x1a"
_ESCAPES = ((_MARK, f"{_MARK}001a"), ("\0", f"{_MARK}0000"))
"""The mark itself, then NUL, which Postgres refuses. Not by a pattern: there may be millions."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone ones, which are not UTF-8."""
_ESCAPED = re.compile(f"{_MARK}(d[89a-f][0-9a-f]{{2}})")


class AnyText(TypeDecorator[str]):
    """Text in which the few characters that a database cannot hold are escaped, both ways."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """What the database is given."""
        if not isinstance(value, str):
            return value
        for character, escape in _ESCAPES:
            value = value.replace(character, escape)
        if value.isascii():
            return value
        return _SURROGATE.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """What was meant."""
        if value is None or _MARK not in value:
            return value
        value = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)
        for character, escape in reversed(_ESCAPES):
            value = value.replace(escape, character)
        return value
