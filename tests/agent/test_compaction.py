"""Long histories are shortened rarely, in large steps, and with what the provider's cache holds."""

from typing import Any

import pytest

from toolwright import Agent, AgentTool, Limits, ModelError, Runner, searchable, tool
from toolwright.agent import Compaction
from toolwright.messages import (
    HistoryCompacted,
    ModelMessage,
    TextPart,
    ToolMessage,
    ToolResult,
    Usage,
)
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "once upon a time " * 100


def reads(tokens: int, page: int = 1) -> ModelMessage:
    return ModelMessage(parts=(call("read", page=page),), usage=Usage(input_tokens=tokens))


def says(text: str, tokens: int = 0) -> ModelMessage:
    return ModelMessage(parts=(TextPart(text),), usage=Usage(input_tokens=tokens))


def agent_of(scripted: ScriptedModel, *, max_tokens: int = 1000, **more: Any) -> Agent:
    made = Compaction(max_tokens=max_tokens, keep_messages=2, **more)
    return Agent(name="a", model=scripted, instructions="Be kind.", tools=[read], compaction=made)


def compactions(result: Any) -> int:
    return len([event for event in result.events if isinstance(event, HistoryCompacted)])


def results(messages: Any) -> list[ToolResult]:
    return [one for m in messages if isinstance(m, ToolMessage) for one in m.results]


async def test_the_summary_is_asked_for_in_the_conversation_itself() -> None:
    model = ScriptedModel(reads(10), reads(2000), says("They read."), "Done.")
    await agent_of(model).run("Read.")

    _, before, asked, after = model.requests
    assert (asked.instructions, asked.tools, asked.settings) == (
        before.instructions,
        before.tools,
        before.settings,
    )
    assert list(asked.history)[: len(before.history)] == list(before.history)
    assert "call no tool" in str(asked.history[-1])
    assert "They read." in str(after.history[0])
    assert len(after.history) == 3


async def test_a_model_that_calls_instead_or_cannot_take_so_much_gets_a_transcript() -> None:
    def refuses(request: Any) -> ModelMessage:
        raise ModelError("too long", reason="bad_request")

    for reply in (reads(2000), refuses):
        model = ScriptedModel(reads(10), reads(2000), reply, says("They read."), "Done.")
        result = await agent_of(model).run("Read.")
        assert result.text == "Done."
        *_, transcript, after = model.requests
        assert len(transcript.history) == 1
        assert "They read." in str(after.history[0])


async def test_another_model_gets_a_transcript() -> None:
    writer = ScriptedModel("They read.")
    model = ScriptedModel(reads(10), reads(2000), "Done.")
    await agent_of(model, model=writer).run("Read.")
    assert len(writer.requests[0].history) == 1
    assert not writer.requests[0].tools


@pytest.mark.parametrize(("later", "times"), [([1100, 1200, 1249], 1), ([1100, 1251], 2)])
async def test_it_is_done_again_when_there_is_a_quarter_more(later: list[int], times: int) -> None:
    """What is kept may be too long by itself: then each turn would summarise."""
    turns: list[Any] = [reads(10), reads(2000), says("A summary."), reads(1000)]
    turns += [reads(tokens) for tokens in later]
    turns += [says("A summary.")] * (times - 1) + ["Done."]
    result = await agent_of(ScriptedModel(*turns)).run("Read.")
    assert (compactions(result), result.text) == (times, "Done.")


async def test_when_it_was_last_done_is_known_after_a_restart(tmp_path: Any) -> None:
    async def run(*turns: Any) -> Any:
        agent = agent_of(ScriptedModel(*turns))
        async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
            return await runner.run("Read.", session_id="s")

    first = await run(reads(10), reads(2000), says("A summary."), says("Done.", 1100))
    second = await run(says("Done.", 1200))
    assert (compactions(first), compactions(second)) == (1, 0)


