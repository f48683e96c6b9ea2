"""How a conformance suite is run: every check on a thing of its own."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

__all__ = ["raises", "run_checks"]

T = TypeVar("T")


async def run_checks(
    checks: Sequence[Callable[[T], Awaitable[None]]], factory: Callable[[], T]
) -> None:
    """Run each check on what `factory` makes, and close that; the first failure is raised."""
    for check in checks:
        subject = factory()
        try:
            await check(subject)
        except AssertionError as error:
            raise AssertionError(f"{check.__name__}: {check.__doc__} {error}") from error
        finally:
            close = getattr(subject, "close", None)
            if close is not None:
                await close()


async def raises(kind: type[Exception], attempt: Awaitable[Any]) -> None:
    """Fail unless awaiting `attempt` raises `kind`."""
    try:
        await attempt
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
