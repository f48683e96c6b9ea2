"""A workflow answers each message of its session in a round of its own, and finishes earlier rounds
when what they waited for comes late, or when a crash interrupted one of their calls."""

from toolwright.agent._chat import ChatNode
from toolwright.agent._log import Log, Waiting
from toolwright.agent._result import Outcome
from toolwright.agent._run import Run
from toolwright.agent._updates import late_updates
from toolwright.messages import ModelMessage, RunStarted, UserMessage

__all__ = ["go_on"]


async def go_on(run: Run, *, new: bool) -> Outcome:
    """Take the outer run to its end; nothing that has come for it stays unread.

    `new`: it was begun with a message, so the answer to that is what it comes to.
    """
    left = [*run.log.owed, *run.log.interrupted()]
    owed = sorted({run.log.round_of(address) or 0 for address in left})
    late = None
    for number in owed:
        if 0 < number < len(_messages(run)) and not isinstance(run.agent, ChatNode):
            late = await _go_round(run, number)
    outcome = await run.go()
    if late is not None and not new and late.status != "paused" and outcome.status == "done":
        outcome = late
    while outcome.status == "done" and not isinstance(run.agent, ChatNode):
        run.log.inbox.extend(late_updates(run.log))
        waiting = _next_waiting(run.log)
        if waiting is None:
            break
        run.log.inbox.remove(waiting)
        outcome = await _take_up(run, waiting, outcome)
    return outcome


async def _go_round(run: Run, number: int) -> Outcome:
    latest = run.user_content
    run.round, run.user_content = number, _messages(run)[number - 1]
    try:
        return await run.go()
    finally:
        run.round, run.user_content = None, latest


async def _take_up(run: Run, waiting: Waiting, outcome: Outcome) -> Outcome:
    """Give a message that no agent has read to the one that it is for, or begin a round with it."""
    if not waiting.call_id:
        run.put_in(waiting)
        run.user_content = waiting.message
        return await run.go()
    owner = _owner(run.log, waiting.call_id)
    for path in _paths(owner):
        run.emit(RunStarted, path=path)
        run.log.thread(path).ended = None
    run.put_in(waiting, owner)
    ended = await _go_round(run, run.log.round_of(owner) or 1)
    return ended if ended.status == "paused" else outcome


def _next_waiting(log: Log) -> Waiting | None:
    """The next message that somebody can be given."""
    return next((w for w in log.inbox if not w.call_id or _owner(log, w.call_id)), None)


def _owner(log: Log, address: str) -> str:
    """The path of the step whose model made the call, or was waiting for it; empty if there is none.

    Inside that step's own calls nobody would read it: those have their results.
    """
    if log.round_of(address) is None:
        return ""
    for path in _paths(address)[:-1]:
        found = log.threads.get(path)
        if found is not None and any(isinstance(m, ModelMessage) for m in found.history):
            return path
    return ""


def _paths(address: str) -> list[str]:
    """The paths from the outermost step to `address` itself."""
    parts = address.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _messages(run: Run) -> list[UserMessage]:
    return [message for message in run.history if isinstance(message, UserMessage)]
