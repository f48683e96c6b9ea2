"""A durable task asks a person by mail; the links in the mail lead to a real web server.

The task survives anything in between: the worker that started it may be gone by the time that the
link is followed, and any other goes on.

    python -m examples.funds_transfer_web
"""

import asyncio
import re
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from toolwright import Agent, ToolContext, deferred_tool
from toolwright.backends import sqlite_address
from toolwright.tasks import Orchestrator, Task
from toolwright.testing import ScriptedModel, call

outbox: list[tuple[str, str]] = []
"""The mails that were sent: to whom, and their text."""
site = "http://127.0.0.1"
"""Where the web server listens, once it does."""


@deferred_tool(timeout=60 * 60)
async def request_fund_transfer(
    amount_cents: int, destination_account: str, ctx: ToolContext
) -> None:
    """Ask the user to approve a transfer of money."""
    address = f"task_id={ctx.task_id}&tool_call_id={ctx.pending_id}"
    body = (
        f"Approve transfer of ${amount_cents / 100:.2f} to {destination_account}?\n"
        f"Approve: {site}/approve-transfer?{address}\n"
        f"Reject: {site}/reject-transfer?{address}"
    )
    outbox.append((ctx.owner_id, body))


def bank(url: str) -> Orchestrator:
    """The agent and the queue that its tasks are in."""
    model = ScriptedModel(
        call("request_fund_transfer", amount_cents=12_500, destination_account="NO-42"),
        "I have passed your decision on.",
    )
    orchestrator = Orchestrator(url)
    orchestrator.register(
        Agent(name="bank", model=model, tools=[request_fund_transfer]), workers=10
    )
    return orchestrator


def website(orchestrator: Orchestrator) -> Starlette:
    """The site behind the links; in production they would be signed, or ask to log in."""

    async def answer(request: Request, status: str) -> PlainTextResponse:
        said = await orchestrator.complete_deferred_tool(
            task_id=request.query_params["task_id"],
            tool_call_id=request.query_params["tool_call_id"],
            result={"status": status},
        )
        return PlainTextResponse(said, 200 if said == "accepted" else 409)

    async def approve(request: Request) -> PlainTextResponse:
        return await answer(request, "approved")

    async def reject(request: Request) -> PlainTextResponse:
        return await answer(request, "rejected")

    return Starlette(
        routes=[Route("/approve-transfer", approve), Route("/reject-transfer", reject)]
    )


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serve on a free port; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


async def transfer(url: str, link: str) -> tuple[Task, list[str]]:
    """Ada asks for a transfer, gets a mail, and follows one of its links, twice."""
    global site
    outbox.clear()
    orchestrator = bank(url)
    worker = orchestrator.worker()
    async with served(website(orchestrator)) as site, anyio.create_task_group() as group:
        group.start_soon(worker.run)
        task_id = await orchestrator.enqueue("bank", "Send $125 to NO-42", owner_id="ada")
        async for event in orchestrator.events(task_id):
            if event.type == "run_ended":  # type: ignore[attr-defined]
                break
        [(_, body)] = outbox
        async with httpx2.AsyncClient() as browser:
            address = re.findall(rf"^{link}: (\S+)$", body, re.MULTILINE)[0]
            said = [(await browser.get(address)).text for _ in range(2)]
        task = await orchestrator.wait(task_id, timeout=30)
        worker.drain()
    await orchestrator.close()
    return task, said


def main(link: str = "Approve") -> tuple[Task, list[str]]:
    """Run the story."""
    with tempfile.TemporaryDirectory() as scratch:
        task, said = asyncio.run(transfer(sqlite_address(Path(scratch) / "tasks.db"), link))
    print(task.status, task.text, said)
    return task, said


if __name__ == "__main__":
    main()
