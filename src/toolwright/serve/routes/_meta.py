"""What this server is: its agent, its features, its document, and signing in."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from toolwright.agent import Agent
from toolwright.concurrency import in_io_thread
from toolwright.errors import UsageError
from toolwright.serve._background import Background
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._model_choice import ModelChoice
from toolwright.serve._problems import ProblemError
from toolwright.serve._workbench import Suggestion, Workbench
from toolwright.serve.guard import shown_reason

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


class OfferedModel(BaseModel):
    """A model that can be chosen."""

    title: str
    chosen: bool


class ChooseModel(Fields):
    """Which of the offered models answers from now on."""

    title: str


class Info(BaseModel):
    """What this server is."""

    app_name: str
    version: str
    agent: AgentInfo
    features: Features
    models: list[OfferedModel]
    """Empty where there is nothing to choose."""
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

    def __init__(self, bench: Workbench, background: Background) -> None:
        self.bench = bench
        self.background = background
        self.describe: Callable[[], dict[str, Any]] = dict
        """Makes the document; a server is there at once, and few are asked for it."""

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
            models=_offered(bench.models),
            notice=bench.models.chosen.notice if bench.models else bench.welcome.notice,
            suggestions=bench.welcome.suggestions,
        )

    @route("POST", "/api/model", body=ChooseModel, status=204)
    async def choose_model(self, ask: Ask[ChooseModel, Nothing]) -> None:
        """Choose the model that answers from the next turn on, in all sessions and tasks."""
        if self.bench.models is None:
            raise ProblemError(422, "This server offers no choice of models.")
        try:
            self.bench.models.choose(ask.body.title)
        except UsageError as error:
            raise ProblemError(422, str(error)) from error
        self.bench.notices.reload()

    @route("GET", "/api/health", returns=Health, errors=(503,), is_open=True)
    async def get_health(self, ask: Ask[Nothing, Nothing]) -> Health:
        """Whether all parts of the server work, and how many runs are going."""
        problems, door = self.background.problems(), self.bench.door
        if problems:
            names = " and ".join(problems)
            raise ProblemError(
                503,
                f"The {names} of this server failed; it is tried again and again, and the "
                "server's log has the details.",
                [
                    f"{name}: {shown_reason(why, ask.request.scope, door)}"
                    for name, why in problems.items()
                ],
            )
        return Health(ok=True, running=self.bench.runs.running)

    @route("POST", "/api/sign-in", body=Token, status=204, is_open=True)
    async def sign_in(self, ask: Ask[Token, Nothing]) -> Response:
        """Trade the token for the page's cookie."""
        door = self.bench.door
        return (
            Response(status_code=204) if door is None else door.sign_in(ask.request, ask.body.token)
        )

    @route("POST", "/api/sign-out", status=204)
    async def sign_out(self, ask: Ask[Nothing, Nothing]) -> Response:
        """Give the cookie back."""
        door = self.bench.door
        return Response(status_code=204) if door is None else door.sign_out(ask.request)

    @route("GET", "/api/openapi.json", returns=dict[str, Any])
    async def get_openapi(self, ask: Ask[Nothing, Nothing]) -> Response:
        """This document."""
        mounted_at = ask.request.scope.get("root_path")
        servers = {"servers": [{"url": mounted_at}]} if mounted_at else {}
        document = await in_io_thread(self.describe)
        return JSONResponse({**document, **servers})


def _offered(choice: ModelChoice | None) -> list[OfferedModel]:
    if choice is None:
        return []
    return [OfferedModel(title=o.title, chosen=o is choice.chosen) for o in choice.offers]


def _agent(agent: Any) -> AgentInfo:
    model = agent.model.name if isinstance(agent, Agent) else ""
    return AgentInfo(name=agent.name, description=agent.description, model=model)
