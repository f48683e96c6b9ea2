"""This library."""

from collections.abc import Awaitable, Callable, Sequence

from bench._functions import Function
from bench._script import FINAL, Script
from toolwright import Agent, FunctionTool, Limits, Rule, rules
from toolwright.messages import ModelMessage, TextPart, ToolCall
from toolwright.models import ModelRequest, OnDelta
from toolwright.tools import Policy

PACKAGE = "toolwright"


class ScriptModel:
    """Plays a script; `toolwright.testing.ScriptedModel` would keep every request it saw."""

    name = "script"

    def __init__(self, script: Script) -> None:
        self.script = script

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        called = self.script.next_turn()
        if not called:
            return ModelMessage(parts=(TextPart(FINAL),))
        return ModelMessage(
            parts=tuple(
                ToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
                for call in called
            )
        )


def agent(
    functions: Sequence[object], script: Script, name: str = "bench", policy: Policy | None = None
) -> Agent:
    return Agent(
        name=name,
        policy=policy,
        model=ScriptModel(script),
        instructions="Add.",
        tools=functions,
        limits=Limits(turns=None),
    )


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    built = agent(functions, script)

    async def run() -> str:
        return (await built.run("go")).text

    return run


def build_with_rules(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    policy = rules(
        Rule.deny("forecast_*", when="city == 'Atlantis'"),
        Rule.ask(effects="destructive"),
        Rule.allow("add", when="a < 1_000_000"),
        otherwise="ask",
    )
    built = agent(functions, script, policy=policy)

    async def run() -> str:
        return (await built.run("go")).text

    return run


def build_with_sub_agent(
    functions: Sequence[Function], inner: Script, outer: Script
) -> Callable[[], Awaitable[str]]:
    from toolwright import AgentTool

    return build([AgentTool(agent(functions, inner, name="helper"))], outer)


def schemas(functions: Sequence[Function]) -> list[dict]:
    return [FunctionTool(function).spec.parameters for function in functions]
