from toolwright import Agent
from toolwright.tasks import Orchestrator

orchestrator = Orchestrator("temporal://127.0.0.1:7233/default", store="postgresql://me@db/tasks")
orchestrator.register(Agent(name="clerk", model="openai:gpt-5-mini"))
