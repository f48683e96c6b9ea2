"""langchain's `create_agent`, on langgraph."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from bench._functions import Function
from bench._script import FINAL, Call, Script

PACKAGE = "langchain"


class ScriptModel(BaseChatModel):
    script: Any

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptModel":
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        called = self.script.next_turn()
        message = (
            AIMessage("", tool_calls=[_called(call) for call in called])
            if called
            else AIMessage(FINAL)
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate()


def _called(call: Call) -> ToolCall:
    return ToolCall(name=call.name, args=json.loads(call.arguments), id=call.call_id)


def as_run(agent: Any) -> Callable[[], Awaitable[str]]:
    async def run() -> str:
        given = {"messages": [{"role": "user", "content": "go"}]}
        result = await agent.ainvoke(given, {"recursion_limit": 10**6})
        return result["messages"][-1].content

    return run


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    model = ScriptModel(script=script)
    return as_run(create_agent(model, tools=list(functions), system_prompt="Add."))


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [
        tool(function, parse_docstring=True).tool_call_schema.model_json_schema()
        for function in functions
    ]
