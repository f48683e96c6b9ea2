"""What tools over Google's client libraries have in common: errors told to the model, in its words."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from toolwright.errors import ToolError
from toolwright.messages import Effects
from toolwright.tools import FunctionTool

try:
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import GoogleAuthError
except ImportError as error:
    raise ImportError(
        "Google Cloud toolsets need an extra, such as: pip install 'toolwright[pubsub]'"
    ) from error

__all__ = ["cloud_tool", "telling"]

P = ParamSpec("P")
T = TypeVar("T")


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


def cloud_tool(call: Callable[..., Any], name: str, effects: Effects) -> FunctionTool:
    """A tool that runs `call` in a thread and tells what the service refuses."""
    return FunctionTool(telling(call), name=name, effects=effects, idempotent=effects == "read")
