"""A hundred sub-agents of a deep agent, side by side: time, threads and memory.

python -m bench.subagents
"""

import json
import resource
import threading
import time

import anyio

from toolwright import Agent, Limits
from toolwright.kits import create_deep_agent
from toolwright.messages import ModelMessage, TextPart, ToolCall, UserMessage
from toolwright.models import ModelRequest, OnDelta

MEGABYTE = 1024  # ru_maxrss counts kilobytes


class Busy:
    """Asks for one plain function (in a thread) and one file per sub-agent, then reports."""

    name = "busy"

    def __init__(self, delegated: int) -> None:
        self.delegated = delegated

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """What comes next, by how far the conversation is."""
        asked = request.history[0]
        assert isinstance(asked, UserMessage)
        if len(request.history) > 1:
            return ModelMessage(parts=(TextPart("done"),))
        if asked.text == "all":
            return ModelMessage(parts=tuple(_task(n) for n in range(self.delegated)))
        path = f"/notes/{asked.text}.txt"
        return ModelMessage(
            parts=(
                _call("c1", "slow", {}),
                _call("c2", "write_file", {"file_path": path, "content": asked.text}),
            )
        )


def _task(number: int) -> ToolCall:
    return _call(f"t{number}", "task", {"description": str(number), "agent": "general_purpose"})


def _call(call_id: str, name: str, arguments: dict[str, str]) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments=json.dumps(arguments))


class Watch:
    """The most threads that were alive at once."""

    most = 0

    def look(self) -> None:
        """Count them now."""
        self.most = max(self.most, threading.active_count())


def deep_agent(delegated: int, watch: Watch) -> Agent:
    """A deep agent that delegates everything in its first turn."""

    def slow() -> str:
        """Block a thread for a moment."""
        time.sleep(0.01)
        watch.look()
        return "ok"

    limits = Limits(turns=None, depth=3)
    return create_deep_agent(model=Busy(delegated), tools=[slow], limits=limits)


async def measure(delegated: int) -> dict[str, float]:
    """One run with that many sub-agents."""
    watch = Watch()
    agent = deep_agent(delegated, watch)
    memory, cpu, began = _peak(), time.process_time(), time.perf_counter()
    result = await agent.run("all")
    assert result.status == "done", result.reason
    files = [key for key in result.state if "file" in key]
    assert files, "the sub-agents' files are in the parent's state"
    return {
        "sub_agents": delegated,
        "seconds": round(time.perf_counter() - began, 3),
        "cpu_ms_each": round((time.process_time() - cpu) * 1000 / delegated, 2),
        "most_threads": watch.most,
        "megabytes_more": round((_peak() - memory) / MEGABYTE, 1),
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Print one line for each size."""
    for delegated in (10, 100, 1000):
        print(json.dumps(anyio.run(measure, delegated)))


if __name__ == "__main__":
    main()
