"""Files in a SQL database, shared by sessions and processes."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from toolwright._sealed import Sealed
from toolwright.backends.files._files import ABSENT, Entry, FileChanged, Loaded, version_of
from toolwright.backends.files._paths import virtual_path
from toolwright.backends.files._tree import children, demand_file, demand_no_clash
from toolwright.backends.sql import Database

try:
    from sqlalchemy import (
        Column,
        ColumnElement,
        Connection,
        Integer,
        LargeBinary,
        MetaData,
        Table,
        Text,
        and_,
        or_,
        select,
        text,
    )
except ImportError as error:
    raise ImportError("Files in a database need an extra: pip install 'toolwright[sql]'") from error

__all__ = ["StoreBackend"]

_METADATA = MetaData()
# Ranges of paths must be ranges of bytes, whatever language the database is set to.
_PATH = Text().with_variant(Text(collation="C"), "postgresql")
_FILES = Table(
    "toolwright_files",
    _METADATA,
    Column("namespace", Text, primary_key=True),
    Column("path", _PATH, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("size", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("modified_at", Text, nullable=False),
)
_ALONE = text("SELECT pg_advisory_xact_lock(hashtext('toolwright files'), hashtext(:namespace))")


class StoreBackend(Sealed):
    """Keeps files in a database (`sqlite:///files.db`, `postgresql://…`).

    All sessions that use the same database and `namespace` see the same files. Give each user
    their own with `shared.scoped(user_id)`, which uses the same connections.
    """

    def __init__(self, store: "str | Database", *, namespace: str = "shared") -> None:
        made = Database(store, "files", 1, _METADATA) if isinstance(store, str) else store
        self._database = made
        self._namespace = namespace

    def scoped(self, namespace: str) -> "StoreBackend":
        """The files of another namespace in the same database."""
        return StoreBackend(self._database, namespace=namespace)

    async def ls(self, path: str) -> list[Entry]:
        """What is directly in a directory."""
        path = virtual_path(path)
        query = select(_FILES.c.path, _FILES.c.size, _FILES.c.modified_at).where(self._around(path))
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        files = [Entry(path=row[0], size=row[1], modified_at=row[2]) for row in rows]
        return children(files, path)

    async def read(self, path: str) -> Loaded:
        """A file's bytes."""
        path = virtual_path(path)
        query = select(_FILES.c.data, _FILES.c.version).where(self._is(path))
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            paths = await self._database.read(lambda connection: self._paths(connection, path))
            demand_file(paths, path)
            raise FileNotFoundError(path)
        return Loaded(data=row[0], version=row[1])

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        """Store a file; of two writers that expect the same version, one is refused."""
        path = virtual_path(path)
        version = version_of(data)
        refused = await self._database.write(self._storing(path, data, version, expected))
        if refused is not None:
            raise refused
        return version

    async def close(self) -> None:
        """Let go of the database's connections."""
        await self._database.close()

    def _storing(
        self, path: str, data: bytes, version: str, expected: str | None
    ) -> Callable[[Connection], Exception | None]:
        """The transaction that stores a file; returns what stood in its way."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        values = {"data": data, "size": len(data), "version": version, "modified_at": now}
        new: Any = self._database.insert(_FILES).values(
            namespace=self._namespace, path=path, **values
        )

        def work(connection: Connection) -> Exception | None:
            if not self._database.is_sqlite:
                # Of two writers, one of `/a` and one of `/a/b`, the second must see the first.
                connection.execute(_ALONE, {"namespace": self._namespace})
            try:
                demand_no_clash(set(self._paths(connection, path)) - {path}, path)
            except OSError as clash:
                return clash
            if expected == ABSENT:
                change = new.on_conflict_do_nothing()
            elif expected is None:
                key = ["namespace", "path"]
                change = new.on_conflict_do_update(index_elements=key, set_=values)
            else:
                is_expected = and_(self._is(path), _FILES.c.version == expected)
                change = _FILES.update().where(is_expected).values(**values)
            stored = connection.execute(change.returning(_FILES.c.version)).first()
            if stored is not None:
                return None
            if expected == ABSENT:
                return FileExistsError(path)
            return FileChanged(f"{path} was changed since it was read.")

        return work

    def _is(self, path: str) -> ColumnElement[bool]:
        return and_(_FILES.c.namespace == self._namespace, _FILES.c.path == path)

    def _around(self, path: str) -> ColumnElement[bool]:
        """Everything below `path`, the file itself, and files where its directories should be."""
        prefix = path.rstrip("/") + "/"
        # "0" is the character after "/".
        below = and_(_FILES.c.path >= prefix, _FILES.c.path < prefix[:-1] + "0")
        parts = path.split("/")
        above = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
        return and_(_FILES.c.namespace == self._namespace, or_(below, _FILES.c.path.in_(above)))

    def _paths(self, connection: Connection, path: str) -> list[str]:
        return list(connection.execute(select(_FILES.c.path).where(self._around(path))).scalars())
