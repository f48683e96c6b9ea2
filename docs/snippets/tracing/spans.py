"""Spans by the GenAI conventions, to wherever OpenTelemetry sends them; here, to a list."""

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolwright import Agent
from toolwright.testing import ScriptedModel, call

spans = InMemorySpanExporter()  # in production: OTLPSpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)  # before the agent runs; nothing else is needed


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


agent = Agent(name="maths", model=ScriptedModel(call("add", a=2, b=3), "Five."), tools=[add])
agent.run_sync("2 + 3?")
for span in spans.get_finished_spans():
    print(span.name, sorted(span.attributes))
