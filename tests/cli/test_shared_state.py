"""`toolwright check` warns of tools that would spoil each other's work side by side."""

from typing import Any

import anyio
import pytest

from toolwright import Agent, tool
from toolwright.cli._check import check_tools
from toolwright.cli._shared_state import shared_state
from toolwright.messages import ToolMessage
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool, Toolset, as_tool, combined

ORDERS: list[str] = []
LIMITS = {"most": 5}


class Cart:
    def __init__(self) -> None:
        self.items: list[str] = []
        self.total = 0

    def put(self, item: str) -> str:
        """Put something into the cart."""
        self.items.append(item)
        return item

    def price(self, amount: int) -> int:
        """Raise the total of the cart."""
        self.total += amount
        return self.total

    def show(self) -> str:
        """Show what is in the cart."""
        shown: list[str] = []
        shown.append(str(self.items))
        return shown[0]


def order(item: str) -> str:
    """Order something."""
    ORDERS.append(item)
    return item


def orders() -> str:
    """List the orders."""
    return str(ORDERS)


def limit() -> int:
    """The most that can be ordered."""
    return LIMITS["most"]


def also_limit() -> int:
    """The most that can be ordered, again."""
    return LIMITS["most"] + len(str(LIMITS))


def names(tools: list[Any]) -> list[tuple[str, list[str], list[str]]]:
    found = shared_state([as_tool(one) for one in tools])
    return [(s.what, [t.name for t in s.writers], [t.name for t in s.others]) for s in found]


def test_methods_of_one_object_share_it() -> None:
    cart = Cart()
    assert names([cart.put, cart.price, cart.show]) == [
        ("one Cart object", ["put", "price"], ["show"])
    ]
    assert names([Cart().put, Cart().show]) == []
    assert names([cart.show]) == []


def test_functions_share_what_is_around_them() -> None:
    counted = {"n": 0}
    number = 0

    def count() -> int:
        """Count."""
        counted["n"] += 1
        return counted["n"]

    def counts() -> int:
        """Say the count."""
        return counted["n"] + number

    assert names([count, counts]) == [("a dict", ["count"], ["counts"])]
    assert names([order, orders]) == [("a list", ["order"], ["orders"])]
    assert names([limit, also_limit]) == []


def test_sequential_tools_and_single_ones_are_fine() -> None:
    cart = Cart()
    assert names([tool(sequential=True)(cart.put), cart.show]) == []
    assert names([cart.put]) == []
    assert names([order, limit]) == []


def test_the_warning_says_with_whom_and_what_to_do() -> None:
    cart = Cart()
    found = check_tools([as_tool(cart.put), as_tool(cart.show)])
    told = [finding.message for finding in found if "side by side" in finding.message]
    assert told == [
        "it changes one Cart object that 'show' also use, and calls of one turn run side by side; "
        "say sequential=True, or lock what it changes"
    ]


class Shop(Toolset):
    sequential = True

    def __init__(self) -> None:
        super().__init__()
        self._cart = Cart()

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return [as_tool(self._cart.put), as_tool(self._cart.show)]


@pytest.mark.anyio
async def test_a_toolset_can_say_that_all_its_tools_run_alone() -> None:
    assert [one.sequential for one in await Shop().list_tools()] == [True, True]
    both = combined([order])
    assert [one.sequential for one in await both.list_tools()] == [False]
    both.sequential = True
    assert [one.sequential for one in await both.list_tools()] == [True]


@pytest.mark.anyio
async def test_their_calls_run_one_after_the_other_in_the_order_of_the_model() -> None:
    running = 0
    most = 0

    async def step(number: int) -> int:
        """Make a step."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return number

    steps = combined([step])
    steps.sequential = True
    model = ScriptedModel([call("step", number=n) for n in range(3)], "Done.")

    result = await Agent(name="a", model=model, tools=[steps]).run("Go")

    [answers] = [message for message in result.history if isinstance(message, ToolMessage)]
    assert (most, [answer.text for answer in answers.results]) == (1, ["0", "1", "2"])
