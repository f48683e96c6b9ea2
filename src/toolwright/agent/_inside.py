"""Run an agent inside another run: in a call, or as a step of a workflow."""

from typing import cast

from toolwright.agent._chat import ChatNode
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.messages import Prompt, RunEnded, RunStarted, user_message

__all__ = ["begin_inside", "go_inside"]


def begin_inside(outer: Run, agent: AgentNode, path: str) -> Run:
    """A run of `agent` at `path`, or of whichever agent below it has that conversation by now."""
    current = agent.find(outer.log.thread(path).agent) or agent
    return outer.inside(cast(ChatNode, current), path)


async def go_inside(run: Run, prompt: Prompt) -> Outcome:
    """Start with `prompt`, or go on if the run was begun before; one that is done is not repeated."""
    ended = run.thread.ended
    if ended is not None and ended.status == "done":
        return Outcome(status="done", text=ended.text, output=_output(run, ended.text))
    if not run.history:
        run.user_content = user_message(prompt)
        run.emit(RunStarted, message=run.user_content)
        run.history.append(run.user_content)
        run.thread.agent = run.agent.name
    outcome = await run.agent.go(run)
    run.emit(RunEnded, status=outcome.status, text=outcome.text, reason=outcome.reason)
    run.thread.ended = run.log.events[-1] if isinstance(run.log.events[-1], RunEnded) else None
    return outcome


def _output(run: Run, text: str) -> object:
    adapter = getattr(run.agent, "output_adapter", None)
    return text if adapter is None else adapter.validate_json(text)
