"""What this server is: its agent, its features, its document, and signing in."""

from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from toolwright.agent import Agent
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._workbench import Suggestion, Workbench
from toolwright.serve.guard import sign_in, sign_out

__all__ = ["MetaRoutes"]


class AgentInfo(BaseModel):
    """The agent that is served."""

    name: str
    description: str
    model: str


class Features(BaseModel):
    """What this server can do besides running sessions."""

    tasks: bool
    artifacts: bool
    files: bool
    token: bool
    """Programs must send the token."""


class Info(BaseModel):
    """What this server is."""

    app_name: str
    version: str
    agent: AgentInfo
    features: Features
    notice: str
    suggestions: tuple[Suggestion, ...]


class Health(BaseModel):
    """The server answers."""

    ok: bool
    running: int


class Token(Fields):
    """The token that was printed when the server started."""

    token: str


class MetaRoutes(Routes):
    """The operations about the server itself."""

    tag = "server"

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.document: dict[str, Any] = {}

    @route("GET", "/api/info", returns=Info)
    async def get_info(self, ask: Ask[Nothing, Nothing]) -> Info:
        """What is served here."""
        bench = self.bench
        return Info(
            app_name=bench.runner.app_name,
            version=version("toolwright"),
            agent=_agent(bench.runner.agent),
            features=Features(
                tasks=bench.tasks is not None,
                artifacts=bench.runner.services.artifacts is not None,
                files=bench.files is not None,
                token=bench.settings.token is not None,
            ),
            notice=bench.welcome.notice,
            suggestions=bench.welcome.suggestions,
        )

    @route("GET", "/api/health", returns=Health)
    async def get_health(self, ask: Ask[Nothing, Nothing]) -> Health:
        """Whether the server answers, and how many runs are going."""
        return Health(ok=True, running=self.bench.runs.running)

    @route("POST", "/api/sign-in", body=Token, status=204)
    async def sign_in(self, ask: Ask[Token, Nothing]) -> Response:
        """Trade the token for the page's cookie."""
        return sign_in(ask.request, ask.body.token, self.bench.settings.token)

    @route("POST", "/api/sign-out", status=204)
    async def sign_out(self, ask: Ask[Nothing, Nothing]) -> Response:
        """Give the cookie back."""
        return sign_out()

    @route("GET", "/api/openapi.json", returns=dict[str, Any])
    async def get_openapi(self, ask: Ask[Nothing, Nothing]) -> Response:
        """This document."""
        return JSONResponse(self.document)


def _agent(agent: Any) -> AgentInfo:
    model = agent.model.name if isinstance(agent, Agent) else ""
    return AgentInfo(name=agent.name, description=agent.description, model=model)
