"""What the agent loop asks of a language model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from toolwright._sealed import sealed
from toolwright.messages import HistoryView, ModelMessage, ServerTool, ToolCall, ToolSpec

__all__ = ["Delta", "Model", "ModelRequest", "ModelSettings", "OnDelta"]


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """What can be tuned on every provider; a provider ignores what it does not have."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning: Literal["none", "low", "medium", "high"] | None = None
    tool_choice: Literal["auto", "none", "required"] | str = "auto"
    """A tool's name asks for that tool."""
    parallel_tool_calls: bool = True
    timeout: float | None = None
    """Seconds for one request."""
    cache_prompt: bool | Literal["long"] = True
    """Mark the stable beginning of the prompt for the provider's cache, where it must be marked;
    "long" asks for one that lasts: an hour with Anthropic (writing then costs twice the input, and
    not 1.25 times), up to a day with OpenAI."""
    cache_key: str | None = None
    """Requests with the same one are sent where the cache of the earlier ones is, by OpenAI's
    protocol. If unset, OpenAI itself gets one for each conversation."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Put into the provider's request body as it is; what an SDK marks as not given is left out."""

    @property
    def given(self) -> dict[str, Any]:
        """`extra` without the fields that hold an SDK's word for nothing."""
        return {
            key: value for key, value in self.extra.items() if type(value).__name__ not in _NOTHING
        }


_NOTHING = ("NotGiven", "Omit")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One turn: everything a provider needs to be asked."""

    history: HistoryView
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    """The same tuple object from turn to turn while nothing changes, so it can be converted once."""
    found: tuple[ToolSpec, ...] = ()
    """Tools that can be called too, whose definitions are in the conversation: searches have found
    them. For providers that want them here as well; the same tuple object while nothing changes."""
    searches: tuple[str, ...] = ()
    """The names of those among `tools` that find others. With these there is a `call_tool` as well,
    which is for models that cannot be told of tools in the middle of a conversation."""
    server_tools: tuple[ServerTool, ...] = ()
    output_schema: dict[str, Any] | None = None
    """JSON Schema that the final text must fit."""
    settings: ModelSettings = field(default_factory=ModelSettings)
    whole_calls: bool = False
    """Whether each call is also handed on whole, as soon as the model has written it."""
    conversation: str = ""
    """The same for all requests of a conversation; says nothing about whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of a reply that is still being written."""

    kind: Literal["text", "reasoning", "call"]
    text: str = ""
    """A piece of text, of reasoning, or of a call's JSON arguments."""
    index: int = 0
    """Which call of the turn, from 0."""
    name: str = ""
    """The tool's name, with the first piece of a call."""
    call: ToolCall | None = None
    """The whole call, after its last piece: only where `ModelRequest.whole_calls` asks for it."""


OnDelta = Callable[[Delta], None]


@runtime_checkable
class Model(Protocol):
    """A language model that can be asked for its next turn."""

    @property
    def name(self) -> str:
        """`provider:model`, for events and traces."""
        ...

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; raise `ModelError` when there is none.

        With `on_delta` the reply is streamed and its pieces are handed on as they come;
        the returned message is whole either way.
        """
        ...
