import tempfile

from toolwright import Agent
from toolwright.builtin import SandboxToolset
from toolwright.testing import ScriptedModel, call

model = ScriptedModel(  # in your program: model="openai:gpt-5-mini" or another
    call("execute_python", code="numbers = [3, 1, 2]\nprint(sorted(numbers))"),
    call("execute_bash", command="echo 'hello' > greeting.txt && wc -c greeting.txt"),
    call("execute_python", code="sum(numbers)"),
    "Sorted, written, summed.",
)

workspace = tempfile.mkdtemp()
sandbox = SandboxToolset(workspace)
agent = Agent(name="analyst", model=model, tools=[sandbox])
result = agent.run_sync("Sort 3, 1, 2.")  # a program that goes on closes it: await sandbox.close()
