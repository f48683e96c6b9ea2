"""Run an agent inside another run: in a call, or as a step of a workflow."""

from typing import cast

from toolwright.agent._chat import ChatNode
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.messages import Prompt, RunStarted, UserMessage, user_message

__all__ = ["begin_inside", "go_inside"]


def begin_inside(outer: Run, agent: AgentNode, path: str, *, plain: bool = False) -> Run:
    """A run of `agent` at `path`, or of whichever agent below it has that conversation by now.

    `plain`: the runner's hooks do not see it.
    """
    current = agent.find(outer.log.thread(path).agent) or agent
    return outer.inside(cast(ChatNode, current), path, entry=agent, plain=plain)


async def go_inside(run: Run, prompt: Prompt) -> Outcome:
    """Start with `prompt`, or go on if the run was begun before; one that is done is not repeated."""
    known = run.known_end()
    if known is not None:
        run.user_content = _asked(run)
        return known
    if not run.history:
        message = user_message(prompt)
        run.emit(RunStarted, message=message)
        run.history.append(message)
        run.thread.agent = run.agent.name
    run.user_content = _asked(run)
    outcome = await run.go()
    run.end(outcome)
    return outcome


def _asked(run: Run) -> UserMessage:
    return next(message for message in run.history if isinstance(message, UserMessage))
