"""A deferred tool mails two links and waits; whichever link is followed brings the result."""

import asyncio
from urllib.parse import urlencode, urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from toolwright import Agent, Result, Runner, ToolContext, deferred_tool
from toolwright.testing import ScriptedModel, call

SITE = "https://api.example.com"
outbox: list[tuple[str, str]] = []
"""The mails that were sent: to whom, and their text."""


@deferred_tool(timeout=60 * 60)
async def request_fund_transfer(
    amount_cents: int, destination_account: str, tool_context: ToolContext
) -> None:
    """Ask the user to approve a transfer of money."""
    address = {
        "session_id": tool_context.session.id,
        "tool_call_id": tool_context.current_tool_call_id,
    }
    body = (
        f"Approve transfer of ${amount_cents / 100:.2f} to {destination_account}?\n"
        f"Approve: {SITE}/approve-transfer?{urlencode(address)}\n"
        f"Reject: {SITE}/reject-transfer?{urlencode(address)}"
    )
    outbox.append((tool_context.owner_id, body))


def website(runner: Runner) -> Starlette:
    """The site behind the links; in production they would be signed, or ask to log in."""

    async def answer(request: Request, status: str) -> PlainTextResponse:
        session_id, call_id = (
            request.query_params["session_id"],
            request.query_params["tool_call_id"],
        )
        said = await runner.answer(session_id, call_id, {"status": status})
        if said == "accepted":
            await runner.resume(session_id)
        return PlainTextResponse(f"{said}: {status}")

    async def approve(request: Request) -> PlainTextResponse:
        return await answer(request, "approved")

    async def reject(request: Request) -> PlainTextResponse:
        return await answer(request, "rejected")

    return Starlette(
        routes=[Route("/approve-transfer", approve), Route("/reject-transfer", reject)]
    )


async def transfer(link: str = "Approve") -> tuple[Result, list[str]]:
    """Ada asks for a transfer, gets a mail, and follows one of its links, twice."""
    outbox.clear()
    model = ScriptedModel(
        call("request_fund_transfer", amount_cents=12_500, destination_account="NO-42"),
        "I have passed your decision on.",
    )
    agent = Agent(name="bank", model=model, tools=[request_fund_transfer])
    runner = Runner(agent, app_name="bank")
    paused = await runner.run("Send $125 to NO-42", user_id="ada", session_id="s1")
    assert paused.status == "paused"

    [(_, body)] = outbox
    [followed] = [line for line in body.splitlines() if line.startswith(f"{link}: ")]
    transport = httpx2.ASGITransport(website(runner))
    async with httpx2.AsyncClient(transport=transport, base_url=SITE) as browser:
        parts = urlsplit(followed.removeprefix(f"{link}: "))
        said = [(await browser.get(f"{parts.path}?{parts.query}")).text for _ in range(2)]
    result = await runner.resume("s1")
    print(said, result.text)
    return result, said


def main(link: str = "Approve") -> tuple[Result, list[str]]:
    """Run the story."""
    return asyncio.run(transfer(link))


if __name__ == "__main__":
    main()
