"""A server of tools that may be others at each listing, and what its tools have done."""

from typing import Any

from toolwright import Agent, Approve, Result, Runner
from toolwright.messages import ToolSpec
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Output, Tool, ToolContext, Toolset, schema_parser

ran: list[str] = []


class Server(Toolset):
    """A server whose tools may be others at each listing, as an MCP server's may."""

    cache_listing = False

    def __init__(self, **tools: str) -> None:
        super().__init__()
        self.said = tools
        self.more: dict[str, Any] = {}
        self.effects: Any = "write"
        self.source = "mcp:mail"

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return [self._made(name, said) for name, said in self.said.items()]

    def _made(self, name: str, said: str) -> Tool:
        parameters = {
            "type": "object",
            "properties": {"to": {"type": "string"}, **self.more},
            "additionalProperties": False,
        }

        async def run(args: Args, ctx: ToolContext) -> Output:
            ran.append(f"{name} to {args.get('to')}")
            return Output(text="sent")

        return Tool(
            spec=ToolSpec(name=name, description=said, parameters=parameters),
            parse=schema_parser(name, parameters),
            run=run,
            effects=self.effects,
            source=self.source,
        )


def sending(server: Toolset, *script: Any, store: Any = "memory://") -> Runner:
    return Runner(Agent(name="a", model=ScriptedModel(*script), tools=[server]), store=store)


async def answered(runner: Runner, result: Result, answer: Any = None) -> Result:
    [pending] = result.pending
    await runner.answer(result.session_id, pending.call_id, answer or Approve())
    return await runner.resume(result.session_id)


SEND = call("send", to="ann")
