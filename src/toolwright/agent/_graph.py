"""A small graph of steps: agents, tools and functions, joined by edges that may depend on a route."""

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

from toolwright._sealed import sealed
from toolwright.agent._agent import BaseAgent
from toolwright.agent._answers import answer_text, is_repeatable, late_result
from toolwright.agent._handed import fields_of, is_plain, pack, unpack
from toolwright.agent._inside import begin_inside, go_inside
from toolwright.agent._limits import Limits
from toolwright.agent._log import CallRecord, full_id
from toolwright.agent._node import AgentNode, check_agent_names
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.agent._toolbox import Toolbox
from toolwright.agent._workflows import remember_output
from toolwright.concurrency import close_all
from toolwright.errors import UsageError
from toolwright.messages import (
    ADDRESS_MARKS,
    CALL_BYTES,
    Given,
    ToolCall,
    ToolResult,
    jsonable,
    refuse_long,
)
from toolwright.tools import (
    Args,
    MaxOutput,
    NodeInfo,
    Output,
    Tool,
    ToolContext,
    Toolset,
    as_tool,
    to_output,
)

__all__ = ["START", "Edge", "Workflow"]

START = "start"
_VISIT = re.compile(r"\.\d+$")
"""How the visits to a node are told apart."""
_NODE_BYTES = CALL_BYTES - 40
"""Of a node's name; its visit, attempt and message come after it."""
_NOTHING = to_output(None).text
_HAS_RUN = "The function has run, and is not run again."


@sealed
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
    is_final: bool = False
    """Not to be tried again: it was refused, or nobody knows whether it took effect."""


class Workflow(BaseAgent):
    """Follows edges from `start` until a node has none that fits.

    A node is an agent, a tool or a function. A function gets what the node before it returned,
    unchanged: its fields by name when it has fields of those names (a dict, a pydantic model or a
    dataclass), else as its first argument. It chooses an edge with `tool_context.route = …`; an
    agent's final text is its route. A route without an edge follows the edge that has none, and
    stops the workflow where there is no such edge either.
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
        self._functions = {key: _function(node) for key, node in nodes.items()}
        self.edges = [edge if isinstance(edge, Edge) else Edge(*edge) for edge in edges]
        self.retries = retries
        self.max_steps = max_steps
        self._check()
        check_agent_names(self, self.own_tools()[0])

    def copy(self) -> Self:
        """The same workflow without a parent; the agents among its nodes are copied with it."""
        twin = super().copy()
        twins = {id(old): new for old, new in zip(self.sub_agents, twin.sub_agents, strict=True)}
        vars(twin)["nodes"] = {key: twins.get(id(n), n) for key, n in self.nodes.items()}
        return twin

    async def go(self, run: Run) -> Outcome:
        """Follow the edges; steps that are done are not repeated."""
        value: Any = getattr(run.user_content, "text", "")
        current: str | Outcome | None = self._next(START, None)
        visits: dict[str, int] = {}
        for _ in range(self.max_steps):
            if current is None:
                return Outcome(status="done", text=_text(value), output=value)
            if isinstance(current, Outcome):
                return current
            visits[current] = visits.get(current, 0) + 1
            step = await self._visit(run, current, visits[current], value)
            if step.outcome.status != "done":
                return step.outcome
            value = step.outcome.output
            remember_output(run, current, value)
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
        """Run a node, again if it fails and retries are left.

        Attempts that were over when the workflow stopped do not count, if it may be tried again.
        """
        left, attempt, node = self.retries + 1, 0, self.nodes[name]
        while True:
            attempt += 1
            key = run.step(_attempt(name, visit, attempt))
            path = full_id(run.path, key)
            is_past = _is_past(run, path) and (
                _is_tried(run, _attempt(name, visit, attempt + 1)) or _may_go_on(run, node)
            )
            run.node = NodeInfo(
                node_path=path, attempt_count=attempt, resume_inputs=_answers(run, path)
            )
            step = await (
                _run_agent(run, node, path, value)
                if isinstance(node, AgentNode)
                else _run_tool(run, node, key, value, self._functions[name])
            )
            if not is_past:
                left -= 1
            if step.outcome.status != "stopped" or step.is_final or not left:
                return step

    def _next(self, source: str, route: Any) -> str | Outcome | None:
        """The node to go to; None at the end, or why there is no way to go on."""
        out = [edge for edge in self.edges if edge.source == source]
        routes = route if isinstance(route, list) else [route]
        chosen = [edge for edge in out if any(_same(edge.route, one) for one in routes)]
        if route is not None and len(chosen) != 1:
            is_text = isinstance(self.nodes.get(source), AgentNode)
            if chosen or ((out or not is_text) and not any(edge.route is None for edge in out)):
                return self._lost(source, route, out)
        fitting = [edge for edge in chosen if edge.route is not None] or [
            edge for edge in out if edge.route is None
        ]
        return fitting[0].target if fitting else None

    def _lost(self, source: str, route: Any, out: Sequence[Edge]) -> Outcome:
        known = ", ".join(f"{edge.route!r} to {edge.target!r}" for edge in out) or "none"
        reason = (
            f"Node {source!r} of workflow {self.name!r} chose route {route!r}, which fits no single "
            f"edge; its edges: {known}."
        )
        return Outcome(status="stopped", reason=reason)

    def own_tools(self) -> tuple[Sequence[Tool], Sequence[Toolset]]:
        """The tools that are nodes."""
        return [node for node in self.nodes.values() if isinstance(node, Tool)], ()

    async def close(self) -> None:
        """Close the agents and the tools that are nodes."""
        tools = [node.close for node in self.nodes.values() if isinstance(node, Tool)]
        await close_all([super().close, *(close for close in tools if close is not None)])

    def _check(self) -> None:
        if START in self.nodes:
            raise UsageError(
                f"Workflow {self.name!r} cannot have a node named {START!r}; rename it."
            )
        for name in self.nodes:
            self._check_name(name)
        for index, edge in enumerate(self.edges):
            for other in self.edges[:index]:
                if edge.source == other.source and _same(edge.route, other.route):
                    which = "without a route" if edge.route is None else f"for {edge.route!r}"
                    raise UsageError(
                        f"Workflow {self.name!r} has two edges {which} from {edge.source!r}, to "
                        f"{other.target!r} and {edge.target!r}; a node goes to one. Give them "
                        "routes, or run both in a ParallelAgent."
                    )
        for edge in self.edges:
            if edge.target == START:
                raise UsageError(
                    f"Workflow {self.name!r} has an edge from {edge.source!r} to {START!r}, which is "
                    "no node; to begin again, lead it to the first node."
                )
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

    def _check_name(self, name: str) -> None:
        """The ids of a node's calls and questions are made of its name, and read back from them."""
        if found := ADDRESS_MARKS.search(name) or _VISIT.search(name):
            raise UsageError(
                f"Workflow {self.name!r} has a node named {name!r}; a name has no '/' and no '~', "
                f"and does not end with a number after a dot ({found[0]!r}): rename it."
            )
        refuse_long(f"The name of a node of workflow {self.name!r}", name, _NODE_BYTES)


