"""`toolwright chat` in a real terminal."""

import os
import sys
from pathlib import Path

import pexpect
import pytest

CHATTY = '''\
import anyio
from toolwright import Agent, FunctionTool
from toolwright.testing import ScriptedModel, call

ran = []

def wipe(scope: str) -> str:
    """Wipe a scope."""
    ran.append(scope)
    return f"wiped {scope}"

async def hang() -> str:
    """Never ends."""
    await anyio.sleep_forever()

model = ScriptedModel(
    call("wipe", scope="staging"), "It is done.",
    call("hang"), "Back again.",
)
agent = Agent(name="desk", model=model, tools=[FunctionTool(wipe, require_confirmation=True), hang])
'''


@pytest.fixture
def terminal(tmp_path: Path) -> pexpect.spawn:
    (tmp_path / "chatty.py").write_text(CHATTY)
    env = {**os.environ, "HOME": str(tmp_path), "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "100"}
    child = pexpect.spawn(
        sys.executable, ["-m", "toolwright.cli", "chat", "--agent", "chatty:agent"],
        cwd=str(tmp_path), env=env, encoding="utf-8", timeout=20, dimensions=(40, 100),
    )  # fmt: skip
    child.expect("/help")
    return child


def test_calls_are_shown_approved_inline_cancelled_and_the_session_goes_on(
    terminal: pexpect.spawn,
) -> None:
    terminal.sendline("Wipe staging, please")
    terminal.expect("wipe.*staging")
    terminal.expect("y.*es / ")
    terminal.sendline("y")
    terminal.expect("wiped staging")
    terminal.expect("It is done")

    terminal.sendline("Now hang")
    terminal.expect(r"\{\}")  # the call, not the echo of what was typed
    terminal.sendintr()
    terminal.expect("the session is kept")

    terminal.sendline("Still there?")
    terminal.expect("Back again")

    terminal.sendline("/tools")
    terminal.expect("Wipe a scope")
    terminal.sendline("/nonsense")
    terminal.expect("/help lists them")
    terminal.sendline("/exit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
