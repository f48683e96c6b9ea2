"""openai-agents, with tracing off."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from bench._functions import Function
from bench._script import FINAL, Call, Script

PACKAGE = "openai-agents"

set_tracing_disabled(True)


class ScriptModel(Model):
    def __init__(self, script: Script) -> None:
        self.script = script

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        called = self.script.next_turn()
        output = [_called(call) for call in called] if called else [_said(FINAL)]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("The benchmark does not stream.")


def _called(call: Call) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id=call.call_id, name=call.name, arguments=call.arguments, type="function_call"
    )


def _said(text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(
        id="m", content=content, role="assistant", status="completed", type="message"
    )


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    tools = [function_tool(function) for function in functions]
    agent = Agent(name="bench", instructions="Add.", model=ScriptModel(script), tools=tools)

    async def run() -> str:
        return (await Runner.run(agent, "go", max_turns=10**6)).final_output

    return run


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [function_tool(function).params_json_schema for function in functions]
