"""How long a name may be that stores look things up by: the same for every store.

Postgres keeps at most 2,700 bytes in one entry of an index; the names that stand together in one
(app, user, session and state key; a call's address) fit in that, however they are escaped. What is
new is measured; what a store has is found, run and deleted whatever its names.
"""

from toolwright.errors import UsageError
from toolwright.messages._services import Scope

__all__ = [
    "CALL_BYTES",
    "ID_BYTES",
    "KEY_BYTES",
    "NAME_BYTES",
    "ONCE_BYTES",
    "refuse_long",
    "refuse_long_scope",
    "size",
]

NAME_BYTES = 256
"""Of an app or an agent."""
ID_BYTES = 512
"""Of a user, an owner or a session."""
KEY_BYTES = 1024
"""Of a state key, with the name of the member where it is one of a mapping."""
CALL_BYTES = 200
"""Of a call's own id; those of the calls around it come before it."""
ONCE_BYTES = 2048
"""Of an idempotency key."""
_SHOWN = 40
_ESCAPE = 5
"""Bytes of a character that databases cannot hold as it is."""


def refuse_long(what: str, text: str, most: int) -> None:
    """`UsageError` when a name has more bytes than stores can look up."""
    # A character has at most five bytes, so that a short name need not be measured.
    if len(text) * _ESCAPE > most and (found := size(text)) > most:
        raise UsageError(
            f"{what} has {found:,} bytes and may have {most:,}: {text[:_SHOWN]!r}…; use a shorter "
            "one, or a digest of it."
        )


def refuse_long_scope(scope: Scope) -> None:
    """`UsageError` when one of the names of a session to be is too long."""
    refuse_long("The app_name", scope.app_name, NAME_BYTES)
    refuse_long("The user_id", scope.user_id, ID_BYTES)
    refuse_long("The session_id", scope.session_id, ID_BYTES)


def size(text: str) -> int:
    """The bytes of a name in a store's index, at most."""
    controls = sum(text.count(character) for character in ("\0", "\x1a"))
    alone = sum("\ud800" <= character <= "\udfff" for character in text)
    return len(text.encode("utf-8", "ignore")) + (_ESCAPE - 1) * controls + _ESCAPE * alone
