"""Put the server together: routes, page and guards around one runner."""

from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from toolwright._settings import explained
from toolwright.agent import Runner
from toolwright.backends.files import Files
from toolwright.errors import UsageError
from toolwright.serve._background import Background, StartsWithFirstRequest
from toolwright.serve._endpoint import Endpoint, Routes
from toolwright.serve._links import Links
from toolwright.serve._model_choice import ModelChoice
from toolwright.serve._openapi import openapi_document
from toolwright.serve._patience import Patience
from toolwright.serve._problems import HANDLERS
from toolwright.serve._sessions import Sessions
from toolwright.serve._settings import ServeSettings, is_loopback
from toolwright.serve._tasks import Tasks
from toolwright.serve._workbench import Welcome, Workbench
from toolwright.serve.guard import (
    Door,
    HeadLimit,
    RateLimit,
    SameSiteOnly,
    SecurityHeaders,
    SlowClients,
    TokenCheck,
)
from toolwright.serve.live import LiveRuns, Notices, Streams
from toolwright.serve.routes import (
    ArtifactRoutes,
    FileRoutes,
    MetaRoutes,
    PendingRoutes,
    SessionRoutes,
    TaskRoutes,
    ToolRoutes,
    link_routes,
)

if TYPE_CHECKING:  # tasks need a database library, which a server without them can do without
    from toolwright.tasks import Orchestrator

__all__ = ["create_app"]

_STATIC = Path(__file__).parent / "static"


@explained
def create_app(
    runner: Runner,
    *,
    settings: ServeSettings | None = None,
    files: Files | None = None,
    tasks: "Orchestrator | None" = None,
    links: Links | None = None,
    models: ModelChoice | None = None,
    welcome: Welcome | None = None,
    close: bool = False,
) -> Starlette:
    """An ASGI application that serves `runner` over HTTP, with the workbench as its page.

    `files` are shown beside the conversation, `tasks` beside the sessions; `links` are those that
    tools put into messages; `models` is the agent's model, to be chosen on the page. Runner and
    tasks stay the caller's, unless `close` says that they end with the server.

    It can be mounted in another application, at any path: where the host does not run its
    lifespan, runs and workers start with the first request and end with the event loop.
    """
    settings = settings or ServeSettings()
    if settings.work and tasks is None:
        raise UsageError(
            "ServeSettings(work=True) works on tasks, and there are none: give create_app(…, "
            "tasks=orchestrator), or leave work out."
        )
    notices = Notices()
    runs = LiveRuns(runner, notices)
    bench = Workbench(
        runner=runner,
        settings=settings,
        notices=notices,
        runs=runs,
        sessions=Sessions(runner, runs),
        streams=Streams(settings.max_streams),
        files=files,
        tasks=None if tasks is None else Tasks(tasks),
        models=models,
        welcome=welcome or Welcome(),
        door=None if settings.token is None else Door(settings.token),
    )
    owned = [runner.close, *([tasks.close] if tasks else [])] if close else []
    background = Background(bench, owned)
    app = Starlette(
        routes=_routes(bench, background, links),
        middleware=[
            *_guards(settings),
            Middleware(StartsWithFirstRequest, background=background, door=bench.door),
        ],
        exception_handlers=HANDLERS,
        lifespan=lambda app: background.open(),
    )
    app.state.streams = bench.streams
    return app


def _routes(bench: Workbench, background: Background, links: Links | None) -> list[BaseRoute]:
    meta = MetaRoutes(bench, background)
    groups: list[Routes] = [meta, SessionRoutes(bench), PendingRoutes(bench), ToolRoutes(bench)]
    if bench.runner.services.artifacts is not None:
        groups.append(ArtifactRoutes(bench, bench.runner.services.artifacts))
    if bench.files is not None:
        groups.append(FileRoutes(bench.files))
    if bench.tasks is not None:
        groups.append(TaskRoutes(bench, bench.tasks))
    if bench.settings.agui:
        groups.append(import_module("toolwright.serve.agui").AguiRoutes(bench))
    endpoints: list[Endpoint[Any, Any]] = [e for group in groups for e in group.endpoints()]
    meta.describe = cache(
        partial(
            openapi_document,
            endpoints,
            title=f"{bench.runner.app_name}: Toolwright server",
            version=version("toolwright"),
            token=bench.settings.token is not None,
        )
    )
    locks = [] if bench.door is None else [Middleware(TokenCheck, door=bench.door)]
    routes: list[BaseRoute] = [e.route(bench.settings, locks) for e in endpoints]
    if links is not None:
        routes += link_routes(bench, links)
    return [*routes, Mount("/", _PageFiles(directory=_STATIC, html=True))]


class _PageFiles(StaticFiles):
    """The page's own files: a browser may keep them, and asks whether they have changed."""

    def file_response(self, *args: Any, **settings: Any) -> Response:
        """The file, with its rule for caches."""
        response = super().file_response(*args, **settings)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _guards(settings: ServeSettings) -> list[Middleware]:
    hosts = settings.allowed_hosts
    if not hosts and not is_loopback(settings.host):
        # The token protects a server that is open to the network; its names are not known here.
        hosts = ("*",)
    guards = [
        Middleware(SecurityHeaders),
        Middleware(HeadLimit),
        Middleware(SameSiteOnly, allowed_hosts=hosts),
    ]
    if settings.requests_per_second:
        guards.append(
            Middleware(RateLimit, per_second=settings.requests_per_second, burst=settings.burst)
        )
    patience = Patience(connections=settings.max_connections)
    return [*guards, Middleware(SlowClients, patience=patience)]
