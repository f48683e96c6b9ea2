from toolwright import Agent, web_tools
from toolwright.backends import Fetch
from toolwright.testing import ScriptedModel, call

fetch = Fetch(allow_private=["wiki.internal", "10.1.0.0/16"], timeout=10)
model = ScriptedModel(
    call("web_fetch", url="http://169.254.169.254/latest/meta-data/"), "That is not allowed."
)
agent = Agent(name="helper", model=model, tools=web_tools(fetch=fetch))
result = agent.run_sync("Read the machine's metadata")
