"""Send one request with its time limit, and again when the provider says that may help."""

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from toolwright._sealed import sealed
from toolwright.errors import ModelError, ToolwrightError, UsageError
from toolwright.messages import ModelMessage
from toolwright.models._checked import checked
from toolwright.models._errors import model_error
from toolwright.models._exchange import exchanging
from toolwright.models._model import Delta, OnDelta
from toolwright.models._origin import written_at
from toolwright.models._secrets import Secrets, hiding
from toolwright.models._telling import Telling, with_whole_characters

__all__ = ["Retries", "Send", "ask"]

Send = Callable[[OnDelta | None], Awaitable[ModelMessage]]
"""One attempt: ask the provider and read its reply, handing on the pieces; raises `ModelError`."""


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a request is sent, and how long is waited in between."""

    attempts: int = 3
    """In all, the first included."""
    first_wait: float = 0.5
    """Seconds; doubled each time, unless the provider says how long."""
    longest_wait: float = 60.0
    """When the provider asks for more than this, the error is raised at once."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise UsageError(f"Retries(attempts=…) counts the first attempt: {self.attempts} < 1.")


async def ask(
    send: Send,
    on_delta: OnDelta | None,
    *,
    name: str,
    secrets: Secrets,
    timeout: float | None,
    retries: Retries,
    server: str | None = None,
) -> ModelMessage:
    """The reply of the first attempt that succeeds.

    An attempt that fails after some of its text was handed on is not repeated: whoever listens
    would see the beginning twice.
    """
    for attempt in range(1, retries.attempts + 1):
        telling = None if on_delta is None else Telling(_as_the_callers(on_delta))
        try:
            with exchanging(), hiding(secrets), _every_failure(name):
                return written_at(await _once(send, telling, timeout, name), server)
        except _Callers as carried:
            raise carried.error from None
        except ModelError as error:
            wait = _wait(error, attempt, retries)
            if wait is None or (telling is not None and telling.has_begun):
                raise
        await anyio.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


@contextmanager
def _every_failure(name: str) -> Iterator[None]:
    """Let nothing but our own errors out: SDKs raise theirs, and what they have not thought of."""
    try:
        yield
    except ToolwrightError:
        raise
    except Exception as error:
        raise model_error(name, f"{type(error).__name__}: {error}") from error


class _Callers(BaseException):
    """Carries what `on_delta` raised past everything that would take it for the provider's fault."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _as_the_callers(on_delta: OnDelta) -> OnDelta:
    def listen(delta: Delta) -> None:
        try:
            on_delta(delta)
        except Exception as error:
            raise _Callers(error) from error

    return listen


async def _once(
    send: Send, telling: Telling | None, timeout: float | None, name: str
) -> ModelMessage:
    with anyio.move_on_after(timeout):
        message = await send(None if telling is None else telling.hear)
        message = with_whole_characters(checked(message))
        if telling is not None:
            telling.end(message)
        return message
    raise model_error(
        name,
        f"no reply within {timeout} seconds",
        reason="timeout",
        cure="raise `ModelSettings.timeout`, or ask for less",
    )


def _wait(error: ModelError, attempt: int, retries: Retries) -> float | None:
    """Seconds before the next attempt, or None when there is none."""
    if not error.retryable or attempt >= retries.attempts:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= retries.longest_wait else None
    wait = min(retries.first_wait * 2 ** (attempt - 1), retries.longest_wait)
    return wait * random.uniform(0.75, 1.0)
