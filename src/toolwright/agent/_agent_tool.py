"""An agent as a tool of another agent."""

import json
from typing import Any

from pydantic import TypeAdapter

from toolwright.agent._inside import begin_inside, go_inside
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.errors import ToolError, UsageError
from toolwright.messages import ModelMessage, Prompt, ToolSpec
from toolwright.tools import Args, Output, Tool, ToolContext, plain_schema, schema_parser, to_output

__all__ = ["AgentTool", "run_inside"]

_REQUEST = {
    "type": "object",
    "properties": {"request": {"type": "string", "description": "What the agent should do."}},
    "required": ["request"],
    "additionalProperties": False,
}


class AgentTool(Tool):
    """Calls an agent: its `input_schema` is the parameters, its reply the result.

    The agent does not see the caller's conversation. Its events, usage, state and pauses belong to
    the outer run; after a pause or a crash it goes on where it was.
    """

    def __init__(
        self,
        agent: AgentNode,
        *,
        skip_summarization: bool = False,
        include_plugins: bool = True,
        propagate_grounding_metadata: bool = False,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        schema = _parameters(agent)
        spec = ToolSpec(
            name=name or agent.name,
            description=description or agent.description,
            parameters=schema,
        )

        async def run(args: Args, ctx: ToolContext) -> Output:
            prompt = args["request"] if schema is _REQUEST else json.dumps(args, ensure_ascii=False)
            outcome = await run_inside(agent, prompt, ctx, include_plugins=include_plugins)
            output = _as_output(agent, outcome)
            if skip_summarization and outcome.status == "done":
                ctx.actions.skip_summarization = True
            if propagate_grounding_metadata:
                _keep_grounding(ctx)
            return output

        # Repeating it is safe: whatever finished inside is known and does not run again.
        self._become(
            Tool(
                spec=spec,
                parse=schema_parser(spec.name, schema),
                run=run,
                idempotent=True,
                inside=(agent,),
                close=agent.close,
                end_session=agent.end_session,
            )
        )
        self.agent = agent


def _parameters(agent: AgentNode) -> dict[str, Any]:
    wanted = getattr(agent, "input_schema", None)
    if wanted is None:
        return _REQUEST
    schema = plain_schema(TypeAdapter(wanted))
    if schema.get("type") != "object" and "$ref" not in schema:
        raise UsageError(
            f"The input_schema of agent {agent.name!r} must be an object, such as a pydantic model; "
            f"got {wanted!r}."
        )
    return schema


async def run_inside(
    agent: AgentNode, prompt: Prompt, ctx: ToolContext, *, include_plugins: bool = True
) -> Outcome:
    """Run `agent` inside the call of `ctx`, or go on with it if it was begun before.

    Without `include_plugins` the runner's hooks do not see what it does.
    """
    if not isinstance(ctx.run, Run):
        raise UsageError("An agent can only be called as a tool by a running agent.")
    run = begin_inside(ctx.run, agent, ctx.function_call_id, plain=not include_plugins)
    outcome = await go_inside(run, prompt)
    ctx.actions.escalate = ctx.actions.escalate or run.escalated
    return outcome


def _as_output(agent: AgentNode, outcome: Outcome) -> Output:
    if outcome.status == "paused":
        return Output(status="pending")
    if outcome.status == "stopped":
        raise ToolError(f"Agent {agent.name!r} stopped: {outcome.reason}")
    return to_output(outcome.output)


def _keep_grounding(ctx: ToolContext) -> None:
    run = ctx.run
    if not isinstance(run, Run):
        return
    history = run.log.thread(ctx.function_call_id).history
    last = next((m for m in reversed(history) if isinstance(m, ModelMessage)), None)
    if last is not None and "grounding" in last.meta:
        ctx.state["temp:grounding_metadata"] = last.meta["grounding"]
