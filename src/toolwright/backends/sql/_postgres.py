"""Connections to Postgres that end when its server or the network does not answer.

The system's own limits find out about a network that drops packets; a server that hangs, and a proxy
that has lost its server, only show by the answer that does not come.
"""

import time
from collections.abc import Generator
from typing import Any, cast

from sqlalchemy import Engine, ExceptionContext, event

from toolwright.backends.sql._address import POSTGRES_OPTIONS

try:
    import psycopg
except ImportError as error:
    raise ImportError("Postgres needs an extra: pip install 'toolwright[postgres]'") from error

__all__ = ["bound_waits", "give_up_after"]

_PING_SECONDS = 5.0
"""How long a connection that has been idle may take to show that it still works."""
_ANSWER_SECONDS = 35.0
"""How long a statement may take; the server itself ends one that waits for a lock before that."""
_READ_ONLY = "25006"


class _Bounded(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes longer than `seconds`."""

    seconds = _PING_SECONDS

    def wait(self, gen: Any, *args: Any, **settings: Any) -> Any:
        """What psycopg waits for the server with."""
        return super().wait(self._within(gen), *args, **settings)

    def _within(self, gen: Any) -> Generator[Any, Any, Any]:
        ends = time.monotonic() + self.seconds
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= ends:
                    gen.close()
                    # In the middle of an answer it is of no use to anybody.
                    self.close()
                    raise psycopg.OperationalError(
                        f"the server has not answered for {self.seconds:g} s"
                    )
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value


def bound_waits(engine: Engine) -> None:
    """Have all waits of the engine's connections come to an end."""
    event.listen(engine, "do_connect", _connect)
    # The pool tries a connection that was idle before it gives it out.
    event.listen(engine, "checkout", lambda found, *_: give_up_after(found, _ANSWER_SECONDS))
    event.listen(engine, "checkin", lambda found, _: give_up_after(found, _PING_SECONDS))
    event.listen(engine, "handle_error", _leave_read_only)


def give_up_after(connection: Any, seconds: float) -> None:
    """Let each wait on this connection take so long; None when it is gone already."""
    if connection is not None:
        cast("_Bounded", connection).seconds = seconds


def _connect(_dialect: Any, _record: Any, args: Any, settings: dict[str, Any]) -> _Bounded:
    return _Bounded.connect(*args, **{**POSTGRES_OPTIONS, **settings})


def _leave_read_only(context: ExceptionContext) -> None:
    """A server that has become a standby keeps its connections; the next may lead to its successor."""
    if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True
