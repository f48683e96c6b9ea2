"""google-adk, with its runner and sessions in memory."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import types

from bench._functions import Function
from bench._script import FINAL, Call, Script

PACKAGE = "google-adk"
# Without usage it would log a warning, each turn.
USED = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)


class ScriptModel(BaseLlm):
    model: str = "script"
    script: Script

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        called = self.script.next_turn()
        parts = [_called(call) for call in called] if called else [types.Part(text=FINAL)]
        yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=USED)


def _called(call: Call) -> types.Part:
    arguments = json.loads(call.arguments)
    return types.Part(
        function_call=types.FunctionCall(id=call.call_id, name=call.name, args=arguments)
    )


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    model = ScriptModel(script=script)
    agent = LlmAgent(name="bench", instruction="Add.", model=model, tools=list(functions))
    runner = InMemoryRunner(agent, app_name="bench")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    no_limit = RunConfig(max_llm_calls=10**6)

    async def run() -> str:
        session = await runner.session_service.create_session(app_name="bench", user_id="ada")
        text = ""
        async for event in runner.run_async(
            user_id="ada", session_id=session.id, new_message=message, run_config=no_limit
        ):
            if event.content and event.content.parts and event.content.parts[0].text:
                text = event.content.parts[0].text
        return text

    return run


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [FunctionTool(function)._get_declaration() for function in functions]
