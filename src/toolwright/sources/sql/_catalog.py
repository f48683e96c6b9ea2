"""What a database says about its tables, as the model is shown it."""

from typing import Any

from sqlalchemy import Connection, inspect

__all__ = ["look"]

_MOST_NAMES = 1000


def look(connection: Connection, table: str | None, schema: str | None) -> dict[str, Any]:
    """The names of the tables and views, or what `table` is made of."""
    return _names(connection, schema) if table is None else _description(connection, table, schema)


def _names(connection: Connection, schema: str | None) -> dict[str, Any]:
    found = inspect(connection)
    tables = found.get_table_names(schema=schema)
    views = found.get_view_names(schema=schema)
    listed = {"tables": tables[:_MOST_NAMES], "views": views[:_MOST_NAMES]}
    more = len(tables) > _MOST_NAMES or len(views) > _MOST_NAMES
    return listed | ({"truncated": True} if more else {})


def _description(connection: Connection, table: str, schema: str | None) -> dict[str, Any]:
    found = inspect(connection)
    return {
        "table": table,
        "columns": [_column(column) for column in found.get_columns(table, schema=schema)],
        "primary_key": found.get_pk_constraint(table, schema=schema)["constrained_columns"],
        "foreign_keys": [
            {"columns": key["constrained_columns"], "to": key["referred_table"],
             "to_columns": key["referred_columns"]}
            for key in found.get_foreign_keys(table, schema=schema)
        ],
        "indexes": [
            {"columns": index["column_names"], "unique": bool(index["unique"])}
            for index in found.get_indexes(table, schema=schema)
        ],
    }  # fmt: skip


def _column(column: Any) -> dict[str, Any]:
    told = {"name": column["name"], "type": str(column["type"]), "nullable": column["nullable"]}
    extras = {key: column[key] for key in ("default", "comment") if column.get(key) is not None}
    return told | extras
