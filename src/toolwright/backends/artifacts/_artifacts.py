"""Versioned files of sessions and users, on whatever keeps the bytes."""

import json
import mimetypes
import re
import time
import uuid
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

import anyio

from toolwright._sealed import Sealed
from toolwright.backends.artifacts._blobs import DATA, Blobs
from toolwright.backends.artifacts._names import plain_name, safe_name
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.messages import ArtifactVersion, BlobPart, Content, Scope, TextPart, jsonable

__all__ = ["BlobArtifacts"]

_USER = "user:"
_LONGEST_NAME = 255


class BlobArtifacts(Sealed):
    """Keeps the versions of `app/user/session/name` as numbered records, beside their bytes.

    A record is written after its bytes and never replaced, so that several processes can save
    the same name at once: each gets a number of its own, and no half version is ever seen.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def save(
        self, scope: Scope, filename: str, part: Content, metadata: dict[str, Any] | None = None
    ) -> int:
        """Store a new version and return its number, from 0."""
        folder = _folder(scope, filename)
        data, media_type = _content(filename, part)
        key = f"{DATA}/{folder}/{uuid.uuid4().hex}{_suffix(filename)}"
        await self._blobs.create(key, data)
        version = await self._next(folder)
        while True:
            record = ArtifactVersion(
                filename=filename,
                version=version,
                media_type=media_type,
                size=len(data),
                canonical_uri=self._blobs.uri(key),
                created_at=time.time(),
                custom_metadata=jsonable(metadata or {}),
            )
            body = json.dumps({"key": key, **asdict(record)}).encode()
            if await self._blobs.create(f"{folder}/{_record(version)}", body):
                return version
            version += 1

    async def load(
        self, scope: Scope, filename: str, version: int | None = None
    ) -> BlobPart | None:
        """One version, the newest if none is named; None where there is none."""
        folder = _folder(scope, filename)
        if version is None:
            version = await self._next(folder) - 1
        body = await self._blobs.get(f"{folder}/{_record(version)}") if version >= 0 else None
        if body is None:
            return None
        record = json.loads(body)
        data = await self._blobs.get(record["key"])
        if data is None:
            raise StoreError(f"Artifact {filename!r} has lost its bytes at {record['key']!r}.")
        return BlobPart(media_type=record["media_type"], data=data, name=filename)

    async def names(self, scope: Scope) -> list[str]:
        """All names, sorted."""
        own = await self._names(_home(scope, user=False))
        shared = await self._names(_home(scope, user=True))
        return sorted([*own, *(_USER + name for name in shared)])

    async def versions(self, scope: Scope, filename: str) -> list[ArtifactVersion]:
        """All versions of one name, oldest first."""
        folder = _folder(scope, filename)
        found: dict[str, bytes | None] = {}

        async def read(name: str) -> None:
            found[name] = await self._blobs.get(f"{folder}/{name}")

        async with anyio.create_task_group() as tasks:
            for name in await self._blobs.children(folder):
                tasks.start_soon(read, name)
        return [_version(body) for _, body in sorted(found.items()) if body is not None]

    async def delete(self, scope: Scope, filename: str) -> None:
        """Forget all versions of one name."""
        folder = _folder(scope, filename)
        # Records first: bytes without a record are not seen by anyone.
        for place in (folder, f"{DATA}/{folder}"):
            await self._empty(place)

    async def delete_session(self, scope: Scope) -> None:
        """Forget all that belongs to the session; what belongs to the user stays."""
        home = _home(scope, user=False)
        # Bytes are listed by themselves: those of what was cut short have no record.
        for place in (home, f"{DATA}/{home}"):
            for name in await self._blobs.children(place):
                await self._empty(f"{place}/{name}")

    async def _empty(self, folder: str) -> None:
        for name in await self._blobs.children(folder):
            await self._blobs.delete(f"{folder}/{name}")

    async def _names(self, home: str) -> list[str]:
        segments = await self._blobs.children(home)
        return [plain_name(s) or await self._recorded_name(f"{home}/{s}") for s in segments]

    async def _recorded_name(self, folder: str) -> str:
        records = await self._blobs.children(folder)
        body = await self._blobs.get(f"{folder}/{records[0]}") if records else None
        return json.loads(body)["filename"].removeprefix(_USER) if body else ""

    async def _next(self, folder: str) -> int:
        records = await self._blobs.children(folder)
        return int(records[-1].removesuffix(".json")) + 1 if records else 0


def _home(scope: Scope, *, user: bool) -> str:
    mine = f"artifacts/{safe_name(scope.app_name)}/{safe_name(scope.user_id)}"
    return f"{mine}/user" if user else f"{mine}/sessions/{safe_name(scope.session_id)}"


def _folder(scope: Scope, filename: str) -> str:
    if not isinstance(filename, str):
        raise UsageError(f"An artifact's name is text; got {filename!r}.")
    user = filename.startswith(_USER)
    name = filename.removeprefix(_USER)
    if not name or len(name) > _LONGEST_NAME:
        raise ToolError(
            f"{filename!r} cannot name an artifact: use 1 to {_LONGEST_NAME} characters, "
            f"after 'user:' where there is one; this has {len(name)}."
        )
    return f"{_home(scope, user=user)}/{safe_name(name)}"


def _record(version: int) -> str:
    return f"{version:08d}.json"


def _suffix(filename: str) -> str:
    suffix = PurePosixPath(filename).suffix
    return suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,10}", suffix) else ""


def _content(filename: str, part: Content) -> tuple[bytes, str]:
    if isinstance(part, TextPart):
        guessed, _ = mimetypes.guess_type(filename)
        text_type = guessed if guessed and guessed.startswith("text/") else "text/plain"
        return part.text.encode(), text_type
    if not isinstance(part, BlobPart):
        raise UsageError(
            f"Artifact {filename!r} has to be a TextPart('…') or a BlobPart(media_type=…, data=…); "
            f"got {type(part).__name__}."
        )
    if part.data is None:
        raise ToolError(
            f"Artifact {filename!r} has no bytes, only the address {part.url!r}; fetch it first."
        )
    return part.data, part.media_type


def _version(body: bytes) -> ArtifactVersion:
    fields = json.loads(body)
    del fields["key"]
    return ArtifactVersion(**fields)
