"""smolagents' `ToolCallingAgent`, quiet; it is sync, so each run has a thread."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from smolagents import LogLevel, Model, ToolCallingAgent, tool
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)

from bench._functions import Function
from bench._script import FINAL, Call, Script

PACKAGE = "smolagents"
SYNC_ONLY = True


class ScriptModel(Model):
    def __init__(self, script: Script) -> None:
        super().__init__(model_id="script")
        self.script = script

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        called = self.script.next_turn() or [
            Call("final", "final_answer", json.dumps({"answer": FINAL}))
        ]
        return ChatMessage(
            role=MessageRole.ASSISTANT, content="", tool_calls=[_called(call) for call in called]
        )


def _called(call: Call) -> ChatMessageToolCall:
    function = ChatMessageToolCallFunction(name=call.name, arguments=json.loads(call.arguments))
    return ChatMessageToolCall(function=function, id=call.call_id, type="function")


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    tools = [tool(function) for function in functions]

    # An agent keeps its conversation, so runs side by side need one each.
    def run() -> str:
        agent = ToolCallingAgent(
            tools, ScriptModel(script), max_steps=10**6, verbosity_level=LogLevel.OFF
        )
        return str(agent.run("go"))

    async def in_thread() -> str:
        return await asyncio.to_thread(run)

    return in_thread


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [tool(function).inputs for function in functions]
