"""A tool written by hand over a database: its schema spelled out, its query with bound values."""

import sqlite3
from typing import Any

from toolwright import Agent, BaseTool, Result, ToolContext
from toolwright.messages import ToolSpec
from toolwright.testing import ScriptedModel, call


def catalogue() -> sqlite3.Connection:
    """A small catalogue in memory."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute(
        "CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT, price REAL, stock INT)"
    )
    database.execute("INSERT INTO products VALUES ('WIDGET-42', 'Widget', 9.5, 7)")
    return database


class ProductLookupTool(BaseTool):
    """Looks a product up by its SKU."""

    effects = "read"

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(
            name="lookup_product",
            description="Retrieve a product from the catalogue by its SKU.",
        )
        self.database = database

    def _get_declaration(self) -> ToolSpec:
        sku = {"type": "string", "description": "The SKU, such as 'WIDGET-42'."}
        parameters = {"type": "object", "properties": {"sku": sku}, "required": ["sku"]}
        return ToolSpec(name=self.name, description=self.description, parameters=parameters)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        """Look it up; what the model wrote is bound, never pasted into the query."""
        sku = args["sku"].strip()
        query = "SELECT name, price, stock FROM products WHERE sku = ?"
        row = self.database.execute(query, [sku]).fetchone()
        if row is None:
            return {"error": f"SKU {sku!r} was not found"}
        tool_context.state["last_sku"] = sku
        return dict(zip(("name", "price", "stock"), row, strict=True))


def main() -> Result:
    """Ask for a product that is there, and for one that only looks like it."""
    model = ScriptedModel(
        [call("lookup_product", sku="WIDGET-42"), call("lookup_product", sku="x' OR '1'='1")],
        "The widget costs 9.50, and 7 are in stock.",
    )
    agent = Agent(name="shop", model=model, tools=[ProductLookupTool(catalogue())])
    result = agent.run_sync("How much is a widget?")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
