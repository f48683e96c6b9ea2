"""A session's artifacts: list, read, store."""

from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, Field
from starlette.responses import Response

from toolwright.messages import BlobPart, Scope
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._problems import ProblemError
from toolwright.serve._workbench import Workbench
from toolwright.tools import Artifacts

__all__ = ["ArtifactRoutes", "download"]

_ONE = "/api/sessions/{session_id}/artifacts/{name:path}"


class ArtifactInfo(BaseModel):
    """The newest version of an artifact."""

    name: str
    version: int
    media_type: str
    size: int
    created_at: float


class Version(Fields):
    """Which version."""

    version: int | None = Field(default=None, ge=0, le=2**31)


class ArtifactRoutes(Routes):
    """The operations on artifacts; there are none where the runner keeps no artifacts."""

    tag = "artifacts"

    def __init__(self, bench: Workbench, artifacts: Artifacts) -> None:
        self.artifacts = artifacts
        self.sessions = bench.sessions

    @route("GET", "/api/sessions/{session_id}/artifacts", returns=list[ArtifactInfo], errors=(404,))
    async def list_artifacts(self, ask: Ask[Nothing, Nothing]) -> list[ArtifactInfo]:
        """A session's artifacts, each in its newest version."""
        scope = (await self.sessions.find(ask.path["session_id"])).scope
        names = await self.artifacts.names(scope)
        return [await self._newest(scope, name) for name in names]

    @route("GET", _ONE, query=Version, media_type="application/octet-stream", errors=(404,))
    async def get_artifact(self, ask: Ask[Nothing, Version]) -> Response:
        """An artifact's bytes."""
        row = await self.sessions.find(ask.path["session_id"])
        name = ask.path["name"]
        blob = await self.artifacts.load(row.scope, name, ask.query.version)
        if blob is None:
            raise ProblemError(404, f"There is no artifact {name!r} in that version.")
        return download(name, blob.data or b"", blob.media_type)

    @route("PUT", _ONE, raw_body=True, status=201, returns=ArtifactInfo, errors=(404,))
    async def put_artifact(self, ask: Ask[Any, Nothing]) -> ArtifactInfo:
        """Store a new version of an artifact."""
        row = await self.sessions.find(ask.path["session_id"])
        name = ask.path["name"]
        kind = ask.request.headers.get("content-type", "application/octet-stream")
        blob = BlobPart(media_type=kind, data=ask.content, name=name)
        await self.artifacts.save(row.scope, name, blob)
        return await self._newest(row.scope, name)

    async def _newest(self, scope: Scope, name: str) -> ArtifactInfo:
        newest = (await self.artifacts.versions(scope, name))[-1]
        return ArtifactInfo(
            name=name,
            version=newest.version,
            media_type=newest.media_type,
            size=newest.size,
            created_at=newest.created_at,
        )


def download(name: str, data: bytes, media_type: str) -> Response:
    """Bytes that a browser saves and never runs, whatever they are."""
    filename = quote(name.rsplit("/", 1)[-1], errors="replace")
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{filename}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return Response(data, headers=headers, media_type=media_type)
