"""Tools of a real MCP Toolbox server over a real database."""

import copy
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import Popen
from typing import Any

import anyio
import pytest
from tests._npm import npm_package
from tests.sources._calling import run_tool, tool_named
from tests.sources._ports import free_port, wait_for_port

from toolwright.errors import ArgumentError, ToolError, UsageError
from toolwright.sources import ToolboxToolset

pytestmark = [pytest.mark.anyio, pytest.mark.npm]
SERVER = ("@toolbox-sdk/server", "1.12.0")
TOOLS = """
kind: source
name: shop
type: sqlite
database: {database}
---
kind: tool
name: find_books
type: sqlite-sql
source: shop
description: Find books by a word in the title.
parameters:
  - name: word
    type: string
    description: A word in the title.
statement: SELECT title, year FROM books WHERE title LIKE '%' || ? || '%'
---
kind: tool
name: orders_of
type: sqlite-sql
source: shop
description: The orders of a customer.
parameters:
  - name: customer
    type: string
    description: Whose orders.
  - name: most
    type: integer
    description: At most so many.
    default: 10
statement: SELECT item FROM orders WHERE customer = ? LIMIT ?
---
kind: tool
name: broken
type: sqlite-sql
source: shop
description: Asks a table that is not there.
statement: SELECT * FROM nowhere
---
kind: toolset
name: library
tools: [find_books]
"""


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Toolbox server over a small shop."""
    folder = tmp_path_factory.mktemp("toolbox")
    with sqlite3.connect(folder / "shop.db") as database:
        database.executescript(
            "CREATE TABLE books (title TEXT, year INT);"
            "INSERT INTO books VALUES ('Dune', 1965), ('Emma', 1815);"
            "CREATE TABLE orders (customer TEXT, item TEXT);"
            "INSERT INTO orders VALUES ('ada', 'Dune'), ('ada', 'Emma'), ('bob', 'Emma');"
        )
    (folder / "tools.yaml").write_text(TOOLS.format(database=folder / "shop.db"))
    binary = next((npm_package(*SERVER).parent / "server-linux-x64").rglob("toolbox"))
    port = free_port()
    command = [str(binary), "--config", str(folder / "tools.yaml"), "--port", str(port)]
    with Popen([*command, "--address", "127.0.0.1"]) as server:
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


async def names(toolset: ToolboxToolset) -> list[str]:
    try:
        return sorted(tool.name for tool in await toolset.list_tools())
    finally:
        await toolset.close()


@pytest.mark.row("004-TB7")
async def test_all_tools_one_toolset_or_some_tools_are_loaded(toolbox: str) -> None:
    assert await names(ToolboxToolset(toolbox)) == ["broken", "find_books", "orders_of"]
    assert await names(ToolboxToolset(toolbox, toolset_name="library")) == ["find_books"]
    assert await names(ToolboxToolset(toolbox, tool_names=["orders_of"])) == ["orders_of"]


async def test_a_tool_asks_the_database(toolbox: str) -> None:
    shop = ToolboxToolset(toolbox)
    try:
        tool = await tool_named(shop, "find_books")
        output = await run_tool(tool, {"word": "un"})
        with pytest.raises(ArgumentError, match="missing required parameter 'word'"):
            await run_tool(tool)
    finally:
        await shop.close()
    assert "Dune" in output.text
    assert "1965" in output.text


async def test_what_the_database_refuses_is_an_error_result(toolbox: str) -> None:
    shop = ToolboxToolset(toolbox)
    try:
        tool = await tool_named(shop, "broken")
        with pytest.raises(ToolError, match="no such table: nowhere"):
            await run_tool(tool)
    finally:
        await shop.close()


@pytest.mark.row("004-TB1", "004-TB2")
async def test_bound_parameters_are_filled_in_and_hidden_from_the_model(toolbox: str) -> None:
    users: list[str] = ["bob"]
    shop = ToolboxToolset(toolbox, bound_params={"customer": lambda: users[0], "most": 1})
    try:
        tool = await tool_named(shop, "orders_of")
        bob = await run_tool(tool)
        users[0] = "ada"
        ada = await run_tool(tool)
        with pytest.raises(ArgumentError):
            await run_tool(tool, {"customer": "bob"})
    finally:
        await shop.close()
    assert tool.spec.parameters["properties"] == {}
    assert "Emma" in bob.text
    assert "Dune" in ada.text


@pytest.mark.parametrize(
    "setting", [{"bound_params": {"custmer": "bob"}}, {"auth_token_getters": {"custmer": str}}]
)
async def test_a_misspelt_binding_is_refused_when_the_tools_are_listed(
    toolbox: str, setting: dict[str, Any]
) -> None:
    shop = ToolboxToolset(toolbox, **setting)
    try:
        with pytest.raises(UsageError, match="'custmer', which no tool of the server has"):
            await shop.list_tools()
    finally:
        await shop.close()


def test_a_toolset_outlives_the_event_loop_it_was_first_used_in(toolbox: str) -> None:
    shop = ToolboxToolset(toolbox)

    async def ask() -> str:
        return (await run_tool(await tool_named(shop, "find_books"), {"word": "Emma"})).text

    assert "1815" in anyio.run(ask)
    assert "1815" in anyio.run(ask)


async def test_an_unreachable_server_has_no_tools_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    assert await names(ToolboxToolset(address)) == []
    assert "is not available" in caplog.text
    with pytest.raises(ToolError, match="is not available"):
        await names(ToolboxToolset(address, required=True))


def test_a_text_where_a_list_of_names_belongs_is_refused() -> None:
    wrong: Any = "orders_of"
    with pytest.raises(UsageError, match="takes a list"):
        ToolboxToolset("http://127.0.0.1:1", tool_names=wrong)


@pytest.mark.filterwarnings("ignore:This connection is using HTTP")
async def test_a_token_is_asked_for_and_sent_with_each_request() -> None:
    seen: list[str | None] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_error(503)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    async def token() -> str:
        return "t0ken"

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        shop = ToolboxToolset(f"http://127.0.0.1:{server.server_port}", credentials=token)
        assert await names(shop) == []
        await shop.close()
        server.shutdown()
    assert set(seen) == {"Bearer t0ken"}


async def test_a_tool_that_is_not_as_it_was_listed_is_not_called(toolbox: str) -> None:
    """A second event loop loads the tools anew, and the server may have others by then."""
    toolset = ToolboxToolset(toolbox, tool_names=["find_books"])
    try:
        tool = await tool_named(toolset, "find_books")
        loaded = await toolset._loaded.get()
        [remote] = loaded.remote
        found = await run_tool(tool, {"word": "nothing-like-it"})
        changed = copy.copy(remote)
        changed._ToolboxTool__description = "Find books, and buy them."  # type: ignore[attr-defined]
        loaded.remote[:] = [changed]
        with pytest.raises(ToolError, match="has changed it since it was listed"):
            await run_tool(tool, {"word": "nothing-like-it"})
        loaded.remote.clear()
        with pytest.raises(ToolError, match="no longer has it"):
            await run_tool(tool, {"word": "nothing-like-it"})
    finally:
        await toolset.close()
    assert found.status == "ok"
