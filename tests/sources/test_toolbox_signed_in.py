"""Tools of a real Toolbox server that demand a signed-in person; the tokens are from an issuer here."""

import json
import sqlite3
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from subprocess import Popen
from threading import Thread
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from tests._npm import npm_package
from tests.sources._calling import run_tool, tool_named
from tests.sources._ports import free_port, wait_for_port
from tests.sources.test_toolbox_toolset import SERVER

from toolwright.errors import ToolError
from toolwright.sources import ToolboxToolset

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.npm,
    pytest.mark.filterwarnings("ignore:This connection is using HTTP"),
]
KEY = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
TOOLS = """
kind: source
name: shop
type: sqlite
database: {database}
---
kind: authService
name: desk
type: generic
audience: shop
authorizationServer: {issuer}
---
kind: tool
name: my_orders
type: sqlite-sql
source: shop
description: The orders of whoever has signed in.
parameters:
  - name: customer
    type: string
    description: Whose orders.
    authServices:
      - name: desk
        field: sub
statement: SELECT item FROM orders WHERE customer = ?
---
kind: tool
name: all_orders
type: sqlite-sql
source: shop
description: All orders, for anybody who has signed in.
authRequired: [desk]
statement: SELECT item FROM orders
"""


class Issuer(BaseHTTPRequestHandler):
    """Says where its keys are, and shows them."""

    def do_GET(self) -> None:
        here = f"http://{self.headers['Host']}"
        said: dict[str, Any] = {"issuer": here, "jwks_uri": f"{here}/jwks"}
        if self.path == "/jwks":
            said = {"keys": [KEY.as_dict(private=False)]}
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def toolbox(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("toolbox")
    with sqlite3.connect(folder / "shop.db") as database:
        database.executescript(
            "CREATE TABLE orders (customer TEXT, item TEXT);"
            "INSERT INTO orders VALUES ('ada', 'Dune'), ('bob', 'Emma');"
        )
    config = TOOLS.format(database=folder / "shop.db", issuer=issuer)
    (folder / "tools.yaml").write_text(config)
    binary = next((npm_package(*SERVER).parent / "server-linux-x64").rglob("toolbox"))
    port = free_port()
    words = ["--config", str(folder / "tools.yaml"), "--port", str(port), "--address", "127.0.0.1"]
    with Popen([str(binary), *words]) as server:
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def token(issuer: str, who: str, audience: str = "shop", key: RSAKey = KEY) -> str:
    claims = {"iss": issuer, "aud": audience, "sub": who, "exp": int(time.time()) + 600}
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)


async def test_a_signed_in_person_sees_their_own_rows_and_the_model_cannot_choose_another(
    toolbox: str, issuer: str
) -> None:
    who = ["ada"]
    shop = ToolboxToolset(toolbox, auth_token_getters={"desk": lambda: token(issuer, who[0])})
    try:
        mine = await tool_named(shop, "my_orders")
        everything = await run_tool(await tool_named(shop, "all_orders"))
        ada = await run_tool(mine)
        who[0] = "bob"
        bob = await run_tool(mine)
    finally:
        await shop.close()
    assert mine.spec.parameters["properties"] == {}
    assert ("Dune" in ada.text, "Emma" in ada.text) == (True, False)
    assert ("Dune" in bob.text, "Emma" in bob.text) == (False, True)
    assert ("Dune" in everything.text, "Emma" in everything.text) == (True, True)


@pytest.mark.parametrize("wrong", ["audience", "signature", "none"])
async def test_a_token_that_the_server_does_not_take_is_told(
    toolbox: str, issuer: str, wrong: str
) -> None:
    other = RSAKey.generate_key(2048)
    given = {
        "audience": lambda: token(issuer, "ada", audience="other"),
        "signature": lambda: token(issuer, "ada", key=other),
        "none": lambda: "no token",
    }
    shop = ToolboxToolset(toolbox, auth_token_getters={"desk": given[wrong]})
    try:
        for name in ("my_orders", "all_orders"):
            tool = await tool_named(shop, name)
            with pytest.raises(ToolError, match="auth"):
                await run_tool(tool)
    finally:
        await shop.close()


async def test_without_a_token_the_model_reads_that_one_is_missing(toolbox: str) -> None:
    shop = ToolboxToolset(toolbox)
    try:
        tool = await tool_named(shop, "all_orders")
        with pytest.raises(ToolError, match="desk"):
            await run_tool(tool)
    finally:
        await shop.close()
