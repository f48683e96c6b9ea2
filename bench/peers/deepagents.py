"""deepagents' `create_deep_agent`: langchain's agent with planning, files and sub-agents."""

from collections.abc import Awaitable, Callable, Sequence

from deepagents import create_deep_agent

from bench._functions import Function
from bench._script import Script
from bench.peers.langchain import ScriptModel, as_run, schemas

__all__ = ["PACKAGE", "build", "schemas"]

PACKAGE = "deepagents"


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    model = ScriptModel(script=script)
    return as_run(create_deep_agent(model=model, tools=list(functions), system_prompt="Add."))
