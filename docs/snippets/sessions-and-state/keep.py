from toolwright import Agent, Runner
from toolwright.testing import ScriptedModel

model = ScriptedModel("Hello Ada.", "You are Ada.")  # or: "openai:gpt-5-mini"
agent = Agent(name="greeter", model=model)

runner = Runner(agent, app_name="greetings", store="sqlite:///greetings.db")
runner.run_sync("I am Ada", user_id="ada", session_id="s1")

later = Runner(agent, app_name="greetings", store="sqlite:///greetings.db")  # another process
result = later.run_sync("Who am I?", user_id="ada", session_id="s1")
print(result.text, len(result.history))
