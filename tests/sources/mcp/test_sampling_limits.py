"""A server that may use the agent's model stays within the limits of the run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from tests.sources.mcp.test_rogue_servers import rogue

from toolwright import Agent, Limits, Runner
from toolwright.messages import ModelMessage, ToolEnded, Usage
from toolwright.models import ModelRequest, ModelSettings
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class PaidModel(ScriptedModel):
    """Each answer costs 500 tokens and half a cent; it says how many it was allowed."""

    async def respond(self, request: ModelRequest, on_delta: Any = None) -> ModelMessage:
        await anyio.lowlevel.checkpoint()  # Others come in between, as with any model.
        reply = await super().respond(request, on_delta)
        return replace(reply, usage=Usage(input_tokens=400, output_tokens=100, cost=0.005))

    @property
    def allowed(self) -> list[int | None]:
        return [request.settings.max_tokens for request in self.requests]


async def sampled(
    number: int, limits: Limits, tmp_path: Path, settings: ModelSettings | None = None
) -> tuple[PaidModel, str, str]:
    """The model, how the run ended, and what the server got when it asked so often at once."""
    model = PaidModel(call("go"), *["said"] * (number + 1))
    server = rogue(f"samples{number}", tmp_path, allow_sampling=True)
    agent = Agent(name="a", model=model, tools=[server], limits=limits, settings=settings)
    async with Runner(agent) as runner:
        result = await runner.run("go")
    [answer] = [event.result for event in result.events if isinstance(event, ToolEnded)]
    return model, result.status, answer.text


@pytest.mark.parametrize(
    ("limits", "named"), [(Limits(tokens=1700), "tokens"), (Limits(cost=0.02), "cost")]
)
async def test_samples_end_where_the_limit_of_the_run_is_however_many_are_asked_for_at_once(
    limits: Limits, named: str, tmp_path: Path
) -> None:
    model, status, answer = await sampled(20, limits, tmp_path)
    assert answer == f"3 given; There are no more samples: the run's limit of {named} is reached."
    assert len(model.requests) == 4
    assert status == "stopped"


async def test_a_sample_has_no_more_tokens_than_the_limit_has_left(tmp_path: Path) -> None:
    model, _, _ = await sampled(5, Limits(tokens=1700), tmp_path)
    assert model.allowed == [None, 1200, 700, 200]


async def test_a_sample_has_no_more_tokens_than_the_agents_own_answers(tmp_path: Path) -> None:
    model, _, _ = await sampled(1, Limits(), tmp_path, ModelSettings(max_tokens=777))
    assert model.allowed == [777, 777, 777]


async def test_one_call_gets_a_hundred_samples(tmp_path: Path) -> None:
    model, status, answer = await sampled(103, Limits(), tmp_path)
    assert answer == "100 given; One call may ask for at most 100 samples."
    assert (len(model.requests), model.allowed[1], status) == (102, 10_000, "done")
