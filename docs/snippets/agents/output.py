"""A final answer with a schema; tools can be used on the way to it."""

from pydantic import BaseModel

from toolwright import Agent
from toolwright.testing import ScriptedModel, call


class Report(BaseModel):
    city: str
    celsius: float


def measure(city: str) -> float:
    """Measure the temperature."""
    return 25.4


model = ScriptedModel(
    call("measure", city="Ghent"),
    '{"city": "Ghent"}',  # does not fit: the model is told what is missing and asked again
    '{"city": "Ghent", "celsius": 25.4}',
)
agent = Agent(name="thermometer", model=model, tools=[measure], output_schema=Report)
report = agent.run_sync("How warm is it in Ghent?").output
print(report)
