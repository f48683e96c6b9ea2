"""Agents made of agents: one after the other, side by side, or round and round."""

from collections.abc import Sequence
from typing import Any

import anyio

from toolwright.agent._agent import BaseAgent
from toolwright.agent._inside import begin_inside, go_inside
from toolwright.agent._limits import Limits
from toolwright.agent._log import full_id
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.concurrency import first_cause
from toolwright.errors import UsageError
from toolwright.messages import Prompt, jsonable
from toolwright.tools import State, ToolContext, tool

__all__ = ["LoopAgent", "ParallelAgent", "SequentialAgent", "exit_loop"]


@tool(effects="read")
def exit_loop(tool_context: ToolContext) -> str:
    """Leave the loop: call this when nothing is left to improve."""
    tool_context.actions.escalate = True
    return "Leaving the loop."


class _Workflow(BaseAgent):
    """Runs its sub-agents as steps, each in a conversation of its own.

    A step gets the person's message and what the step before it said. Its output is in the state
    under its name, so later instructions can use `{name}`.
    """

    hands_over = False

    def __init__(
        self,
        *,
        name: str,
        sub_agents: Sequence[AgentNode],
        description: str = "",
        limits: Limits | None = None,
    ) -> None:
        if not sub_agents:
            raise UsageError(f"Workflow {name!r} needs at least one agent in sub_agents.")
        super().__init__(name=name, description=description, sub_agents=sub_agents, limits=limits)

    async def _step(
        self, run: Run, agent: AgentNode, step: str, prompt: Prompt
    ) -> tuple[Outcome, Run]:
        inner = begin_inside(run, agent, full_id(run.path, run.step(step)))
        known = inner.known_end()
        outcome = known or await go_inside(inner, prompt)
        if outcome.status == "done" and (known is None or agent.name not in run.table.values):
            remember_output(run, agent.name, outcome.output)
        return outcome, inner

    async def _in_order(
        self, run: Run, prefix: str, prompt: Prompt, said: str
    ) -> tuple[Outcome, bool]:
        """All agents one after the other; the last outcome, and whether one of them escalated."""
        outcome = Outcome(status="done", text=said, output=said)
        for agent in self.sub_agents:
            outcome, inner = await self._step(
                run, agent, f"{prefix}{agent.name}", _message(prompt, said)
            )
            if outcome.status != "done" or inner.escalated:
                return outcome, inner.escalated
            said = outcome.text
        return outcome, False


class SequentialAgent(_Workflow):
    """Runs its sub-agents one after the other; the last one's answer is the answer."""

    async def go(self, run: Run) -> Outcome:
        """Go through the steps; those that are done are not repeated."""
        outcome, run.escalated = await self._in_order(run, "", _asked(run), "")
        return outcome


class ParallelAgent(_Workflow):
    """Runs its sub-agents side by side; the answer is all of theirs."""

    async def go(self, run: Run) -> Outcome:
        """Run all; paused while any of them waits."""
        outcomes: dict[str, Outcome] = {}

        async def step(agent: AgentNode) -> None:
            outcomes[agent.name], _ = await self._step(run, agent, agent.name, _asked(run))

        try:
            async with anyio.create_task_group() as group:
                for agent in self.sub_agents:
                    group.start_soon(step, agent)
        except ExceptionGroup as failed:
            # What one agent would have raised by itself, as every other agent raises it.
            raise first_cause(failed) from failed
        for status in ("paused", "stopped"):
            for outcome in outcomes.values():
                if outcome.status == status:
                    return outcome
        in_order = {agent.name: outcomes[agent.name] for agent in self.sub_agents}
        text = "\n\n".join(f"[{name}]\n{outcome.text}" for name, outcome in in_order.items())
        outputs = {name: outcome.output for name, outcome in in_order.items()}
        return Outcome(status="done", text=text, output=outputs)


class LoopAgent(_Workflow):
    """Runs its sub-agents round after round until one calls `exit_loop`, or for `max_iterations`."""

    def __init__(self, *, max_iterations: int = 10, **settings: Any) -> None:
        super().__init__(**settings)
        if max_iterations < 1:
            raise UsageError(f"max_iterations must be at least 1; got {max_iterations!r}.")
        self.max_iterations = max_iterations

    async def go(self, run: Run) -> Outcome:
        """Go round; rounds that are done are not repeated."""
        outcome = Outcome(status="done")
        for turn in range(1, self.max_iterations + 1):
            outcome, left = await self._in_order(run, f"{turn}.", _asked(run), outcome.text)
            if outcome.status != "done" or left:
                return outcome
        return outcome


def remember_output(run: Run, name: str, output: Any) -> None:
    """Put a step's output into the state under its name."""
    state = State(run.table)
    state.change(name, lambda _: jsonable(output))
    run.keep_state(state)


def _asked(run: Run) -> Prompt:
    return run.user_content or ""


def _message(prompt: Prompt, said: str) -> Prompt:
    if not said:
        return prompt
    text = prompt if isinstance(prompt, str) else getattr(prompt, "text", "")
    return f"{text}\n\n[What was said before]\n{said}"
