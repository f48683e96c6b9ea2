"""A tool: what the model is told, how its arguments are read, what then runs, where it came from."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args

from toolwright._sealed import Sealed, sealed
from toolwright._settings import check_fields
from toolwright.errors import UsageError
from toolwright.messages import (
    BlobPart,
    Content,
    Effects,
    Label,
    PendingRequest,
    Status,
    TextPart,
    ToolSpec,
    Trust,
)
from toolwright.tools._arguments import Args
from toolwright.tools._context import ReadonlyContext, SessionInfo, ToolContext
from toolwright.tools._decision import Wish
from toolwright.tools._fingerprint import digest_of
from toolwright.tools._overrides import refuse_overridden, refuse_uncalled
from toolwright.tools._predicates import refuse_always_true

__all__ = [
    "Handler",
    "IsEnabled",
    "Listing",
    "MaxOutput",
    "OnUnknown",
    "Output",
    "Tool",
    "check_trust",
]

_STATUSES: tuple[Status, ...] = get_args(Status)
IsEnabled = Callable[[ReadonlyContext], bool]
OnUnknown = Literal["tell", "ask"]


def check_trust(trust: Any, whose: str) -> None:
    """`UsageError` for what is none of the two."""
    if trust not in get_args(Trust):
        raise UsageError(f"{whose} is 'trusted' or 'untrusted'; got {trust!r}.")


@sealed
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
    failed: bool = False
    """The tool did its work, and what it ran went wrong, such as a command that exited with 1: the
    output reaches the model whole, as that of an error."""
    outcome_unknown: bool = False
    """The call was given up in the middle: it may have taken effect, or still do."""
    request: PendingRequest | None = None
    found: tuple[str, ...] | None = None
    """The names of the tools that a search has found, each with its definition in `text`."""

    def __post_init__(self) -> None:
        if type(self.text) is str and self.parts == () and self.status in _STATUSES:
            return
        check_fields(self)
        if not isinstance(self.parts, tuple):
            object.__setattr__(self, "parts", tuple(self.parts))
            check_fields(self)

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool(Sealed):
    """One thing an agent can do. A value: change it by making another one with `replace`.

    Compared and hashed by identity: two tools that run different functions are never the same. Only
    a method of one object that is a tool is equal to itself, however often it is asked for.
    """

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
    inside: tuple[Any, ...] = ()
    """The agents that it runs, and the tools that it calls itself, inside its own calls."""
    close: Callable[[], Awaitable[None]] | None = None
    """Lets go of what the tool holds open, such as the agent it calls; asked when its agent closes."""
    end_session: Callable[[SessionInfo], Awaitable[None]] | None = None
    """Lets go of what the tool keeps open for one session; asked when that ends or is deleted."""
    confirm: tuple[Wish, ...] = ()
    """Its own wishes to be confirmed; judged with the rules of the run before each call."""
    source: str = ""
    """Where it came from: `mcp:SERVER` (`mcp:NAME@SERVER` where the toolset has a name),
    `openapi:NAME@HOST`, `plugin:NAME`, `toolbox:URL`; empty for code of the program's own."""
    behind: Callable[[], Mapping[str, Any]] | None = None
    """Says what an approval relies on beside what the model is told, as plain JSON: where the
    requests of a tool from outside go, and how they sign in."""
    trust: Trust | None = None
    """Whether what it answers is the program's own, or may be text that anybody has written. As it is
    registered, whatever it is called with and answers: None is `untrusted` for tools from outside."""
    placeholder: bool = False
    """Stands in for tools that cannot be listed yet, such as a sign-in: no filter takes it out."""
    original: "Tool | None" = None
    """For a tool from outside that was renamed or wrapped here: as its source made it."""
    listing: "Listing | None" = None
    """All that its source had when it was listed; filled in by the toolset that lists it."""
    caller: "Tool | None" = None
    """For a search for tools: the one that calls what it has found, where a provider takes no new
    tools in the middle of a conversation."""
    is_found: bool = False
    """Listed because a search has found it; its definition is in the conversation from there on."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        refuse_uncalled(cls)
        refuse_overridden(cls)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sealed", True)
        if self.trust is not None:
            check_trust(self.trust, f"trust of tool {self.name!r}")
        # What such a predicate gives is always true, so a tool meant to be hidden would be shown.
        if self.is_enabled is not None and (
            not callable(self.is_enabled) or inspect.iscoroutinefunction(self.is_enabled)
        ):
            raise UsageError(
                f"is_enabled of tool {self.name!r} must be a plain function of the context; "
                f"got {self.is_enabled!r}."
            )
        if self.is_enabled is not None:
            refuse_always_true(self.is_enabled, f"is_enabled of tool {self.name!r}", may_wait=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name

    @property
    def description(self) -> str:
        """What the model is told it does."""
        return self.spec.description

    @property
    def is_trusted(self) -> bool:
        """Whether what it answers is taken for the program's own."""
        return self.trust == "trusted" or (self.trust is None and not self.source)

    @property
    def label(self) -> Label:
        """What each of its results is at best."""
        if not self.is_trusted:
            return "untrusted"
        return "trusted" if self.effects == "read" else "neutral"

    is_long_running = False
    """Whether it only starts something, and what it answers is not the result."""

    def _get_declaration(self) -> ToolSpec:
        """What the model is told; the name that `BaseTool` has for `spec`."""
        return self.spec

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run it with arguments that fit, as `BaseTool` does; what its function returned."""
        output = await self.run(args, tool_context)
        return output.text if output.value is None else output.value

    @cached_property
    def definition(self) -> dict[str, Any]:
        """All that an approval of this tool relies on, as plain JSON."""
        found: dict[str, Any] = {
            "name": self.spec.name,
            "description": self.spec.description,
            "parameters": self.spec.parameters,
            "effects": self.effects,
            "source": self.source,
        }
        if self.spec.examples:
            found["examples"] = list(self.spec.examples)
        if not self.source:
            return found
        behind = {} if self.behind is None else self.behind()
        return {**found, "returns": self.spec.returns, "idempotent": self.idempotent, **behind}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of `definition`: two tools that differ in any of it have different ones."""
        return digest_of(self.definition)

    @property
    def name_there(self) -> str:
        """Its name among the tools of its source, which views of these may change."""
        return self.name

    @cached_property
    def mark(self) -> str:
        """A digest of what its source says of it, without the name.

        Half as long as others: a session keeps one for each tool of each source that it has seen.
        """
        said = {part: value for part, value in self.definition.items() if part != "name"}
        return digest_of(said)[:32]

    def _become(self, other: "Tool") -> None:
        """Take over all of `other`'s fields; for the constructors of subclasses only."""
        for f in fields(Tool):
            object.__setattr__(self, f.name, getattr(other, f.name))

    def replace(self, **changes: Any) -> "Tool":
        """The same tool but for `changes`; always a plain `Tool`."""
        kept = {f.name: getattr(self, f.name) for f in fields(Tool)}
        if self.source and self.original is None:
            kept["original"] = self
        return Tool(**{**kept, **changes})

    def _how_to_change(self, name: str) -> str:
        of_tool = name in (f.name for f in fields(Tool))
        return f"tool.replace({name}=…)" if of_tool else super()._how_to_change(name)


class Listing:
    """What a source had at one time, all of it: before filters, searches and views hide a part."""

    __slots__ = ("key", "left_out", "tools")

    def __init__(self, key: str, tools: Iterable[Tool]) -> None:
        self.key = key
        """Which source it is, by how it was configured and not by what it says of itself."""
        self.tools = {tool.name_there: tool for tool in tools}
        self.left_out: set[str] = set()
        """The names there of those that nobody is offered, since another tool has their name."""

    def marks(self) -> dict[str, str]:
        """The mark of each tool that is offered, by its name there."""
        return {name: tool.mark for name, tool in self.tools.items() if name not in self.left_out}


# A dataclass's own refusal holds for its fields alone, and does not say what to do instead.
Tool.__setattr__ = Sealed.__setattr__  # type: ignore[method-assign]
Tool.__delattr__ = Sealed.__delattr__  # type: ignore[method-assign]
