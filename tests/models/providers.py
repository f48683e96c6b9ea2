"""Providers at a loopback server, each with its own words, to test what all of them are sent."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.models import test_anthropic, test_gemini, test_openai, test_openai_chat
from tests.models.wire import Wire

from toolwright.models import AnthropicModel, GeminiModel, Model, OpenAIChatModel, OpenAIModel
from toolwright.testing import CachedRequest, prompt_cache

__all__ = ["PROVIDERS", "SEARCHING", "Provider"]

KEY = "k" * 12


@dataclass
class Provider:
    """One provider at a loopback server: replies in its words, and what it was sent."""

    name: Any
    model: Model
    says: Callable[[str], Any]
    calls: Callable[[int, str, dict[str, Any]], Any]
    wire: Wire
    loads_tools: bool = False
    """Whether it takes tools in the middle of a conversation."""
    replies: int = field(default=0)

    def will(self, *turns: str | tuple[str, dict[str, Any]]) -> None:
        """A text, or a tool and its arguments, for each turn."""
        for turn in turns:
            self.replies += 1
            reply = self.says(turn) if isinstance(turn, str) else self.calls(self.replies, *turn)
            self.wire.will(reply)

    def will_find(self, query: str) -> None:
        """A search for tools, for one turn."""
        self.will(("search_tools", {"query": query}))

    def will_call_found(self, *calls: tuple[str, dict[str, Any]]) -> None:
        """A call of a tool that was found, for each turn."""
        for name, args in calls:
            direct = name, args
            through = "call_tool", {"name": name, "arguments": args}
            self.will(direct if self.loads_tools else through)

    def cached(self) -> list[CachedRequest]:
        return prompt_cache(self.wire.bodies, self.name, model="gemini-2.5-flash")


def _anthropic(wire: Wire, *, loads_tools: bool = False) -> Provider:
    def calls(number: int, name: str, args: dict[str, Any]) -> Any:
        called = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": args}
        return test_anthropic.message(called, stop_reason="tool_use")

    model = AnthropicModel(
        "claude-sonnet-4-5", api_key=KEY, base_url=wire.url, loads_tools=loads_tools
    )
    says = lambda text: test_anthropic.message(test_anthropic.said(text))  # noqa: E731
    return Provider("anthropic", model, says, calls, wire, loads_tools)


def _responses(wire: Wire, *, loads_tools: bool = False) -> Provider:
    def calls(number: int, name: str, args: dict[str, Any]) -> Any:
        if loads_tools and name == "search_tools":
            ids = {"id": f"ts_{number}", "call_id": f"call_{number}", "status": "completed"}
            kind = {"type": "tool_search_call", "execution": "client"}
            return test_openai.response({**kind, **ids, "arguments": args})
        called = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        arguments = {"arguments": json.dumps(args), "status": "completed"}
        return test_openai.response({"type": "function_call", **called, **arguments})

    model = OpenAIModel("gpt-5", api_key=KEY, base_url=wire.url, loads_tools=loads_tools)
    says = lambda text: test_openai.response(test_openai.said(text))  # noqa: E731
    return Provider("openai", model, says, calls, wire, loads_tools)


def _chat(wire: Wire) -> Provider:
    def calls(number: int, name: str, args: dict[str, Any]) -> Any:
        function = {"name": name, "arguments": json.dumps(args)}
        called = {"id": f"call_{number}", "type": "function", "function": function}
        return test_openai_chat.completion(content=None, tool_calls=[called])

    model = OpenAIChatModel("gpt-5", api_key=KEY, base_url=wire.url)
    says = lambda text: test_openai_chat.completion(content=text)  # noqa: E731
    return Provider("openai", model, says, calls, wire)


def _gemini(wire: Wire) -> Provider:
    def calls(number: int, name: str, args: dict[str, Any]) -> Any:
        called = {"name": name, "args": args, "id": f"call_{number}"}
        return test_gemini.response({"functionCall": called})

    model = GeminiModel("gemini-2.5-flash", api_key=KEY, base_url=wire.url)
    says = lambda text: test_gemini.response({"text": text})  # noqa: E731
    return Provider("google", model, says, calls, wire)


PROVIDERS = {"anthropic": _anthropic, "responses": _responses, "chat": _chat, "gemini": _gemini}
SEARCHING = {
    **PROVIDERS,
    "anthropic-loading": partial(_anthropic, loads_tools=True),
    "responses-loading": partial(_responses, loads_tools=True),
}
"""With those that take tools in the middle of a conversation."""
