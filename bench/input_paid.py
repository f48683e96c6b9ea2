"""Input tokens paid for one conversation: 100 turns with 10, 100 and 1,000 tools, by each provider's rules.

The bodies are those that a loopback server received; `toolwright.testing.prompt_cache` says what the
provider's prompt cache would have made of them. Beside them is pydantic-ai, over Chat Completions.

python -m bench.input_paid
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import anyio
from tests.models.providers import SEARCHING, Provider
from tests.models.wire import Wire, running

from toolwright import Agent, Limits, Tool, searchable, tool
from toolwright.testing import CachedRequest, prompt_cache

TURNS, SEARCH_EACH = 100, 20
COUNTS = (10, 100, 1000)
INSTRUCTIONS = "Be brief, and look at everything twice before you answer. " * 40
RESULT = "Nothing of note happened that day. " * 30
WAYS = {
    "anthropic": "Claude",
    "responses": "OpenAI, Responses",
    "chat": "OpenAI, Chat",
    "gemini": "Gemini",
}


def functions(count: int) -> list[Any]:
    """Plain functions that differ in name and description."""
    made = []
    for number in range(count):

        def work(page: int, note: str = "") -> str:
            return RESULT

        work.__name__ = f"work_{number}"
        work.__doc__ = f"Do the work of kind n{number}n, on one page of the book, with a note."
        made.append(work)
    return made


def tools(count: int) -> list[Tool]:
    """The same as tools."""
    return [tool(function) for function in functions(count)]


def _called(turn: int, count: int) -> int:
    """Which tool is called on a turn: another one after each search."""
    return turn // SEARCH_EACH * 2 % count


async def listed(provider: Provider, count: int) -> list[CachedRequest]:
    """With all tools in every request."""
    for turn in range(TURNS):
        provider.will((f"work_{_called(turn, count)}", {"page": turn}))
    return await _paid(provider, tools(count))


async def searched(provider: Provider, count: int) -> list[CachedRequest]:
    """With all of them behind a search, which is asked every twenty turns."""
    for turn in range(TURNS):
        number = _called(turn, count)
        if turn % SEARCH_EACH == 0:
            provider.will_find(f"n{number}n")
        else:
            provider.will_call_found((f"work_{number}", {"page": turn}))
    return await _paid(provider, [searchable(tools(count), limit=1)])


async def _paid(provider: Provider, given: Sequence[Any]) -> list[CachedRequest]:
    provider.will("Done.")
    limits = Limits(turns=TURNS + 1)
    agent = Agent(
        name="a", model=provider.model, instructions=INSTRUCTIONS, tools=given, limits=limits
    )
    result = await agent.run("Go.")
    assert result.text == "Done.", result.reason
    return provider.cached()


async def pydantic_ai(wire: Wire, count: int) -> list[CachedRequest]:
    """pydantic-ai with all tools in every request, over Chat Completions."""
    theirs = __import__("pydantic_ai")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = SEARCHING["chat"](wire)
    for turn in range(TURNS):
        provider.will((f"work_{_called(turn, count)}", {"page": turn}))
    provider.will("Done.")
    model = OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=wire.url, api_key="k" * 12))
    agent = theirs.Agent(model, instructions=INSTRUCTIONS, tools=functions(count))
    no_limit = theirs.UsageLimits(request_limit=None)
    await agent.run("Go.", usage_limits=no_limit)
    return prompt_cache(wire.bodies, "openai", model="gpt-5")


def _row(found: Sequence[CachedRequest]) -> str:
    """Thousands of tokens paid, of those sent."""
    paid, sent = sum(one.paid for one in found), sum(one.tokens for one in found)
    return f"{paid / 1000:8.0f} of {sent / 1000:8.0f}"


async def main() -> None:
    print(f"Thousands of input tokens paid, of those sent, in {TURNS} turns")
    print(f"{'':44}" + "".join(f"{f'{count:,} tools':>22}" for count in COUNTS))
    for kind, label in WAYS.items():
        native = f"{kind}-loading" if f"{kind}-loading" in SEARCHING else kind
        for what, play, way in (("all listed", listed, kind), ("searched", searched, native)):
            rows = []
            for count in COUNTS:
                async with running() as wire:
                    rows.append(_row(await play(SEARCHING[way](wire), count)))
            print(f"{f'toolwright, {label}, {what}':44}" + "".join(f"{r:>22}" for r in rows))
    with contextlib.suppress(ImportError):
        rows = []
        for count in COUNTS:
            async with running() as wire:
                rows.append(_row(await pydantic_ai(wire, count)))
        print(f"{'pydantic-ai, OpenAI, Chat, all listed':44}" + "".join(f"{r:>22}" for r in rows))


if __name__ == "__main__":
    anyio.run(main)
