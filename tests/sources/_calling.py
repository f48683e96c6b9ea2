"""Call one tool by hand, with a context that remembers what the tool showed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright.messages import (
    ModelMessage,
    Pending,
    Redactor,
    Scope,
    StoredAnswer,
    TextPart,
    ToolCall,
)
from toolwright.sources.frameworks._alone import refused_by_itself
from toolwright.tools import (
    Output,
    Services,
    StateTable,
    Tool,
    ToolConfirmation,
    ToolContext,
    accept_answer,
)


@dataclass
class StubRun:
    """As much of a run as a tool from elsewhere can notice."""

    run_id: str = "run"
    agent_name: str = "tester"
    scope: Scope = field(
        default_factory=lambda: Scope(app_name="tests", user_id="ada", session_id="s1")
    )
    deps: Any = None
    user_content: Any = None
    table: StateTable = field(default_factory=StateTable)
    services: Services = field(default_factory=Services)
    redactor: Redactor = field(default_factory=Redactor)
    task_id: str | None = None
    names: tuple[str, ...] = ("tester",)
    asked: str = ""
    unruled: tuple[str, ...] = ("tester",)
    rule_records: list[dict[str, Any]] = field(default_factory=list)
    cost: float = 0.0
    is_tainted: bool = False
    shown: list[tuple[str, Any]] = field(default_factory=list)
    sampled: list[Any] = field(default_factory=list)

    def progress(self, path: str, call_id: str, text: str, data: Any) -> None:
        self.shown.append((text, data))

    def turn_event(self, path: str) -> str:
        """No model has asked for the call."""
        return ""

    def idempotency_key(self, call_id: str) -> str:
        """Nobody goes on with this run."""
        return self.call_key(call_id)

    def call_key(self, call_id: str) -> str:
        """Its id and the call's."""
        return f"{self.run_id}:{call_id}"

    def pending_id(self, ctx: ToolContext) -> str:
        """Nobody waits for an answer here: the call's own id."""
        return ctx.function_call_id

    async def flush(self) -> None:
        """Nothing is stored."""

    async def open_pending(self, ctx: ToolContext, request: Any, *, ran: bool = False) -> None:
        raise AssertionError("tools from elsewhere do not open pending calls themselves")

    async def answer_inside(
        self, ctx: ToolContext, calls: Any, tools: Any, *, free: Any = ()
    ) -> list[Any]:
        raise AssertionError("tools from elsewhere make no calls of their own")

    async def sample(self, prompt: Any, *, instructions: str, max_tokens: int) -> ModelMessage:
        self.sampled.append((prompt, instructions, max_tokens))
        return ModelMessage(parts=(TextPart("sampled"),), model="scripted:test")

    async def check_session(self) -> None:
        """There is none that could be deleted."""

    async def untrusted_in(self, tool: Any, ctx: ToolContext) -> list[Any]:
        """Nothing was read."""
        return []

    def hear(self, text: str, whose: str) -> None:
        """Nobody asks for it."""

    async def stored_events(self) -> list[Any]:
        return []


def context(tool: Tool, run: StubRun | None = None) -> ToolContext:
    return ToolContext(run or StubRun(), ToolCall(call_id="c1", name=tool.name))


async def run_tool(
    tool: Tool,
    arguments: dict[str, Any] | None = None,
    *,
    run: StubRun | None = None,
    confirmation: ToolConfirmation | None = None,
    answers: Sequence[tuple[Output, Any]] = (),
) -> Output:
    """Parse and run, as the dispatcher does; `answers` to what earlier runs have asked."""
    args = tool.parse(json.dumps(arguments or {}))
    ctx = context(tool, run)
    ctx.answers = [_answered(asked, value) for asked, value in answers]
    return await refused_by_itself(tool, args, ctx, confirmation) or await tool.run(args, ctx)


def _answered(asked: Output, value: Any) -> tuple[Pending, StoredAnswer]:
    request = asked.request
    assert request is not None
    pending = Pending(
        call_id="c1", name="tool", kind=request.kind, payload=request.payload, schema=request.schema
    )
    return pending, accept_answer(pending, value)


async def tool_named(toolset: Any, name: str) -> Tool:
    tools = {tool.name: tool for tool in await toolset.list_tools(None)}
    assert name in tools, f"{name} is not among {sorted(tools)}"
    return tools[name]
