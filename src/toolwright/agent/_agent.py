"""The agent as users meet it: settings, and the ways to run it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from toolwright._settings import explained
from toolwright.agent._chat import ChatNode
from toolwright.agent._hooks import call_hook
from toolwright.agent._loop import run_turns
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome, Result
from toolwright.agent._run import Run
from toolwright.agent._start import Job, OnOpen, Start, begin, resume, run_to_end, stream_events
from toolwright.messages import AnyEvent, Prompt
from toolwright.tools import SessionInfo, checked_state

__all__ = ["Agent", "BaseAgent", "LlmAgent"]


class BaseAgent(AgentNode):
    """An agent that can be run by itself; subclasses say how in `go`."""

    @explained(values=False)
    async def run(
        self, prompt: Prompt, *, deps: Any = None, state: Mapping[str, Any] | None = None
    ) -> Result:
        """Run until the agent is done, paused or stopped. Nothing is kept; `Runner` keeps sessions."""
        return await self._to_end(
            begin(
                self, prompt, Start(deps=deps, state=checked_state({} if state is None else state))
            )
        )

    @explained(values=False)
    def run_sync(
        self, prompt: Prompt, *, deps: Any = None, state: Mapping[str, Any] | None = None
    ) -> Result:
        """`run`, for programs that are not async."""
        from toolwright.agent._sync import run_blocking  # noqa: PLC0415 - the async ones need it not

        return run_blocking(lambda: self.run(prompt, deps=deps, state=state))

    @explained(values=False)
    def stream(
        self, prompt: Prompt, *, deps: Any = None, state: Mapping[str, Any] | None = None
    ) -> AsyncIterator[AnyEvent]:
        """The events of a run as they happen. Leaving the loop early cancels the run."""
        job = begin(
            self, prompt, Start(deps=deps, state=checked_state({} if state is None else state))
        )
        return stream_events(lambda on_open: self._to_end(job, on_open))

    @explained(values=False)
    async def resume(
        self, paused: Result, answers: Mapping[str, Any], *, deps: Any = None
    ) -> Result:
        """Go on with a paused run that no store keeps; `answers` are by pending call id."""
        start = Start(deps=deps, state=paused.state)
        return await self._to_end(await resume(self, paused, answers, start))

    async def _to_end(self, job: Job, on_open: OnOpen | None = None) -> Result:
        """Run, and end the session with it, unless it waits: nobody else can come back to it."""
        paused = False
        try:
            result = await run_to_end(job, on_open)
            paused = result.status == "paused"
            return result
        finally:
            if not paused:
                await self.end_session(SessionInfo.of(job.run.scope))


class Agent(ChatNode, BaseAgent):
    """A model with instructions and tools; the settings are `ChatNode`'s."""

    async def go(self, run: Run) -> Outcome | None:
        """Ask the model, answer its calls, and so on; the agent hooks come before and after."""
        for hooks in run.own_hooks:
            if hooks.before_agent is not None:
                text = await call_hook(run, "before_agent", hooks.before_agent)
                if text is not None:
                    return Outcome(status="done", text=text, output=text)
        while (outcome := await run_turns(run)) is not None:
            outcome = await _after_agent(run, outcome)
            # A message may have come while the hooks were at it, or a tool had the last word.
            if outcome.status != "done" or not run.has_mail:
                break
        return outcome


async def _after_agent(run: Run, outcome: Outcome) -> Outcome:
    """What the hooks make of the end."""
    for hooks in reversed(run.own_hooks):
        if hooks.after_agent is not None and outcome.status == "done":
            text = await call_hook(run, "after_agent", hooks.after_agent, outcome.text)
            outcome = outcome if text is None else Outcome(status="done", text=text, output=text)
    return outcome


LlmAgent = Agent