def _node(node: Any) -> AgentNode | Tool:
    if isinstance(node, AgentNode):
        return node
    # What a node gives is for the next node, not for a model to read: it is passed on whole.
    return as_tool(node).replace(max_output=MaxOutput(bytes=sys.maxsize, lines=sys.maxsize))


async def _run_agent(run: Run, agent: AgentNode, path: str, value: Any) -> _Step:
    inner = begin_inside(run, agent, path)
    is_known = inner.known_end() is not None
    outcome = await go_inside(inner, _text(value))
    if isinstance(agent, Workflow):
        # The calls right below it are its nodes, whose routes and values are its own affair.
        # Its nodes know the types of what they returned; the record of its end does not.
        return _Step(await agent.go(inner) if is_known else outcome, outcome.text.strip())
    route, output = None, None
    for call_id, record in run.log.calls.items():
        if call_id.rpartition("/")[0] == path and record.actions is not None:  # one of its own
            route = route if record.actions.route is None else record.actions.route
            output = output if record.actions.output is None else record.actions.output
    if output is not None and outcome.status == "done":
        # As it comes back from the log, so that a pause changes nothing.
        outcome = replace(outcome, output=jsonable(output))
    return _Step(outcome, outcome.text.strip() if route is None else route)


async def _run_tool(
    run: Run, tool: Tool, call_id: str, value: Any, function: Callable[..., Any] | None
) -> _Step:
    arguments = _arguments(tool, value)
    shown = _shown(arguments)
    call = ToolCall(call_id=call_id, name=tool.name, arguments=shown)
    returned: list[Any] = []
    store = partial(_store, function=function, must=run.log.store is not None)
    node = _handing_on(_given(tool, arguments, shown), returned, store)
    box = Toolbox({tool.name: node}, (tool.spec,))
    [result] = await run.shared.answer_calls(run, [call], box, run.path)
    if result.status == "pending":
        return _Step(Outcome(status="paused"))
    record = run.log.record(full_id(run.path, call_id))
    if result.status != "ok":
        return await _failed(run, tool, record, result)
    actions = record.actions
    route = None if actions is None else actions.route
    if returned:
        output = returned[-1]
    elif actions is not None and actions.output is not None:
        output = unpack(actions.output, function)
    else:
        # Not run, but answered from outside.
        output = record.answer.value if isinstance(record.answer, Given) else result.own_text
    return _Step(Outcome(status="done", text=result.text, output=output), route)


