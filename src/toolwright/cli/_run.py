"""`toolwright run` and `toolwright chat`."""

import sys
import uuid

import anyio

from toolwright.cli import _exit as exits
from toolwright.cli._chat import chat_loop
from toolwright.cli._go import go, is_interactive
from toolwright.cli._options import AgentOption, JsonOption, ModelOption, SessionOption, StoreOption
from toolwright.cli._show import choose_show
from toolwright.cli._target import open_runner

__all__ = ["chat", "run"]


def run(
    task: str,
    /,
    *,
    agent: AgentOption = None,
    model: ModelOption = None,
    store: StoreOption = None,
    session: SessionOption = None,
    json: JsonOption = False,
) -> int:
    """Run a task and print the answer.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 waits for an answer, 4 a limit was reached.

    Parameters
    ----------
    task
        What to do; '-' reads it from standard input.
    """

    async def main() -> int:
        async with open_runner(agent, model, store) as runner:
            text = sys.stdin.read() if task == "-" else task
            session_id = session or uuid.uuid4().hex[:8]
            interactive = is_interactive() and not json
            show = choose_show(json=json)
            result = await go(runner, session_id, text, show, interactive=interactive)
            if result.status == "paused":
                sys.stderr.write(f"waiting for an answer in session {session_id}\n")
            return exits.exit_code(result)

    return anyio.run(main)


def chat(
    *,
    agent: AgentOption = None,
    model: ModelOption = None,
    store: StoreOption = None,
    session: SessionOption = None,
) -> int:
    """Talk to an agent; watch its calls as they run, and approve them."""

    async def main() -> None:
        async with open_runner(agent, model, store) as runner:
            await chat_loop(runner, session)

    anyio.run(main)
    return exits.DONE
