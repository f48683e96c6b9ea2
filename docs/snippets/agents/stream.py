"""The events of a run as they happen."""

import asyncio

from toolwright import Agent
from toolwright.messages import TextDelta, ToolEnded, ToolStarted
from toolwright.testing import ScriptedModel, call


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main() -> list[str]:
    agent = Agent(name="m", model=ScriptedModel(call("add", a=2, b=3), "Five it is."), tools=[add])
    lines = []
    async for event in agent.stream("2 + 3?"):
        match event:
            case TextDelta(text=text):
                lines.append(text)
            case ToolStarted(call=asked):
                lines.append(f"→ {asked.name} {asked.arguments}")
            case ToolEnded(result=answer):
                lines.append(f"← {answer.text}")
    print("\n".join(lines))
    return lines


if __name__ == "__main__":
    asyncio.run(main())
