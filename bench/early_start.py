"""Wall time of a turn with slow tools and a slow stream: reads that start while the model still writes.

python -m bench.early_start
"""

import time
from typing import Any

import anyio

from toolwright import Agent, tool
from toolwright.messages import ModelMessage, TextPart, ToolCall
from toolwright.models import Delta, ModelRequest, OnDelta

UNIT = 0.2
"""Seconds; a tool takes two of these, each of three calls takes one to write."""
LIMIT = 1.05


@tool(effects="read")
async def fetch(number: int) -> str:
    """Fetch a page slowly."""
    await anyio.sleep(2 * UNIT)
    return f"page {number}"


class SlowModel:
    """Writes three calls, one after the other, and then says that it is done."""

    name = "slow:model"

    def __init__(self) -> None:
        self.turns = 0

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The next turn."""
        self.turns += 1
        if self.turns > 1:
            return ModelMessage(parts=(TextPart("done"),))
        calls = []
        for index in range(3):
            await anyio.sleep(UNIT)
            raw = f'{{"number": {index}}}'
            calls.append(ToolCall(call_id=f"c{index}", name="fetch", arguments=raw))
            if on_delta is not None and request.whole_calls:
                on_delta(Delta(kind="call", index=index, call=calls[-1]))
        # The rest of the reply: more text, or calls that have to wait.
        await anyio.sleep(UNIT)
        return ModelMessage(parts=tuple(calls), finish_reason="calls")


async def seconds(**settings: Any) -> float:
    """Of one run."""
    agent = Agent(name="a", model=SlowModel(), tools=[fetch], **settings)
    began = time.perf_counter()
    result = await agent.run("go")
    assert result.text == "done", result.reason
    return time.perf_counter() - began


def main() -> None:
    possible = 5 * UNIT  # the last call is there after three, and takes two
    waits = anyio.run(lambda: seconds(start_early=False))
    early = anyio.run(lambda: seconds(start_early=True))
    over = "" if early <= LIMIT * possible else "  over"
    print(
        f"three slow reads in a slow reply: {waits:.2f} s when they wait for its end, {early:.2f} s "
        f"when they start early ({early / possible:.3f}× of what is possible){over}"
    )


if __name__ == "__main__":
    main()
