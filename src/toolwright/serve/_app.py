"""Put the server together: routes, page and guards around one runner."""

import logging
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from toolwright.agent import Runner
from toolwright.backends.files import Files
from toolwright.errors import ToolwrightError
from toolwright.serve._endpoint import Endpoint, Routes
from toolwright.serve._links import Links
from toolwright.serve._openapi import openapi_document
from toolwright.serve._problems import HANDLERS
from toolwright.serve._sessions import Sessions
from toolwright.serve._settings import ServeSettings, is_loopback
from toolwright.serve._tasks import Tasks
from toolwright.serve._workbench import Welcome, Workbench
from toolwright.serve.guard import RateLimit, SameSiteOnly, SecurityHeaders, TokenCheck
from toolwright.serve.live import LiveRuns, Notices, Streams, watch
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
_RESUMED_AT_START = 200
_log = logging.getLogger(__name__)


def create_app(
    runner: Runner,
    *,
    settings: ServeSettings | None = None,
    files: Files | None = None,
    tasks: "Orchestrator | None" = None,
    links: Links | None = None,
    welcome: Welcome | None = None,
) -> Starlette:
    """An ASGI application that serves `runner` over HTTP, with the workbench as its page.

    `files` are shown beside the conversation, `tasks` beside the sessions; `links` are those that
    tools put into messages. Runner and tasks stay the caller's: they are not closed here.
    """
    settings = settings or ServeSettings()
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
        welcome=welcome or Welcome(),
    )
    app = Starlette(
        routes=_routes(bench, links),
        middleware=_guards(settings),
        exception_handlers=HANDLERS,
        lifespan=_lifespan(bench),
        max_body_size=settings.max_body,
    )
    app.state.streams = bench.streams
    return app


def _routes(bench: Workbench, links: Links | None) -> list[BaseRoute]:
    meta = MetaRoutes(bench)
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
    meta.document = openapi_document(
        endpoints,
        title=f"{bench.runner.app_name}: Toolwright server",
        version=version("toolwright"),
        token=bench.settings.token is not None,
    )
    routes: list[BaseRoute] = [e.route(bench.settings.max_upload) for e in endpoints]
    if links is not None:
        routes += link_routes(bench, links)
    return [*routes, Mount("/", StaticFiles(directory=_STATIC, html=True))]


def _guards(settings: ServeSettings) -> list[Middleware]:
    hosts = settings.allowed_hosts
    if not hosts and not is_loopback(settings.host):
        # The token protects a server that is open to the network; its names are not known here.
        hosts = ("*",)
    guards = [Middleware(SecurityHeaders), Middleware(SameSiteOnly, allowed_hosts=hosts)]
    if settings.requests_per_second:
        guards.append(
            Middleware(RateLimit, per_second=settings.requests_per_second, burst=settings.burst)
        )
    if settings.token is not None:
        guards.append(Middleware(TokenCheck, token=settings.token))
    return guards


def _lifespan(bench: Workbench) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with bench.runs.open(), anyio.create_task_group() as group:
            await _go_on_with_interrupted(bench)
            group.start_soon(watch, bench.notices, lambda: _outlook(bench))
            if bench.tasks is not None and bench.settings.work:
                group.start_soon(bench.tasks.orchestrator.worker().run)
            yield
            group.cancel_scope.cancel()

    return lifespan


async def _outlook(bench: Workbench) -> Hashable:
    """What the lists depend on and other processes may change."""
    calls = await bench.runner.pending()
    if bench.tasks is None:
        return tuple(call.call_id for call in calls)
    tasks = await bench.tasks.orchestrator.list()
    return (
        tuple(call.call_id for call in calls),
        tuple((task.id, task.status) for task in tasks),
        tuple(call.call_id for _, call in await bench.tasks.orchestrator.pending()),
    )


async def _go_on_with_interrupted(bench: Workbench) -> None:
    """Runs that a restart or a crash cut off go on where their log ends."""
    for row in (await bench.runner.sessions())[:_RESUMED_AT_START]:
        if (await bench.sessions.describe(row)).status == "interrupted":
            try:
                await bench.runs.go_on(row)
            except ToolwrightError as error:
                _log.warning("Session %s cannot go on: %s", row.scope.session_id, error)
