"""agno, without telemetry."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools.function import Function as AgnoFunction

from bench._functions import Function
from bench._script import FINAL, Call, Script

PACKAGE = "agno"


@dataclass
class ScriptModel(Model):
    id: str = "script"
    script: Any = None

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        called = self.script.next_turn()
        if not called:
            return ModelResponse(role="assistant", content=FINAL)
        return ModelResponse(role="assistant", tool_calls=[_called(call) for call in called])

    def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        raise TypeError("The benchmark is async.")

    def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
        raise TypeError("The benchmark does not stream.")

    def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
        raise TypeError("The benchmark does not stream.")

    def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def _called(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    agent = Agent(
        model=ScriptModel(script=script),
        instructions="Add.",
        tools=list(functions),
        telemetry=False,
    )

    async def run() -> str:
        return (await agent.arun("go")).content

    return run


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [AgnoFunction.from_callable(function).parameters for function in functions]
