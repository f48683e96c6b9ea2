"""A small graph of steps: agents, tools and functions, joined by edges that may depend on a route."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolwright.agent._agent import BaseAgent
from toolwright.agent._inside import begin_inside, go_inside
from toolwright.agent._limits import Limits
from toolwright.agent._log import full_id
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.agent._toolbox import Toolbox
from toolwright.agent._workflows import remember_output
from toolwright.errors import UsageError
from toolwright.messages import ToolCall, jsonable
from toolwright.tools import MaxOutput, NodeInfo, Tool, as_tool

__all__ = ["START", "Edge", "Workflow"]

START = "start"


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to the next; with a `route`, only when the node chose that route."""

    source: str
    target: str
    route: Any = None


@dataclass(frozen=True, slots=True)
class _Step:
    """What a node came to."""

    outcome: Outcome
    route: Any = None


class Workflow(BaseAgent):
    """Follows edges from `start` until a node has none that fits.

    A node is an agent, a tool or a function. A function gets the output of the node before it: by
    name when that is a dict, else as its only argument. It chooses an edge with
    `tool_context.route = …`; an agent's final text is its route.
    """

    hands_over = False

    def __init__(
        self,
        *,
        name: str,
        nodes: Mapping[str, AgentNode | Tool | Callable[..., Any]],
        edges: Sequence[Edge | tuple[str, str] | tuple[str, str, Any]],
        description: str = "",
        retries: int = 0,
        max_steps: int = 100,
        limits: Limits | None = None,
    ) -> None:
        agents = {id(node): node for node in nodes.values() if isinstance(node, AgentNode)}
        super().__init__(
            name=name, description=description, sub_agents=[*agents.values()], limits=limits
        )
        self.nodes = {key: _node(node) for key, node in nodes.items()}
        self.edges = [edge if isinstance(edge, Edge) else Edge(*edge) for edge in edges]
        self.retries = retries
        self.max_steps = max_steps
        self._check()

    async def go(self, run: Run) -> Outcome:
        """Follow the edges; steps that are done are not repeated."""
        value: Any = getattr(run.user_content, "text", "")
        current = self._next(START, None)
        visits: dict[str, int] = {}
        for _ in range(self.max_steps):
            if current is None:
                return Outcome(status="done", text=_text(value), output=value)
            visits[current] = visits.get(current, 0) + 1
            step = await self._visit(run, current, visits[current], value)
            if step.outcome.status != "done":
                return step.outcome
            value = step.outcome.output
            remember_output(run, current, jsonable(value))
            current = self._next(current, step.route)
        reason = f"Workflow {self.name!r} took {self.max_steps} steps without coming to an end."
        return Outcome(status="stopped", reason=reason)

    def mermaid(self) -> str:
        """The graph as a Mermaid diagram."""
        lines = ["flowchart TD", f"    {START}(({START}))"]
        for name, node in self.nodes.items():
            shape = f'{name}["{name}"]' if isinstance(node, AgentNode) else f'{name}("{name}")'
            lines.append(f"    {shape}")
        for edge in self.edges:
            label = "" if edge.route is None else f"|{edge.route}|"
            lines.append(f"    {edge.source} -->{label} {edge.target}")
        return "\n".join(lines)

    async def _visit(self, run: Run, name: str, visit: int, value: Any) -> _Step:
        """Run a node, again if it fails and retries are left."""
        step = _Step(Outcome(status="done"))
        for attempt in range(1, self.retries + 2):
            tried = f"{name}.{visit}" if attempt == 1 else f"{name}.{visit}.{attempt}"
            key = run.step(tried)
            node = self.nodes[name]
            path = full_id(run.path, key)
            run.node = NodeInfo(
                node_path=path, attempt_count=attempt, resume_inputs=_answers(run, path)
            )
            step = await (
                _run_agent(run, node, path, value)
                if isinstance(node, AgentNode)
                else _run_tool(run, node, key, value)
            )
            if step.outcome.status != "stopped":
                return step
        return step

    def _next(self, source: str, route: Any) -> str | None:
        routes = route if isinstance(route, list) else [route]
        out = [edge for edge in self.edges if edge.source == source]
        chosen = [edge for edge in out if edge.route is not None and edge.route in routes]
        plain = [edge for edge in out if edge.route is None]
        return (chosen or plain)[0].target if chosen or plain else None

    def _check(self) -> None:
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end != START and end not in self.nodes:
                    raise UsageError(
                        f"Workflow {self.name!r} has an edge to {end!r}, which is no node; "
                        f"nodes: {', '.join(self.nodes)}."
                    )
        if self._next(START, None) is None:
            raise UsageError(
                f"Workflow {self.name!r} needs an edge from {START!r} to its first node."
            )


def _node(node: Any) -> AgentNode | Tool:
    if isinstance(node, AgentNode):
        return node
    # What a node gives is for the next node, not for a model to read: it is passed on whole.
    return as_tool(node).replace(max_output=MaxOutput(bytes=sys.maxsize, lines=sys.maxsize))


async def _run_agent(run: Run, agent: AgentNode, path: str, value: Any) -> _Step:
    outcome = await go_inside(begin_inside(run, agent, path), _text(value))
    return _Step(outcome, outcome.text.strip())


async def _run_tool(run: Run, tool: Tool, call_id: str, value: Any) -> _Step:
    call = ToolCall(call_id=call_id, name=tool.name, arguments=json.dumps(_arguments(tool, value)))
    box = Toolbox({tool.name: tool}, (tool.spec,))
    [result] = await run.shared.answer_calls(run, [call], box, run.path)
    if result.status == "pending":
        return _Step(Outcome(status="paused"))
    if result.status != "ok":
        return _Step(Outcome(status="stopped", text=result.text, reason=result.text))
    actions = run.log.record(full_id(run.path, call_id)).actions
    output = _parsed(result.text) if actions is None or actions.output is None else actions.output
    route = None if actions is None else actions.route
    return _Step(Outcome(status="done", text=result.text, output=output), route)


def _arguments(tool: Tool, value: Any) -> dict[str, Any]:
    names = list(tool.spec.parameters.get("properties", {}))
    if isinstance(value, dict):
        return {name: jsonable(value[name]) for name in names if name in value}
    return {names[0]: jsonable(value)} if names else {}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)


def _answers(run: Run, path: str) -> dict[str, Any]:
    """What has been answered inside a node while it was paused, by call id."""
    return {
        record.pending.call_id: record.answer
        for key, record in run.log.calls.items()
        if record.answered
        and record.pending is not None
        and (key == path or key.startswith(f"{path}/"))
    }
