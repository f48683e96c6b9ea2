"""What tools over Google's client libraries have in common: one time limit, errors told to the model."""

import functools
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import anyio

from toolwright.concurrency import in_user_thread
from toolwright.errors import ToolError
from toolwright.messages import Effects
from toolwright.tools import FunctionTool

try:
    from google.api_core.exceptions import (
        Aborted,
        DeadlineExceeded,
        GoogleAPICallError,
        RetryError,
        ServiceUnavailable,
        Unknown,
    )
    from google.api_core.retry import Retry, if_exception_type
    from google.auth.exceptions import GoogleAuthError
except ImportError as error:
    raise ImportError(
        "Google Cloud toolsets need an extra, such as: pip install 'toolwright[pubsub]'"
    ) from error

__all__ = ["Deadline", "cloud_tool", "in_time", "telling"]

P = ParamSpec("P")
T = TypeVar("T")


class Deadline(Retry):
    """A `retry` for Google's clients that ends at one moment, however many requests are made.

    Theirs try again for up to ten minutes, whatever `timeout` a request has. Give `timeout=None`
    beside it: the time that is left is handed to each request. It ends a little before the tool's
    own limit, because the library's error says more than that nobody answered.
    """

    def __init__(self, seconds: float) -> None:
        spent = seconds - min(0.5, seconds / 10)
        super().__init__(
            predicate=if_exception_type(Aborted, ServiceUnavailable, Unknown),
            initial=0.1,
            maximum=2.0,
            timeout=spent,
        )
        self._seconds = seconds
        self._end = time.monotonic() + spent

    def __call__(self, func: Callable[..., Any], on_error: Any = None) -> Callable[..., Any]:
        """`func`, tried again while there is time."""

        @functools.wraps(func)
        def attempt(*args: Any, **kwargs: Any) -> Any:
            left = self._end - time.monotonic()
            if left <= 0:
                raise DeadlineExceeded(f"no answer within {self._seconds:g} s")
            return func(*args, **{**kwargs, "timeout": left})

        return super().__call__(attempt, on_error)


def telling(call: Callable[P, T]) -> Callable[P, T]:
    """`call`, with the service's refusals as `ToolError`s that the model can act on."""

    @functools.wraps(call)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except GoogleAPICallError as error:
            status = error.grpc_status_code.name if error.grpc_status_code else error.code
            raise ToolError(f"{status}: {error.message}") from error
        except (RetryError, GoogleAuthError) as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error

    return told


async def in_time(seconds: float, call: Callable[[], T]) -> T:
    """What `call` returns, in a thread that nobody waits for after so many seconds.

    Raises `ToolError` when the service refuses or does not answer.
    """
    with anyio.move_on_after(seconds):
        return await in_user_thread(telling(call))
    raise ToolError(f"There was no answer within {seconds:g} s.", outcome_unknown=True)


def cloud_tool(
    call: Callable[..., Any], name: str, effects: Effects, timeout: float
) -> FunctionTool:
    """A tool that runs `call` in a thread and tells what the service refuses."""
    idempotent = effects == "read"
    return FunctionTool(
        telling(call), name=name, effects=effects, idempotent=idempotent, timeout=timeout
    )
