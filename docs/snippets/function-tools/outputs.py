"""What a function may return: text, data, something for people beside it, an image."""

import base64
from dataclasses import dataclass
from typing import Any

from toolwright import Agent, BlobPart, tool
from toolwright.testing import ScriptedModel, call

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass
class Stock:
    sku: str
    left: int


@tool(effects="read")
def stock(sku: str) -> Stock:
    """How many are left; the model reads JSON."""
    return Stock(sku, 7)


@tool(effects="read")
def customer(user_id: str) -> tuple[str, dict[str, Any]]:
    """Who this is; the model reads the text, a user interface gets the data."""
    return "Ada (ada@example.org)", {"id": user_id, "name": "Ada", "orders": [4, 8]}


@tool(effects="read")
def picture(sku: str) -> BlobPart:
    """The product's picture; the model sees it."""
    return BlobPart(media_type="image/png", data=DOT, name=f"{sku}.png")


turn = [call("stock", sku="T-1"), call("customer", user_id="u1"), call("picture", sku="T-1")]
agent = Agent(name="shop", model=ScriptedModel(turn, "Done."), tools=[stock, customer, picture])
result = agent.run_sync("Tell me about T-1 and u1")
