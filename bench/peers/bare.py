"""No framework: the loop one would write by hand, with nothing around it."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence

from bench._functions import Function
from bench._script import FINAL, Call, Script

PACKAGE = None


def build(functions: Sequence[Function], script: Script) -> Callable[[], Awaitable[str]]:
    tools = {function.__name__: function for function in functions}

    async def model(history: list[dict]) -> dict:
        called = script.next_turn()
        if not called:
            return {"role": "assistant", "content": FINAL}
        return {"role": "assistant", "tool_calls": called}

    async def answer(call: Call) -> dict:
        function = tools[call.name]
        arguments = json.loads(call.arguments)
        if inspect.iscoroutinefunction(function):
            content = await function(**arguments)
        else:
            content = await asyncio.to_thread(function, **arguments)
        return {"role": "tool", "tool_call_id": call.call_id, "content": content}

    async def run() -> str:
        history: list[dict] = [{"role": "user", "content": "go"}]
        while True:
            reply = await model(history)
            history.append(reply)
            called = reply.get("tool_calls")
            if not called:
                return reply["content"]
            if len(called) == 1:
                history.append(await answer(called[0]))
            else:
                history.extend(await asyncio.gather(*map(answer, called)))

    return run
