"""Gemini's server-side tools, and which of them can be sent beside what else.

Gemini 3 takes them together with functions. Older models take one of them and nothing else, and
a Vertex AI Search data store never mixes: there the tool is offered as a function, and a call to
it is answered with a request of its own.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from google.genai import types

from toolwright.errors import UsageError
from toolwright.messages import ServerTool, ToolSpec
from toolwright.models._server_tools import no_equivalent

__all__ = ["Plan", "plan_tools"]

_NAMES = {
    "google_search": "google_search",
    "web_search": "google_search",
    "url_context": "url_context",
    "web_fetch": "url_context",
    "google_maps_grounding": "google_maps",
    "enterprise_web_search": "enterprise_web_search",
    "vertex_ai_search": "vertex_ai_search",
    "code_execution": "code_execution",
    "file_search": "file_search",
}
_ONLY_VERTEX = frozenset({"enterprise_web_search", "vertex_ai_search"})
_NOT_VERTEX = frozenset({"file_search"})
_TOGETHER = frozenset({"google_search", "url_context", "code_execution"})
"""What older models take together, as long as there are no functions."""
_OFFERS = {
    "google_search": "Search the web with Google. Answers in a few sentences, with sources.",
    "url_context": "Read web pages. Name their full addresses and what you want to know.",
    "google_maps": "Ask Google Maps about places, addresses, ratings and opening hours.",
    "enterprise_web_search": "Search the web. Answers in a few sentences, with sources.",
    "vertex_ai_search": "Search the company's own documents. Answers with sources.",
    "code_execution": "Have Python code written and run for a computation.",
    "file_search": "Search the uploaded files. Answers with sources.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one request's server tools are used."""

    native: tuple[types.Tool, ...] = ()
    """Sent with the request itself."""
    offered: tuple[ToolSpec, ...] = ()
    """Offered as functions …"""
    side: dict[str, types.Tool] | None = None
    """… and, by their name, what a call to them is asked with."""


def plan_tools(
    name: str,
    tools: Sequence[ServerTool],
    *,
    functions: Collection[str],
    mixes: bool,
    vertex: bool,
) -> Plan:
    """Decide what is sent with the request and what is asked apart; `UsageError` if neither can be.

    `functions` are the names of the agent's own tools; `mixes` says whether the model takes its
    provider's tools together with them.
    """
    kinds = [_kind(name, tool, vertex) for tool in tools]
    mixes = mixes and "vertex_ai_search" not in kinds
    if mixes or (not functions and (len(kinds) < 2 or _TOGETHER.issuperset(kinds))):
        return Plan(native=tuple(map(_tool, kinds, tools)))
    for tool in tools:
        _check_can_be_offered(name, tool, functions)
    return Plan(
        offered=tuple(map(_offer, kinds, tools)),
        side={tool.name: _tool(kind, tool) for kind, tool in zip(kinds, tools, strict=True)},
    )


def _check_can_be_offered(name: str, tool: ServerTool, functions: Collection[str]) -> None:
    if tool.settings.get("bypass_multi_tools_limit") is False:
        raise UsageError(
            f"{name!r} cannot use {tool.name!r} beside other tools; pass "
            "bypass_multi_tools_limit=True, and it is asked in a request of its own."
        )
    if tool.name in functions:
        raise UsageError(
            f"A tool of yours has the name of the server-side tool {tool.name!r}; rename yours."
        )


def _kind(name: str, tool: ServerTool, vertex: bool) -> str:
    known = {
        ours
        for ours, theirs in _NAMES.items()
        if theirs not in (_NOT_VERTEX if vertex else _ONLY_VERTEX)
    }
    if tool.name not in known:
        raise no_equivalent(name, tool, known)
    return _NAMES[tool.name]


def _tool(kind: str, tool: ServerTool) -> types.Tool:
    settings = {k: v for k, v in tool.settings.items() if k != "bypass_multi_tools_limit"}
    if kind == "vertex_ai_search":
        return types.Tool(retrieval=types.Retrieval(vertex_ai_search=_made(settings)))
    if kind == "file_search":
        settings["file_search_store_names"] = settings.pop("store_ids")
    return types.Tool.model_validate({kind: settings})


def _made(settings: dict[str, Any]) -> types.VertexAISearch:
    return types.VertexAISearch.model_validate(settings)


def _offer(kind: str, tool: ServerTool) -> ToolSpec:
    request = {"type": "string", "description": "A complete question or task, in plain words."}
    return ToolSpec(
        name=tool.name,
        description=_OFFERS[kind],
        parameters={"type": "object", "properties": {"request": request}, "required": ["request"]},
    )
