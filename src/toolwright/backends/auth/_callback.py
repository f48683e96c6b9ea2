"""Read the address that a provider sent a person back to, as strictly as OAuth2 writes it."""

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from toolwright.errors import UsageError

__all__ = ["answers_state", "callback_in", "state_in"]

_LONGEST = 64 * 1024
"""Characters that an address may have; browsers and servers take some thousands."""
_MOST_FIELDS = 100
_ONCE = ("code", "error", "error_description", "iss", "state")
"""What OAuth2 puts there, each at most once (RFC 6749, 3.1)."""


def callback_in(address: str) -> dict[str, str]:
    """What the query of an address says; `UsageError` when two readers could read it differently.

    What stands behind a `#` is no part of it: a browser does not send that to a server.
    """
    if len(address) > _LONGEST:
        raise UsageError(
            f"The address has {len(address)} characters, at most {_LONGEST} are read; "
            "give the one the browser ended up at."
        )
    try:
        query = urlsplit(address).query
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise UsageError(
            "The address cannot be read; give the whole one the browser ended up at."
        ) from None
    names = [name for name, _ in pairs]
    twice = [name for name in _ONCE if names.count(name) > 1]
    if twice:
        raise UsageError(
            f"The address has {twice[0]!r} more than once, which no provider sends. "
            "Sign in again at the address that was shown."
        )
    return dict(pairs)


def state_in(address: str) -> str:
    """The `state` of an address; empty where there is none that could be trusted."""
    try:
        return callback_in(address).get("state", "")
    except UsageError:
        return ""


def answers_state(found: Mapping[str, str], state: str | None) -> bool:
    """Whether it was sent for the sign-in with this `state`; one without a state has no answers."""
    given = found.get("state", "").encode(errors="surrogatepass")
    return bool(state) and hmac.compare_digest(given, (state or "").encode())
