import anyio

from toolwright import Agent
from toolwright.tasks import Orchestrator, Task
from toolwright.testing import ScriptedModel, call

orchestrator = Orchestrator("sqlite:///research.db")
writer = Agent(name="writer", model=ScriptedModel("A page.", "A page."), description="Writes.")
orchestrator.register(writer)

editor_model = ScriptedModel(
    call("start_writer_tasks", prompts=["Write on whales", "Write on eels"]), "Both are there."
)
editor = Agent(name="editor", model=editor_model, tools=[orchestrator.child_tasks(writer)])
orchestrator.register(editor)


async def main() -> Task:
    worker = orchestrator.worker()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        task_id = await orchestrator.enqueue(editor, "Two pages, please")
        task = await orchestrator.wait(task_id, timeout=60)
        worker.drain()
    await orchestrator.close()
    return task


if __name__ == "__main__":
    print(anyio.run(main).text)
