"""The signature is the schema: nested models, literals and limits are told, and enforced."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from toolwright import Agent, tool
from toolwright.testing import ScriptedModel, call


class Guest(BaseModel):
    """Who comes."""

    name: str
    age: Annotated[int, Field(ge=0)]


@tool
def book_table(guests: list[Guest], room: Literal["inside", "terrace"] = "inside") -> str:
    """Book a table for some guests.

    Args:
        guests: Everybody who comes.
        room: Where they would like to sit.
    """
    return f"A table for {len(guests)} {room}: {guests[0].name} and friends."


model = ScriptedModel(
    call("book_table", guests=[{"name": "Ada", "age": -3}], room="roof"),  # two mistakes
    call("book_table", guests=[{"name": "Ada", "age": "36"}]),  # "36" is harmless and repaired
    "Booked.",
)
agent = Agent(name="waiter", model=model, tools=[book_table])
result = agent.run_sync("A table for Ada")
print(book_table.spec.parameters)
