"""Reading from Cloud Spanner databases, in either of its two dialects."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.errors import ToolError
from toolwright.sources.cloud._calls import Deadline
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig

try:
    from google.cloud import spanner
    from google.cloud.spanner_v1 import param_types
    from google.cloud.spanner_v1.database import Database
except ImportError as error:
    raise ImportError("Spanner tools need an extra: pip install 'toolwright[spanner]'") from error

__all__ = ["DatabaseName", "Dialect", "Rows", "SpannerReader", "identifier"]

Dialect = Literal["GOOGLE_STANDARD_SQL", "POSTGRESQL"]
_DIALECT_QUERY = (
    "SELECT option_value FROM information_schema.database_options "
    "WHERE option_name = 'database_dialect'"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$-]*(\.[A-Za-z_][A-Za-z0-9_$-]*)*\Z")


@dataclass(frozen=True, slots=True)
class DatabaseName:
    """Which database is meant."""

    project_id: str
    instance_id: str
    database_id: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The first rows of a result, and whether there were more."""

    columns: list[str]
    values: list[list[Any]]
    truncated: bool


class SpannerReader:
    """Runs queries in read-only snapshots, so that Spanner itself refuses to change anything."""

    def __init__(self, credentials: GoogleCredentialsConfig | None, timeout: float) -> None:
        self._credentials = credentials
        self._timeout = timeout
        self._clients: dict[str, spanner.Client] = {}
        self._databases: dict[DatabaseName, Database] = {}
        self._dialects: dict[DatabaseName, Dialect] = {}

    def query(
        self, name: DatabaseName, sql: str, values: Sequence[Any] = (), *, limit: int = 10_000
    ) -> Rows:
        """The first `limit` rows. In `sql` the values stand as `{0}`, `{1}` and so on."""
        statement, params = self._bound(name, sql, values) if values else (sql, {})
        with self._database(name).snapshot() as snapshot:
            stream = snapshot.execute_sql(
                statement,
                params=params or None,
                param_types={key: _type_of(value) for key, value in params.items()} or None,
                retry=Deadline(self._timeout),
                timeout=None,
            )
            found: list[list[Any]] = []
            for row in stream:
                if len(found) == limit:
                    return Rows(_columns(stream), found, truncated=True)
                found.append(list(row))
            return Rows(_columns(stream), found, truncated=False)

    def dialect(self, name: DatabaseName) -> Dialect:
        """The SQL dialect of a database; asked of it once."""
        if name not in self._dialects:
            rows = self.query(name, _DIALECT_QUERY).values
            is_postgres = bool(rows) and rows[0][0] == "POSTGRESQL"
            self._dialects[name] = "POSTGRESQL" if is_postgres else "GOOGLE_STANDARD_SQL"
        return self._dialects[name]

    def close(self) -> None:
        """Close the connections."""
        for database in self._databases.values():
            # Not `database.close()`: it waits for a thread that sleeps ten minutes at a time.
            database.spanner_api.transport.close()
        for client in self._clients.values():
            client.close()
        self._databases.clear()
        self._clients.clear()

    def _bound(
        self, name: DatabaseName, sql: str, values: Sequence[Any]
    ) -> tuple[str, Mapping[str, Any]]:
        mark = "$" if self.dialect(name) == "POSTGRESQL" else "@p"
        marks = [f"{mark}{number}" for number in range(1, len(values) + 1)]
        return sql.format(*marks), {f"p{n}": value for n, value in enumerate(values, 1)}

    def _database(self, name: DatabaseName) -> Database:
        if name not in self._databases:
            instance = self._client(name.project_id).instance(name.instance_id)
            self._databases[name] = instance.database(name.database_id)
        return self._databases[name]

    def _client(self, project_id: str) -> spanner.Client:
        if project_id not in self._clients:
            credentials = self._credentials.load() if self._credentials is not None else None
            self._clients[project_id] = spanner.Client(
                project=project_id, credentials=credentials, disable_builtin_metrics=True
            )
        return self._clients[project_id]


def identifier(name: str, dialect: Dialect) -> str:
    """A table, column or model name, quoted; names cannot be bound like values."""
    if not _IDENTIFIER.match(name):
        raise ToolError(f"{name!r} is not a name of a table, column or model.")
    quote = '"' if dialect == "POSTGRESQL" else "`"
    return ".".join(f"{quote}{part}{quote}" for part in name.split("."))


def _columns(stream: Any) -> list[str]:
    return [field.name for field in stream.fields]


def _type_of(value: Any) -> Any:
    if isinstance(value, list):
        return param_types.Array(param_types.FLOAT64)
    return param_types.INT64 if isinstance(value, int) else param_types.STRING
