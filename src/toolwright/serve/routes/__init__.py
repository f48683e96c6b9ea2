"""The routes, grouped by what they are about."""

from toolwright.serve.routes._artifacts import ArtifactRoutes
from toolwright.serve.routes._files import FileRoutes
from toolwright.serve.routes._links import link_routes
from toolwright.serve.routes._meta import MetaRoutes
from toolwright.serve.routes._pending import PendingRoutes
from toolwright.serve.routes._sessions import SessionRoutes
from toolwright.serve.routes._tasks import TaskRoutes
from toolwright.serve.routes._tools import ToolRoutes

__all__ = [
    "ArtifactRoutes",
    "FileRoutes",
    "MetaRoutes",
    "PendingRoutes",
    "SessionRoutes",
    "TaskRoutes",
    "ToolRoutes",
    "link_routes",
]
