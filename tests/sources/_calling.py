"""Call one tool by hand, with a context that remembers what the tool showed."""

import json
from dataclasses import dataclass, field
from typing import Any

from toolwright.messages import ModelMessage, Redactor, Scope, TextPart, ToolCall
from toolwright.tools import Output, Services, StateTable, Tool, ToolConfirmation, ToolContext


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
    shown: list[tuple[str, Any]] = field(default_factory=list)
    sampled: list[Any] = field(default_factory=list)

    def progress(self, path: str, call_id: str, text: str, data: Any) -> None:
        self.shown.append((text, data))

    async def open_pending(self, ctx: ToolContext, request: Any) -> None:
        raise AssertionError("tools from elsewhere do not open pending calls themselves")

    async def answer_inside(self, ctx: ToolContext, calls: Any, tools: Any) -> list[Any]:
        raise AssertionError("tools from elsewhere make no calls of their own")

    def governed(self, tool: Any) -> Any:
        return tool

    async def sample(self, prompt: Any, *, instructions: str, max_tokens: int) -> ModelMessage:
        self.sampled.append((prompt, instructions, max_tokens))
        return ModelMessage(parts=(TextPart("sampled"),), model="scripted:test")

    async def stored_events(self) -> list[Any]:
        return []


def context(
    tool: Tool, run: StubRun | None = None, confirmation: ToolConfirmation | None = None
) -> ToolContext:
    call = ToolCall(call_id="c1", name=tool.name)
    return ToolContext(run or StubRun(), call, tool_confirmation=confirmation)


async def run_tool(
    tool: Tool,
    arguments: dict[str, Any] | None = None,
    *,
    run: StubRun | None = None,
    confirmation: ToolConfirmation | None = None,
) -> Output:
    """Parse and run, as the dispatcher does."""
    args = tool.parse(json.dumps(arguments or {}))
    return await tool.run(args, context(tool, run, confirmation))


async def tool_named(toolset: Any, name: str) -> Tool:
    tools = {tool.name: tool for tool in await toolset.list_tools(None)}
    assert name in tools, f"{name} is not among {sorted(tools)}"
    return tools[name]
