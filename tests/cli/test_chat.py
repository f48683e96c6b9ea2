"""`toolwright chat` in a real terminal."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from tests._loaded import LoadedTerminal
from tests.cli.program import DESK, clean_environment

CHATTY = '''\
import anyio
from toolwright import Agent, FunctionTool, ask_user
from toolwright.testing import ScriptedModel, call

def wipe(scope: str) -> str:
    """Wipe a scope."""
    return f"wiped {scope}"

async def hang() -> str:
    """Never ends."""
    await anyio.sleep_forever()

def turns():
    for n in range(9):
        yield call("wipe", scope=f"staging{n}")
        yield f"It is done, {n}."

hanging = ScriptedModel(call("hang"), "Back again.")
wiping = ScriptedModel(*turns())
tools = [FunctionTool(wipe, require_confirmation=True), hang, ask_user]
agent = Agent(name="desk", model=wiping, tools=tools)
hanger = Agent(name="hanger", model=hanging, tools=tools)
why = call("ask_user", question="Why?")
asker = Agent(name="asker", model=ScriptedModel(why, "I see.", why), tools=tools)
'''


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, cwd: Path, *words: str, term: str = "xterm") -> None:
        (cwd / "chatty.py").write_text(CHATTY)
        (cwd / "desk.py").write_text(DESK)
        env = clean_environment(
            TERM=term, NO_COLOR="1", COLUMNS="100", PROMPT_TOOLKIT_NO_CPR="1", HOME=str(cwd)
        )
        self.child = LoadedTerminal(
            sys.executable, ["-m", "toolwright.cli", *words],
            cwd=str(cwd), env=env, encoding="utf-8", timeout=30, dimensions=(40, 100),
        )  # fmt: skip

    def expect(self, pattern: str) -> None:
        self.child.expect(pattern)

    def type(self, text: str) -> None:
        self.child.sendline(text)

    def answer(self, text: str) -> None:
        self.child.expect("answer>")
        self.child.sendline(text)

    def end(self) -> int | None:
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, "chat", "chatty:agent")
    terminal.expect("/help")
    yield terminal
    terminal.child.close(force=True)


def test_a_call_shows_its_arguments_and_is_approved_rejected_or_edited(chat: Terminal) -> None:
    chat.type("Wipe it, please")
    chat.expect('"scope": "staging0"')
    chat.answer("approve")
    chat.expect("wiped staging0")
    chat.expect("It is done, 0")

    chat.type("And the next")
    chat.answer("perhaps")
    chat.expect("is no answer")
    chat.answer("reject not this one")
    chat.expect("Reason: not this one")

    chat.type("And another")
    chat.answer("edit")
    chat.expect("arguments>.*staging2")  # it starts as they are
    chat.type("\x15{")  # Ctrl-U empties the line
    chat.expect("as JSON")
    chat.answer("e")
    chat.expect("arguments>.*staging2")
    chat.type('\x15{"scope": "elsewhere"}')
    chat.expect("It is done, 2")

    chat.type("/tools")
    chat.expect("Wipe a scope")
    chat.type("/nonsense")
    chat.expect("/help lists them")
    chat.type("/exit")
    assert chat.end() == 0


def test_lines_typed_before_a_question_was_shown_do_not_answer_it(chat: Terminal) -> None:
    chat.child.send("please wipe\ny\ny\n")
    chat.expect('"scope": "staging0"')
    chat.expect(r"not taken for its answer: 'y\\ny'")
    chat.answer("reject not now")
    chat.expect("Reason: not now")
    chat.type("again")
    chat.answer("y")
    chat.expect("wiped staging1")
    chat.type("/exit")
    assert chat.end() == 0


def test_a_terminal_that_can_do_nothing_gets_no_escape_sequence(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "run", "Wipe it", "--agent", "chatty:agent", term="dumb")
    log = terminal.child.logfile_read = io.StringIO()
    terminal.answer("e")
    terminal.expect('arguments> {"scope": "staging0"}')  # it starts as they are
    terminal.type('\x15{"scope": "elsewhere"}')
    terminal.expect("It is done, 0")
    assert terminal.end() == 0
    assert "\x1b" not in log.getvalue()


def test_ctrl_c_at_a_question_keeps_the_call_and_loses_no_line_typed_afterwards(
    chat: Terminal,
) -> None:
    chat.type("Wipe it")
    chat.expect("answer>")
    chat.child.sendintr()
    chat.expect("the session is kept")
    chat.type("/answer")  # the very next line
    chat.expect('"scope": "staging0"')
    chat.answer("y")
    chat.expect("It is done, 0")
    chat.type("/exit")
    assert chat.end() == 0


def test_ctrl_c_stops_a_turn_and_the_session_goes_on(tmp_path: Path) -> None:
    chat = Terminal(tmp_path, "chat", "--agent", "chatty:hanger")
    chat.expect("/help")
    chat.type("Now hang")
    chat.expect(r"\{\}")  # the call, not the echo of what was typed
    chat.child.sendintr()
    chat.expect("the session is kept")
    chat.type("Still there?")
    chat.expect("Back again")
    chat.type("/exit")
    assert chat.end() == 0


def test_a_signal_at_a_question_gives_the_terminal_back(chat: Terminal) -> None:
    chat.type("Wipe it")
    chat.expect("answer>")
    assert chat.child.pid is not None
    os.kill(chat.child.pid, 2)
    chat.expect("the session is kept")
    chat.type("/help")
    chat.expect("asks again what still waits")


def test_ctrl_c_while_a_person_plays_the_model_loses_no_line(tmp_path: Path) -> None:
    chat = Terminal(tmp_path, "chat", "desk:agent", "--model", "me")
    chat.expect("/help")
    chat.type("hello")
    chat.expect("model>")
    chat.child.sendintr()
    chat.expect("the session is kept")
    chat.type("hello again")
    chat.expect("model>")
    chat.type("I answer.")
    chat.expect("I answer.")
    chat.type("/exit")  # whatever is on the screen by now, the line is not lost
    assert chat.end() == 0


def test_a_question_left_alone_goes_on_waiting_and_can_be_refused(tmp_path: Path) -> None:
    chat = Terminal(tmp_path, "chat", "chatty:asker")
    chat.expect("/help")
    chat.type("Ask me")
    chat.expect("Why")
    chat.answer("")
    chat.expect("still waiting")
    chat.type("/answer")
    chat.answer("/reject none of your business")
    chat.expect("I see")
    chat.type("Ask me again")
    chat.answer("/exit")
    assert chat.end() == 0


def test_a_form_is_filled_in_field_by_field_and_checked_before_it_is_accepted(
    tmp_path: Path,
) -> None:
    chat = Terminal(tmp_path, "chat", "desk:agent")
    chat.expect("/help")
    chat.type("book {}")
    chat.expect(r"guests \[integer\]>")
    chat.type("many")
    chat.expect("is no integer")
    chat.expect(r"guests \[integer\]>")
    chat.type("4")
    chat.expect(r"terrace \[boolean, optional\]>")
    chat.type("\x15yes")  # Ctrl-U empties the line, which starts as the default
    chat.expect(r"note \[string, optional\]>")
    chat.type("")
    chat.expect('"guests":4,"terrace":true')
    chat.type("book {}")
    chat.expect(r"guests \[integer\]>")
    chat.type("/reject no table today")
    chat.expect("no table today")
    chat.type("/exit")
    assert chat.end() == 0


def test_a_run_in_a_terminal_asks_and_ctrl_c_leaves_the_call_waiting(tmp_path: Path) -> None:
    words = ("run", 'wipe {"scope": "staging"}', "--agent", "desk:agent")
    run = Terminal(tmp_path, *words)
    run.answer("always")
    run.expect("wiped staging 1 times")
    assert run.end() == 0
    run = Terminal(tmp_path, *words)
    run.expect("answer>")
    run.child.sendintr()
    run.expect("waiting for an answer in session")
    assert run.end() == 130