async def _failed(run: Run, tool: Tool, record: CallRecord, result: ToolResult) -> _Step:
    """The end of a node that has failed, or the result that had come for it before it did."""
    if record.pending is not None and record.answer is None:
        await run.log.fetch_answers()
    if (late := late_result(record)) is not None and record.pending is not None:
        # Used, so nobody has to be told of it as well; its answer closes it in the store before that.
        await run.log.flush()
        run.change_pending(record.pending, blocking=True)
        return _Step(
            Outcome(status="done", text=answer_text(record.pending, late), output=late.value)
        )
    is_final = (
        result.status != "error"
        or result.text.endswith(_HAS_RUN)
        or (result.outcome_unknown is True and not is_repeatable(tool))
    )
    outcome = Outcome(status="stopped", text=result.text, reason=result.text)
    return _Step(outcome, is_final=is_final)


def _attempt(name: str, visit: int, attempt: int) -> str:
    """What tells the visits to a node, and the attempts of a visit, apart."""
    return f"{name}.{visit}" if attempt == 1 else f"{name}.{visit}.{attempt}"


def _is_past(run: Run, path: str) -> bool:
    """Whether the call at `path` had failed before a run of the session stopped."""
    known = run.log.calls.get(path)
    return known is not None and known.is_past


def _is_tried(run: Run, attempt: str) -> bool:
    return full_id(run.path, run.step(attempt)) in run.log.calls


def _may_go_on(run: Run, node: AgentNode | Tool) -> bool:
    """Whether a node at which the workflow stopped may be tried again.

    A task goes on after that only because somebody wants it to try again. A session may just be
    looked at, and a function that failed may have had its effect; earlier rounds are over.
    """
    is_wanted = run.task_id is not None
    return run.round is None and (is_wanted or (isinstance(node, Tool) and is_repeatable(node)))


def _given(tool: Tool, arguments: Mapping[str, Any], shown: str) -> Tool:
    """The tool of a node, given values as they are, beside what JSON makes of them.

    They are put in where the arguments are read, so that rules and people see what it will get; not
    when a person or a hook has changed the arguments.
    """
    plain = json.loads(shown)
    live = {
        name: value
        for name, value in arguments.items()
        if not is_plain(value) or value != plain[name]
    }

    def parse(raw: str) -> Args:
        args = tool.parse(raw)
        if raw == shown:
            args.update((name, live[name]) for name in live if name in args)
        return args

    return tool.replace(parse=parse) if live else tool


def _handing_on(tool: Tool, returned: list[Any], store: Callable[[Any], Any]) -> Tool:
    """The tool of a node, which keeps the value that its function gives."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        output = await tool.run(args, ctx)
        if output.status != "ok" or ctx.requested is not None:
            return output
        value = _value(output) if ctx.actions.output is None else ctx.actions.output
        try:
            ctx.actions.output = store(value)
        except UsageError as error:
            raise UsageError(f"{error} {_HAS_RUN}") from error
        returned.append(value)
        return output

    return tool.replace(run=run)


def _shown(arguments: Mapping[str, Any]) -> str:
    """The arguments as JSON that every validator takes, so without lone surrogates."""
    text = json.dumps(jsonable(arguments), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _store(value: Any, *, function: Callable[..., Any] | None, must: bool) -> Any:
    """The form of `value` that can be stored; None, or `UsageError` if it must be, when there is none."""
    try:
        return pack(value, function)
    except UsageError:
        if must:
            raise
        return None


def _value(output: Output) -> Any:
    """What the function returned."""
    if output.data is not None:
        return output.text or output.parts[0], output.value
    if output.value is not None or output.text == _NOTHING:
        return output.value
    return output.text or (output.parts[0] if len(output.parts) == 1 else list(output.parts))


def _function(node: Any) -> Callable[..., Any] | None:
    """The function behind a node, which may say what it returns."""
    found = getattr(node, "func", node)
    return found if inspect.isroutine(found) else None


def _arguments(tool: Tool, value: Any) -> dict[str, Any]:
    """By name what has a name that the tool knows; else the whole, as its first parameter."""
    names = list(tool.spec.parameters.get("properties", {}))
    fields = fields_of(value) or {}
    given = {name: fields[name] for name in names if name in fields}
    return given or ({names[0]: value} if names else {})


def _same(one: Any, other: Any) -> bool:
    """Equal and of one kind: True is not 1."""
    return type(one) is type(other) and one == other


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)


def _answers(run: Run, path: str) -> dict[str, Any]:
    """What has been answered inside a node while it was paused, by call id."""
    return {
        pending.call_id: answer.value if isinstance(answer, Given) else jsonable(answer)
        for key, record in run.log.calls.items()
        if key == path or key.startswith(f"{path}/")
        for pending, answer in record.answers
    }
