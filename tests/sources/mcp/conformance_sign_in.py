"""A client for the sign-in scenarios of the MCP conformance suite: an agent whose user signs in."""

import sys

import anyio
import httpx2

from toolwright.agent import Agent, Runner
from toolwright.models import ModelRequest
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams, discover_sign_in
from toolwright.testing import ScriptedModel, call

REDIRECT = "http://localhost:3000/callback"


def first_tool(request: ModelRequest) -> object:
    """Call whatever there is to call."""
    return call(request.tools[0].name)


async def main(url: str) -> None:
    scheme, credential = await discover_sign_in(url, redirect_uri=REDIRECT)
    server = McpToolset(
        StreamableHTTPConnectionParams(url),
        name="server",
        auth_scheme=scheme,
        auth_credential=credential,
        required=True,
    )
    # First it signs in, then it calls the server's own tool.
    model = ScriptedModel(call("sign_in_to_server"), first_tool, "Done.")
    agent = Agent(name="a", model=model, tools=[server])
    async with Runner(agent, app_name="t", credentials="memory://") as runner:
        paused = await runner.run("go", session_id="s1")
        (pending,) = paused.pending
        async with httpx2.AsyncClient() as browser:
            sent_back = await browser.get(pending.payload["auth_uri"])
        await runner.answer("s1", pending.call_id, sent_back.headers["location"])
        done = await runner.resume("s1")
    results = [result for m in done.history if m.kind == "tool" for result in m.results]
    assert done.text == "Done.", done
    assert [result.status for result in results] == ["ok", "ok"], results


if __name__ == "__main__":
    anyio.run(main, sys.argv[-1])
