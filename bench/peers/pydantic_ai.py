"""pydantic-ai, with its own model for tests."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic_ai import Agent, RequestUsage, Tool, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bench._functions import Function
from bench._script import FINAL, Script

PACKAGE = "pydantic-ai-slim"
# Without usage the test model would count the words of the whole history, each turn.
USED = RequestUsage(input_tokens=1, output_tokens=1)


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        called = script.next_turn()
        if not called:
            return ModelResponse(parts=[TextPart(FINAL)], usage=USED)
        return ModelResponse(
            parts=[
                ToolCallPart(call.name, call.arguments, tool_call_id=call.call_id)
                for call in called
            ],
            usage=USED,
        )

    agent = Agent(FunctionModel(respond), instructions="Add.", tools=functions)
    no_limit = UsageLimits(request_limit=None)

    async def run() -> str:
        return (await agent.run("go", usage_limits=no_limit)).output

    return run


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [Tool(function).tool_def.parameters_json_schema for function in functions]
