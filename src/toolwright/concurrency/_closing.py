"""Close everything that was opened, and say what went wrong as the one who called would expect it."""

from collections.abc import Awaitable, Callable, Sequence

import anyio

__all__ = ["close_all", "first_cause"]

_SECONDS = 30.0
"""How long one close may take; what hangs must not keep the others open."""

Close = Callable[[], Awaitable[object]]


async def close_all(closes: Sequence[Close]) -> None:
    """Call all of them, the last one first, whichever fail; cancelling does not stop it halfway.

    One failure is raised as it is, several as an `ExceptionGroup` in the order they came.
    """
    errors: list[Exception] = []
    cancelled: BaseException | None = None
    for close in reversed(closes):
        try:
            with anyio.fail_after(_SECONDS, shield=True):
                await close()
        except Exception as error:  # noqa: BLE001 - raised below, when all are closed
            errors.append(error)
        except BaseException as error:  # noqa: BLE001 - likewise
            cancelled = cancelled or error
    if cancelled is not None:
        raise cancelled
    if len(errors) > 1:
        raise ExceptionGroup("Several things could not be closed", errors)
    if errors:
        raise errors[0]


def first_cause(error: Exception) -> Exception:
    """The first plain exception inside nested exception groups."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
