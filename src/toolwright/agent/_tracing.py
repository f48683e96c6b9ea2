"""Spans by OpenTelemetry's GenAI conventions; nothing is imported or measured unless one listens."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from toolwright.messages import ModelMessage
from toolwright.models import Model, ModelRequest, OnDelta
from toolwright.tools import Args, Output, Tool, ToolContext

__all__ = ["span", "traced_model", "with_tracing"]


def _tracer() -> Any:
    """A tracer, if the program has set up OpenTelemetry; None otherwise."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        return None
    return trace.get_tracer("toolwright")


@contextmanager
def span(operation: str, name: str, attributes: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """A span around an operation; yields None when nobody listens."""
    tracer = _tracer()
    if tracer is None:
        yield None
        return
    # Exceptions are told by their type alone: their text may hold a secret.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with tracer.start_as_current_span(f"{operation} {name}", **quiet) as current:
        current.set_attribute("gen_ai.operation.name", operation)
        for key, value in (attributes or {}).items():
            current.set_attribute(key, value)
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            raise


def with_tracing(tool: Tool) -> Tool:
    """Put each call in a span; the tool itself when nobody listens."""
    if _tracer() is None:
        return tool

    async def run(args: Args, ctx: ToolContext) -> Output:
        attributes = {
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": ctx.function_call_id,
            "gen_ai.agent.name": ctx.agent_name,
        }
        with span("execute_tool", tool.name, attributes) as current:
            output = await tool.run(args, ctx)
            if current is not None and output.status != "ok":
                current.set_attribute("error.type", output.status)
            return output

    return tool.replace(run=run)


def traced_model(model: Model) -> Model:
    """Put each request in a span; the model itself when nobody listens."""
    return model if _tracer() is None else _TracedModel(model)


class _TracedModel:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        with span("chat", self.name, {"gen_ai.request.model": self.name}) as current:
            reply = await self.model.respond(request, on_delta)
            if current is not None:
                current.set_attribute("gen_ai.response.model", reply.model or self.name)
                current.set_attribute("gen_ai.usage.input_tokens", reply.usage.input_tokens)
                current.set_attribute("gen_ai.usage.output_tokens", reply.usage.output_tokens)
                current.set_attribute("gen_ai.response.finish_reasons", [reply.finish_reason])
            return reply
