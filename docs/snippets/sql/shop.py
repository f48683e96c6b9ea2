import sqlite3
import tempfile
from pathlib import Path

from toolwright import Agent, SqlToolset
from toolwright.backends import sqlite_address
from toolwright.testing import ScriptedModel, call

path = Path(tempfile.mkdtemp()) / "shop.db"
with sqlite3.connect(path) as database:
    database.execute("CREATE TABLE products (sku TEXT PRIMARY KEY, name TEXT, stock INTEGER)")
    database.execute("INSERT INTO products VALUES ('W-42', 'Widget', 7), ('G-1', 'Gadget', 0)")

model = ScriptedModel(
    call("sql_describe_table", table="products"),
    call("sql_query", query="SELECT name FROM products WHERE stock > :least",
         parameters={"least": 0}),
    call("sql_query", query="DELETE FROM products"),
    "We have widgets.",
)  # fmt: skip
agent = Agent(name="stock", model=model, tools=[SqlToolset(sqlite_address(path))])
result = agent.run_sync("What is in stock?")
