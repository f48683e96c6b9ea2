"""A tool: what the model is told, how its arguments are read, and what then runs."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from toolwright.errors import UsageError
from toolwright.messages import (
    BlobPart,
    Content,
    Effects,
    PendingRequest,
    Status,
    TextPart,
    ToolSpec,
)
from toolwright.tools._arguments import Args
from toolwright.tools._context import ReadonlyContext, ToolContext

__all__ = ["Handler", "IsEnabled", "MaxOutput", "OnUnknown", "Output", "Tool"]

IsEnabled = Callable[[ReadonlyContext], bool]
OnUnknown = Literal["tell", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxOutput:
    """How much of an output the model reads at once; the rest goes to a file."""

    bytes: int = 50 * 1024
    lines: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a handler answers: `text` and `parts` for the model, `data` for people and programs."""

    text: str = ""
    parts: tuple[Content, ...] = ()
    data: Any = None
    value: Any = None
    """The return value itself, for callers in this process; never stored."""
    status: Status = "ok"
    request: PendingRequest | None = None

    @classmethod
    def pending(cls, **request: Any) -> "Output":
        """An output that waits for the outside; the arguments are `PendingRequest`'s."""
        return cls(status="pending", request=PendingRequest(**request))

    @property
    def content(self) -> tuple[Content, ...]:
        """All that the model reads, text first."""
        return (TextPart(self.text), *self.parts) if self.text or not self.parts else self.parts

    @property
    def blobs(self) -> tuple[BlobPart, ...]:
        """The images and files among the parts."""
        return tuple(part for part in self.parts if isinstance(part, BlobPart))


Handler = Callable[[Args, ToolContext], Awaitable[Output]]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One thing an agent can do. A value: change it by making another one with `replace`."""

    spec: ToolSpec
    parse: Callable[[str], Args]
    """Turns raw JSON into arguments, or raises `ArgumentError`. The only validation there is."""
    run: Handler
    sequential: bool = False
    """A barrier among parallel calls: it runs alone."""
    effects: Effects = "write"
    idempotent: bool = False
    """May be run again with the same arguments after it was interrupted."""
    on_unknown: OnUnknown = "tell"
    """When it was interrupted and may not be run again: tell the model that the outcome is
    unknown, or ask a person for it."""
    is_enabled: IsEnabled | None = None
    """Asked before each turn and again before each call."""
    max_output: MaxOutput = field(default_factory=MaxOutput)
    close: Callable[[], Awaitable[None]] | None = None
    """Lets go of what the tool holds open, such as the agent it calls; asked when its agent closes."""

    def __post_init__(self) -> None:
        # What such a predicate gives is always true, so a tool meant to be hidden would be shown.
        if self.is_enabled is not None and (
            not callable(self.is_enabled) or inspect.iscoroutinefunction(self.is_enabled)
        ):
            raise UsageError(
                f"is_enabled of tool {self.name!r} must be a plain function of the context; "
                f"got {self.is_enabled!r}."
            )

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name

    @property
    def description(self) -> str:
        """What the model is told it does."""
        return self.spec.description

    def _become(self, other: "Tool") -> None:
        """Take over all of `other`'s fields; for the constructors of subclasses only."""
        for f in fields(Tool):
            object.__setattr__(self, f.name, getattr(other, f.name))

    def replace(self, **changes: Any) -> "Tool":
        """The same tool but for `changes`; always a plain `Tool`."""
        kept = {f.name: getattr(self, f.name) for f in fields(Tool)}
        return Tool(**{**kept, **changes})
