"""What every memory service must do, as checks that its author can run."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from toolwright.messages import (
    Event,
    MemoryEntry,
    ModelMessage,
    ModelReplied,
    RunStarted,
    Scope,
    Steered,
    TextPart,
    ToolEnded,
    ToolResult,
    UserMessage,
)
from toolwright.testing._checks import run_checks
from toolwright.tools import Memory

__all__ = ["MEMORY_CHECKS", "check_memory"]

ADA = Scope(app_name="app", user_id="ada", session_id="s1")


async def check_memory(factory: Callable[[], Memory]) -> None:
    """Run every check on a fresh, empty service from `factory`; the first failure is raised."""
    await run_checks(MEMORY_CHECKS, factory)


async def check_what_fits_is_found_best_first(memory: Memory) -> None:
    """Other forms of a word and questions in full sentences find it; the rest stays out."""
    await _remember(
        memory,
        "Prefers metric units",
        "Has a dog called Rufus, a dachshund",
        "Works in Bergen",
        "The dog next door barks at night",
    )
    assert (await _found(memory, "What is the name of my dog Rufus?"))[0].startswith("Has a dog")
    assert "Prefers metric units" in await _found(memory, "which unit does the user prefer?")
    assert "Works in Bergen" not in await _found(memory, "dogs")
    assert await _found(memory, "quantum chromodynamics") == []


async def check_any_query_is_taken(memory: Memory) -> None:
    """Quotes, operators and odd characters are words or nothing, never an error."""
    await _remember(memory, "Allergic to nuts")
    for query in (
        "",
        "   ",
        "???",
        "'",
        '"',
        "nuts AND (",
        "nuts:*",
        "a | & !",
        "NEAR(",
        "\0",
        "-x",
    ):
        await memory.search(ADA, query)
    assert await _found(memory, "") == []
    assert await _found(memory, "nuts' OR 1=1 --") == ["Allergic to nuts"]
    assert await _found(memory, "NUTS") == ["Allergic to nuts"]


async def check_limit_is_kept(memory: Memory) -> None:
    """No more than asked for, the best of them."""
    await _remember(memory, *(f"Likes tea number {number}" for number in range(20)))
    found = (await memory.search(ADA, "tea", limit=3)).memories
    assert len(found) == 3
    assert [entry.score for entry in found] == sorted((e.score for e in found), reverse=True)
    assert len((await memory.search(ADA, "tea")).memories) == 10


async def check_entries_come_back_whole(memory: Memory) -> None:
    """Author, time, session and metadata are kept."""
    entry = MemoryEntry(
        content="Birthday on 3 May",
        author="ada",
        created_at=1700000000.5,
        session_id="s7",
        metadata={"source": ["chat", 1]},
    )
    await memory.add(ADA, [entry])
    [found] = (await memory.search(ADA, "birthday")).memories
    assert replace(found, score=0.0) == entry
    await memory.add(ADA, [MemoryEntry(content="Owns a boat")])
    [undated] = (await memory.search(ADA, "boat")).memories
    assert undated.created_at > 0


async def check_users_and_apps_are_apart(memory: Memory) -> None:
    """Another session of the user sees it; other users and apps do not."""
    await _remember(memory, "Owns a sailing boat")
    assert await _found(memory, "boat", replace(ADA, session_id="s2")) != []
    assert await _found(memory, "boat", replace(ADA, user_id="bob")) == []
    assert await _found(memory, "boat", replace(ADA, app_name="other")) == []


async def check_the_same_thing_is_remembered_once(memory: Memory) -> None:
    """Entries and whole sessions can be added again without doubling."""
    await _remember(memory, "Owns a boat", "Owns a boat")
    await _remember(memory, "Owns a boat", " ")
    await memory.add_events(ADA, _conversation())
    await memory.add_events(ADA, _conversation())
    assert await _found(memory, "boat") == ["Owns a boat"]
    assert len(await _found(memory, "harbour")) == 2


async def check_conversations_are_remembered(memory: Memory) -> None:
    """What the person and the agent said, not what tools or agents inside them said."""
    await memory.add_events(ADA, _conversation())
    found = (await memory.search(ADA, "harbour")).memories
    assert {(e.author, e.content, e.session_id, e.created_at) for e in found} == {
        ("user", "Where is the harbour?", "s1", 10.0),
        ("guide", "The harbour is north.", "s1", 11.0),
    }
    assert await _found(memory, "hurry") == ["Please hurry"]
    assert await _found(memory, "secret") == []


MEMORY_CHECKS: tuple[Callable[[Memory], Awaitable[None]], ...] = (
    check_what_fits_is_found_best_first,
    check_any_query_is_taken,
    check_limit_is_kept,
    check_entries_come_back_whole,
    check_users_and_apps_are_apart,
    check_the_same_thing_is_remembered_once,
    check_conversations_are_remembered,
)
"""Each takes a fresh, empty service; its docstring says what it proves."""


async def _remember(memory: Memory, *contents: str) -> None:
    await memory.add(ADA, [MemoryEntry(content=content) for content in contents])


async def _found(memory: Memory, query: str, scope: Scope = ADA) -> list[str]:
    return [entry.content for entry in (await memory.search(scope, query)).memories]


def _said(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


def _conversation() -> Sequence[Event]:
    reply = ModelMessage(parts=(TextPart("The harbour is north."),))
    inside = ModelMessage(parts=(TextPart("secret harbour"),))
    result = ToolResult(
        call_id="c1", name="map", status="ok", content=(TextPart("secret harbour"),)
    )
    return [
        RunStarted(seq=1, message=_said("Where is the harbour?"), at=10.0),
        ModelReplied(seq=2, message=inside, path="c1", at=10.5),
        ToolEnded(seq=3, result=result, at=10.6),
        ModelReplied(seq=4, message=reply, agent="guide", at=11.0),
        Steered(seq=5, message=_said("Please hurry"), at=12.0),
    ]
