from starlette.applications import Starlette

from toolwright import Agent, Runner, tool
from toolwright.backends.files import FilesystemBackend
from toolwright.serve import ServeSettings, Suggestion, Welcome, create_app, serve_app
from toolwright.testing import ScriptedModel, call


@tool(require_confirmation=True)
async def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} is up again"


agent = Agent(
    name="operator",
    description="Looks after the services.",
    model=ScriptedModel(call("restart", service="web"), "Done."),  # or "openai:gpt-5-mini"
    tools=[restart],
)
runner = Runner(agent, app_name="operator", store="sqlite:///operator.db")


def make_app(settings: ServeSettings) -> Starlette:
    return create_app(
        runner,
        settings=settings,
        files=FilesystemBackend("."),
        welcome=Welcome(suggestions=(Suggestion(title="Restart", prompt="Restart the web."),)),
    )


if __name__ == "__main__":
    serve_app(make_app, ServeSettings(port=8765))
