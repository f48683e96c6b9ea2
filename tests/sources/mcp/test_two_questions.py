"""A server that asks a person twice gets each answer for its own question, in any process."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Elicit, Resolve
from pydantic import BaseModel, Field
from tests.sources.mcp.test_http_servers import free_port

from toolwright import Agent, McpToolset, Result, Runner, UsageError
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class Account(BaseModel):
    account: str = Field(min_length=2)


async def source() -> Elicit[Account]:
    return Elicit("FROM which account?", Account)


async def target(src: Annotated[Account, Resolve(source)]) -> Elicit[Account]:
    return Elicit("TO which account?", Account)


def bank() -> MCPServer:
    server = MCPServer("bank")

    @server.tool()
    async def transfer(
        amount: int,
        src: Annotated[Account, Resolve(source)],
        dst: Annotated[Account, Resolve(target)],
    ) -> str:
        """Move money."""
        return f"moved {amount} from {src.account} to {dst.account}"

    return server


@pytest.fixture
async def address() -> AsyncIterator[str]:
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(bank().streamable_http_app(), port=port, log_level="error")
    )
    async with anyio.create_task_group() as group:
        group.start_soon(server.serve)
        with anyio.fail_after(10):
            while not server.started:  # noqa: ASYNC110 - uvicorn has nothing to wait for
                await anyio.sleep(0.01)
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True


def runner_at(address: str, store: Path, *script: Any) -> Runner:
    agent = Agent(name="a", model=ScriptedModel(*script), tools=[McpToolset(address)])
    return Runner(agent, store=f"sqlite:///{store}/s.db")


@pytest.mark.parametrize("processes", [1, 3])
async def test_both_questions_get_their_own_answers(
    processes: int, address: str, tmp_path: Path
) -> None:
    async with runner_at(address, tmp_path, call("transfer", amount=5), "Done.") as one:
        paused = await one.run("go", session_id="s")
        for question, account in (("FROM", "SOURCE"), ("TO", "TARGET")):
            async with runner_at(address, tmp_path, "Done.") as other:
                runner = one if processes == 1 else other
                paused = await _answer(runner, paused, question, account)
    assert paused.status == "done"
    assert paused.history[-2].results[0].text == "moved 5 from SOURCE to TARGET"  # type: ignore[union-attr]


async def _answer(runner: Runner, paused: Result, question: str, account: str) -> Result:
    (pending,) = paused.pending
    assert pending.kind == "input"
    assert question in pending.hint
    for wrong in ({}, {"account": "x"}, {"account": [1]}, "SOURCE", None):
        with pytest.raises(UsageError, match="does not fit"):
            await runner.answer("s", pending.call_id, wrong)
    assert await runner.answer("s", pending.call_id, {"account": account}) == "accepted"
    return await runner.resume("s")
