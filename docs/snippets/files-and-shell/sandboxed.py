from toolwright import Agent, workspace_tools
from toolwright.backends import Limits, LocalExecutor
from toolwright.testing import ScriptedModel, call

executor = LocalExecutor(".", env={"CI": "1"}, limits=Limits(memory=2 * 1024**3, processes=64))
model = ScriptedModel(call("bash", command="echo $CI; exit 3", timeout=10), "It failed.")
agent = Agent(name="builder", model=model, tools=workspace_tools(".", executor=executor))
result = agent.run_sync("Build it")
