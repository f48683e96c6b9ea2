"""The exception tree, grouped by who can act on it.

```text
ToolwrightError
├── UsageError         the developer, before anything runs
│   └── SettingError   … an argument that does not exist, is missing or has no name
├── ToolError          the model: its text is shown to it
│   ├── ArgumentError  … the arguments did not fit, field by field
│   └── StateConflict  … another call changed the same state key
├── ModelError         wait, or give up (`retryable` says which)
├── LimitError         the owner of the run
└── StoreError         the operator of a database, file system or service
    ├── StoreConflict  … another writer has the session or task now
    │   ├── SessionHeld … a run of it is going elsewhere; nothing was run here
    │   └── StaleState  … another session has changed the same state; runs do this again by themselves
    └── UnreadableError … what was stored was written by a newer version, or damaged
```
"""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "ArgumentError",
    "LimitError",
    "ModelError",
    "SessionHeld",
    "SettingError",
    "StaleState",
    "StateConflict",
    "StoreConflict",
    "StoreError",
    "ToolError",
    "ToolwrightError",
    "UnreadableError",
    "UsageError",
]


class ToolwrightError(Exception):
    """Anything this library raises on purpose."""


class UsageError(ToolwrightError):
    """The program is wrong; raised when a thing is built or called, before anything runs."""


class SettingError(UsageError, TypeError):
    """A public class or function was called with arguments that it does not take."""


class ToolError(ToolwrightError):
    """A tool could not do what was asked. Its text goes to the model as it is."""

    def __init__(self, *message: object, outcome_unknown: bool = False) -> None:
        super().__init__(*message)
        self.outcome_unknown = outcome_unknown
        """The call was given up in the middle: it may have taken effect, or still do. Nothing makes
        it again by itself, unless its tool says that this is safe."""


class ArgumentError(ToolError):
    """The model's arguments do not fit the tool's schema; `issues` has one line per field."""

    def __init__(self, tool: str, issues: Sequence[str]) -> None:
        self.tool = tool
        self.issues = tuple(issues)
        lines = "\n".join(f"- {issue}" for issue in issues)
        super().__init__(f"Invalid arguments for {tool!r}; correct them and call again:\n{lines}")


class StateConflict(ToolError):
    """A parallel call changed a state key after this one had read it."""


class ModelError(ToolwrightError):
    """The model could not answer."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "unknown",
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        """One of: auth, rate_limit, overloaded, timeout, connection, context_too_long,
        refused, bad_request, server, protocol, unknown. `protocol` means that what answered is no
        model: a page, a redirect, JSON of another shape, or more than can be kept."""
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after


class LimitError(ToolwrightError):
    """A run reached one of its limits; `limit` names it."""

    def __init__(self, message: str, *, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class StoreError(ToolwrightError):
    """A store, file system or service behind a backend failed or refused."""


class StoreConflict(StoreError):
    """Somebody else has written to the session or holds the task: trying again will not help."""


class StaleState(StoreConflict):
    """A batch was to change state of the user or the app that another session has changed."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(f"Another session has changed the state {', '.join(map(repr, values))}.")
        self.values = values
        """What the keys have now; None where there is nothing."""


class SessionHeld(StoreConflict):
    """Another run holds the session: wait until it has ended, or go on where it is going."""

    def __init__(self, message: str, *, holder: str = "", since: float = 0.0) -> None:
        super().__init__(message)
        self.holder = holder
        """The process that has the run, in words."""
        self.since = since
        """Since when it holds the session, in seconds since the epoch."""


class UnreadableError(StoreError):
    """Something stored cannot be read by this program: trying again will not help."""
