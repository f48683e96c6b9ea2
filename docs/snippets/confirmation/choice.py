import asyncio

from pydantic import BaseModel, Field

from toolwright import Agent, Result, Runner
from toolwright.builtin import ask_user_for, get_user_choice
from toolwright.testing import ScriptedModel, call


class Delivery(BaseModel):
    street: str
    floor: int = Field(default=0, ge=0)


ask_address = ask_user_for(Delivery, name="ask_address", description="Ask where to deliver.")
calls = [call("get_user_choice", options=["tea", "coffee"]), call("ask_address")]
model = ScriptedModel(calls, "Tea for Long Lane 1.")
agent = Agent(name="waiter", model=model, tools=[get_user_choice, ask_address])


async def main() -> Result:
    runner = Runner(agent)
    paused = await runner.run("I am thirsty", session_id="s1")
    choice, form = paused.pending
    print(choice.payload, form.schema)
    await runner.answer("s1", choice.call_id, "tea")
    await runner.answer("s1", form.call_id, {"street": "Long Lane 1", "floor": 2})
    return await runner.resume("s1")


result = asyncio.run(main())
