"""`toolwright run` and `toolwright chat`."""

import shlex
from typing import Annotated

import anyio
from cyclopts import Parameter

from toolwright.agent import Result, Runner
from toolwright.backends import MemoryStore, is_expired
from toolwright.cli import _exit as exits
from toolwright.cli._go import choose_asker, go, named_when_interrupted
from toolwright.cli._input import check_task, read_task
from toolwright.cli._me import PersonModel
from toolwright.cli._options import AgentOption, JsonOption, ModelOption, SessionOption, StoreOption
from toolwright.cli._out import note
from toolwright.cli._places import open_for, scope_of
from toolwright.cli._show import choose_show
from toolwright.cli._target import Target
from toolwright.cli._words import how_to_answer, question, quoted_id
from toolwright.messages import Pending, Prompt, Scope

__all__ = ["answer_command", "chat", "chat_command", "finish", "run"]

_LOST = """
This session is kept nowhere, so nobody can answer it any more. Run the task in a terminal, where you
are asked, or name a place with --store, such as --store sqlite:///sessions.db."""

Yes = Annotated[
    bool,
    Parameter(
        name=["--yes", "-y"],
        negative=(),
        help="Approve every call that asks for it; what is denied stays denied.",
    ),
]


def run(
    task: str,
    /,
    *more: Annotated[str, Parameter(show=False)],
    agent: AgentOption = None,
    model: ModelOption = None,
    store: StoreOption = None,
    session: SessionOption = None,
    json: JsonOption = False,
    yes: Yes = False,
) -> int:
    """Run a task and print the answer.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waits for an answer, 4 a limit was reached.

    Parameters
    ----------
    task
        What to do; '-' reads it from standard input. Other text that is piped in is added to it.
    """
    target = Target(agent=agent, model=model, store=store)
    check_task(task, more)

    async def main() -> int:
        async with await open_for(target, session) as runner:
            text = read_task(task, with_input=not _person_plays(runner))
            scope = await scope_of(runner, session)
            return await finish(runner, scope, text, target, json=json, yes=yes)

    return anyio.run(main)


async def finish(
    runner: Runner, scope: Scope, prompt: Prompt | None, target: Target, *, json: bool, yes: bool
) -> int:
    """Run the session to its end, or to where nobody answers, and say how it ended: the exit code."""
    ask = choose_asker(yes=yes, person=not json)
    try:
        async with named_when_interrupted(lambda: _tell_interrupted(runner, scope, target)):
            result = await go(runner, scope, prompt, choose_show(json=json), ask)
    except (KeyboardInterrupt, EOFError):
        return exits.CANCELLED
    if result.status == "paused":
        await _tell_waiting(runner, scope, target)
    _tell_reason(result)
    return exits.exit_code(result)


def _tell_reason(result: Result) -> None:
    if result.reason:
        note(f"stopped: {result.reason}")


async def _tell_interrupted(runner: Runner, scope: Scope, target: Target) -> None:
    """What waits, or how to go on with the session, if there is one by now."""
    if await runner.pending(scope.session_id):
        await _tell_waiting(runner, scope, target)
    elif not isinstance(runner.store, MemoryStore) and await runner.store.find(
        scope.app_name, scope.session_id
    ):
        note(f"interrupted; session {scope.session_id} is kept")
        note(f"go on: {chat_command(scope.session_id, target.words())}")


async def _tell_waiting(runner: Runner, scope: Scope, target: Target) -> None:
    """What waits, in full, and the commands that answer it."""
    waiting = await runner.pending(scope.session_id)
    if not waiting:
        return
    session, words = scope.session_id, target.words()
    is_kept = not isinstance(runner.store, MemoryStore)
    is_open = not all(is_expired(pending) for pending in waiting)
    note(f"{'waiting for an answer' if is_open else 'no answer came in time'} in session {session}")
    for pending in waiting:
        note(f"\n{question(pending)}")
        if is_kept:
            command = answer_command(session, pending, words)
            note(how_to_answer(pending, command, chat_command(session, words)))
    if is_kept and is_open:
        note(f"\nor talk on: {chat_command(session, words)}")
    elif not is_kept:
        note(_LOST)


def answer_command(session: str, pending: Pending, words: str) -> str:
    """The command that answers the call, up to the answer."""
    return f"toolwright sessions answer {shlex.quote(session)} {quoted_id(pending)}{words}"


def chat_command(session: str, words: str) -> str:
    """The command that goes on with the session."""
    return f"toolwright chat -s {shlex.quote(session)}{words}"


def _person_plays(runner: Runner) -> bool:
    """Whether the model is a person who answers on standard input."""
    return isinstance(runner.agent.own_model(), PersonModel)


def chat(
    agent: AgentOption = None,
    *,
    model: ModelOption = None,
    store: StoreOption = None,
    session: SessionOption = None,
) -> int:
    """Talk to an agent; watch its calls as they run, and approve them."""
    from toolwright.cli._chat import chat_loop  # noqa: PLC0415 - slow to load; `run` is here too

    async def main() -> None:
        async with await open_for(Target(agent=agent, model=model, store=store), session) as runner:
            await chat_loop(runner, await scope_of(runner, session))

    anyio.run(main)
    return exits.DONE
