import asyncio

from toolwright import Agent, AuthConfig, CustomAuthScheme, Result, Runner, ToolContext
from toolwright.testing import ScriptedModel, call

mail = AuthConfig(auth_scheme=CustomAuthScheme(type="http", scheme="bearer"), credential_key="mail")


def send_mail(text: str, tool_context: ToolContext) -> str:
    """Send a mail."""
    credential = tool_context.get_auth_response(mail)
    if credential is None:
        tool_context.request_credential(mail)
        return ""
    return f"sent with {credential.bearer_token}"  # the model reads: sent with [redacted]


async def main() -> Result:
    model = ScriptedModel(call("send_mail", text="Hello"), "Sent.")
    runner = Runner(Agent(name="clerk", model=model, tools=[send_mail]), credentials="memory://")
    paused = await runner.run("Write to Grace", session_id="s1")
    await runner.answer("s1", paused.pending[0].call_id, "the-users-token")
    return await runner.resume("s1")


result = asyncio.run(main())