async def test_old_results_are_cleared_at_once_where_that_frees_enough() -> None:
    model = ScriptedModel(*[reads(10, page) for page in range(3)], reads(2000, 3), "Done.")
    result = await agent_of(model, clear_results=True).run("Read.")

    assert compactions(result) == 1
    *old, last = results(model.requests[-1].history)
    assert [one.text for one in old] == [
        "[This result of 1,708 letters was cleared; call the tool again if you need it.]"
    ] * 3
    assert last.text.startswith("page 3: once")
    assert len(model.requests) == 5


async def test_results_that_would_free_little_are_left_and_summarised() -> None:
    model = ScriptedModel(reads(10), reads(9000), says("A summary."), "Done.")
    result = await agent_of(model, clear_results=True, max_tokens=4000).run("Read.")
    assert compactions(result) == 1
    assert "A summary." in str(model.requests[-1].history[0])


async def test_what_a_search_has_found_is_not_cleared() -> None:
    clearing = Compaction(max_tokens=100, keep_messages=2, clear_results=True)
    found = searchable([read], limit=1)
    searched = call("search_tools", query="page")
    model = ScriptedModel(searched, reads(10), reads(10), reads(2000), "Done.")
    result = await Agent(name="a", model=model, tools=[found], compaction=clearing).run("Read.")
    search, one, *_ = results(model.requests[-1].history)
    assert search.text.startswith("You can call these tools")
    assert "was cleared" in one.text
    assert compactions(result) == 1


async def test_a_summary_that_was_paid_for_is_stored_before_the_next_request() -> None:
    class Dying(ScriptedModel):
        async def respond(self, request: Any, on_delta: Any = None) -> ModelMessage:
            if len(self.requests) == 3:
                raise KeyboardInterrupt
            return await super().respond(request, on_delta)

    first = Dying(reads(10), reads(2000), says("They read."))
    async with Runner(agent_of(first)) as runner:
        with pytest.raises(KeyboardInterrupt):
            await runner.run("Read.", session_id="s")
        stored = [type(event) for event in await runner.events("s")]
        assert HistoryCompacted in stored
        then = ScriptedModel("Done.")
        done = await Runner(agent_of(then), store=runner.store).resume("s")
    assert (done.status, len(then.requests)) == ("done", 1)


def costs(text: str, cost: float) -> ModelMessage:
    return ModelMessage(parts=(TextPart(text),), usage=Usage(output_tokens=100, cost=cost))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("by", ["itself", "another", "both"])
async def test_whoever_goes_on_after_a_crash_knows_what_a_summary_has_cost(
    by: str, inside: bool
) -> None:
    own = {"itself": [costs("Short.", 3.0)], "another": [], "both": [costs("", 2.0)]}[by]
    own += [costs("Short.", 1.0)] if by == "both" else []
    more: Any = {"model": ScriptedModel(costs("Short.", 3.0))} if by == "another" else {}
    agent = agent_of(ScriptedModel(reads(10), reads(2000), *own, reads(10), *["Done."] * 9), **more)
    outer = ScriptedModel(call("a", request="x"), *["Fine."] * 9)

    def runner_with(limits: Limits, **settings: Any) -> Runner:
        around = Agent(name="b", model=outer, tools=[AgentTool(agent)], limits=limits)
        return Runner(around if inside else agent.replace(limits=limits), **settings)

    runner = runner_with(Limits(cost=2.5))
    result = await runner.run("Read.", session_id="s")
    assert (result.status, result.usage.cost) == ("stopped", 3.0)

    [compacted] = [e for e in await runner.events("s") if isinstance(e, HistoryCompacted)]
    assert compacted.usage.cost == 3.0
    await runner.branch("s", new_id="died", upto=compacted.seq)
    again = await runner.resume("died")
    assert (again.status, again.reason) == (result.status, result.reason)
    # It is counted once, also where the end of the run has told it.
    more_money = runner_with(Limits(cost=5.0), store=runner.store)
    assert (await more_money.run("Go on.", session_id="s")).status == "done"
