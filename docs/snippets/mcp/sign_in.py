import sys

import anyio
import httpx2

from toolwright import Agent, Result, Runner
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams, discover_sign_in
from toolwright.testing import ScriptedModel, call


async def main(url: str) -> Result:
    # Once; keep what it returns, because it registers a client.
    scheme, credential = await discover_sign_in(url, redirect_uri="http://localhost:3000/callback")
    server = McpToolset(
        StreamableHTTPConnectionParams(url),
        name="tracker",
        auth_scheme=scheme,
        auth_credential=credential,
    )
    # Until the user has signed in there is one tool; after that, those of the server.
    model = ScriptedModel(
        call("sign_in_to_tracker"), lambda request: call(request.tools[0].name), "Done."
    )
    agent = Agent(name="office", model=model, tools=[server])
    async with Runner(agent, credentials="memory://") as runner:
        result = await runner.run("What is new?", session_id="s1")
        for pending in result.pending:
            address = await sign_in(pending.payload["auth_uri"])
            await runner.answer("s1", pending.call_id, address)
        return await runner.resume("s1")


async def sign_in(auth_uri: str) -> str:
    """In real life, the user's browser; returns the address it was sent back to."""
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(auth_uri)).headers["location"]


if __name__ == "__main__":
    print(anyio.run(main, sys.argv[-1]).text)
