from toolwright import Agent, tool
from toolwright.testing import ScriptedModel, call


class Basket:
    """One customer's basket."""

    def __init__(self) -> None:
        self.items: list[str] = []

    @tool
    def put(self, item: str) -> str:
        """Put something into the basket."""
        self.items.append(item)
        return f"{len(self.items)} in the basket."


mine, yours = Basket(), Basket()
model = ScriptedModel(call("put", item="tea"), "Done.")
result = Agent(name="shop", model=model, tools=[mine.put]).run_sync("Some tea, please.")
print(mine.items, yours.items)  # ['tea'] []
