"""`toolwright run`: where the task comes from, which model answers, and what becomes of a session."""

import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests._loaded import LoadedProgram, run_loaded
from tests.cli.program import DESK, clean_environment, here, toolwright

from toolwright.cli import _target
from toolwright.testing import ScriptedModel, call

DESK_AGENT = ("--agent", "desk:agent")
WIPE = 'wipe {"scope": "staging"}'
WIPING = '''
from toolwright import Agent, AgentTool, FunctionTool, ToolContext
from toolwright.testing import ScriptedModel, call


def both(tool_context: ToolContext) -> str:
    """Wipe, if somebody agrees."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Wipe 4000000 rows?", payload={"rows": 4000000})
        return ""
    return "wiped"


def plain() -> str:
    """Wipe."""
    return "wiped"


asked = [FunctionTool(both, require_confirmation=True), FunctionTool(plain, require_confirmation=True)]
helper = Agent(
    name="helper", description="Helps.", model=ScriptedModel(call("plain"), "done"), tools=asked
)
agent = Agent(name="a", model=ScriptedModel("x"), tools=[*asked, AgentTool(helper)])
'''


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    here = tmp_path / "desk"
    here.mkdir()
    (here / "desk.py").write_text(DESK)
    return here


# -- the task -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("-", *DESK_AGENT), (*DESK_AGENT, "-"), (*DESK_AGENT, "--", "-")]
)
def test_a_dash_reads_the_task_from_standard_input(desk: Path, words: tuple[str, ...]) -> None:
    assert toolwright("run", *words, cwd=desk, stdin="Count.\n").stdout == "read: Count.\n\n"


def test_an_empty_standard_input_is_no_task(desk: Path) -> None:
    told = toolwright("run", "-", *DESK_AGENT, cwd=desk, stdin=" \n", check=2).stderr
    assert "standard input ('-'), which is empty" in told


def test_piped_text_is_added_to_the_task(desk: Path) -> None:
    done = toolwright("run", "Summarise:", *DESK_AGENT, cwd=desk, stdin="one\ntwo")
    assert done.stdout == "read: Summarise:\n\none\ntwo\n"
    assert toolwright("run", "Hi", *DESK_AGENT, cwd=desk).stdout == "read: Hi\n"


def test_a_file_is_piped_text_and_the_null_device_is_not(desk: Path) -> None:
    (desk / "notes.txt").write_text("a note")
    command = [sys.executable, "-m", "toolwright.cli", "run", "Read:", *DESK_AGENT]
    for name, text in ((desk / "notes.txt", "Read:\n\na note"), (Path(os.devnull), "Read:")):
        with name.open() as stdin, LoadedProgram(
            command, cwd=desk, env=clean_environment(), stdin=stdin, stdout=subprocess.PIPE, text=True
        ) as program:  # fmt: skip
            assert program.communicate(timeout=60)[0] == f"read: {text}\n"
        assert program.returncode == 0


def test_piped_bytes_that_are_no_text_are_refused(desk: Path) -> None:
    command = [sys.executable, "-m", "toolwright.cli", "run", "Read:", *DESK_AGENT]
    done = subprocess.run(
        command, cwd=desk, env=clean_environment(), input=b"\xff\xfe", capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert b"Standard input is not text in UTF-8" in done.stderr


def test_a_misspelt_option_is_not_taken_for_the_task(desk: Path) -> None:
    done = here("run", "--modle", "me", *DESK_AGENT, cwd=desk, check=2)
    assert "Unknown option: --modle. Did you mean --model?" in done.stderr


# -- the model ----------------------------------------------------------------------------------


def test_another_model_can_be_chosen_for_an_agent_with_sub_agents(desk: Path) -> None:
    words = ("run", "hi", "--agent", "desk:team", "--model", "me")
    assert toolwright(*words, cwd=desk, stdin="I am the model.\n").stdout == "I am the model.\n"


def test_the_variable_names_the_model_of_an_agent_that_has_none(desk: Path) -> None:
    done = toolwright(
        "run", "hi", "--agent", "desk:bare", cwd=desk, stdin="Hello.\n", TOOLWRIGHT_MODEL="me"
    )
    assert done.stdout == "Hello.\n"
    own = toolwright("run", "hi", *DESK_AGENT, cwd=desk, TOOLWRIGHT_MODEL="me")
    assert own.stdout == "read: hi\n"


@pytest.mark.parametrize("name", ["seq", "below", "called"])
def test_the_chosen_model_reaches_every_agent_that_has_none(
    desk: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (desk / "inside.py").write_text(
        "from toolwright import Agent, AgentTool, SequentialAgent\n"
        "one, two = (Agent(name=n, description='d') for n in ('one', 'two'))\n"
        "seq = SequentialAgent(name='seq', description='d', sub_agents=[one, two])\n"
        "below = Agent(name='below', sub_agents=[seq.copy()])\n"
        "called = Agent(name='called', tools=[AgentTool(Agent(name='h', description='d'))])\n"
    )
    turns = {
        "seq": ["One.", "Fine."],
        "below": [call("transfer_to_agent", agent_name="seq"), "One.", "Fine."],
        "called": [call("h", request="x"), "One.", "Fine."],
    }
    chosen: list[tuple[str | None, str | None]] = []

    def choose(flag: str | None, from_file: str | None) -> ScriptedModel:
        chosen.append((flag, from_file))
        return ScriptedModel(*turns[name])

    monkeypatch.setattr(_target, "choose_model", choose)
    for words in (("--model", "openai:x"), ()):
        assert here("run", "hi", "-a", f"inside:{name}", *words, cwd=desk).stdout == "Fine.\n"
    assert chosen == [("openai:x", None), (None, None)]


def test_an_agent_without_a_model_is_told_what_one_can_do(desk: Path) -> None:
    told = here("run", "hi", "--agent", "desk:bare", cwd=desk, check=2).stderr
    assert "export OPENAI_API_KEY" in told


def test_options_that_a_target_cannot_take_are_refused(desk: Path) -> None:
    (desk / "more.py").write_text(
        "from toolwright import Runner, SequentialAgent\nfrom desk import agent, team\n"
        "runner = Runner(agent)\nline = SequentialAgent(name='line', sub_agents=[team])\n"
    )
    stored = here(
        "run", "hi", "--agent", "more:runner", "--store", "sqlite:///x.db", cwd=desk, check=2
    )
    assert "is a runner with a store of its own" in stored.stderr
    line = here("run", "hi", "--agent", "more:line", "--model", "ollama:x", cwd=desk, check=2)
    assert "'line' is a workflow whose agents all have models" in line.stderr


def test_an_error_is_told_once_with_the_address_that_could_not_be_reached(desk: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers here
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = here(
            "run",
            "hi",
            "--model",
            "ollama:x",
            cwd=desk,
            check=1,
            OLLAMA_BASE_URL=f"{address}/v1",
        )
    assert done.stderr.count("cannot reach") == 1
    assert f"ollama:x: cannot reach {address}: " in done.stderr
    assert "Traceback" not in done.stderr


# -- the session --------------------------------------------------------------------------------


def waiting_session(done: "subprocess.CompletedProcess[str]") -> str:
    found = re.search(r"waiting for an answer in session (\w+)", done.stderr)
    assert found, done
    return found[1]


def test_without_an_agent_file_the_session_is_kept_and_can_be_answered_afterwards(
    desk: Path, state: Path
) -> None:
    done = here("run", WIPE, *DESK_AGENT, cwd=desk, check=3)
    session = waiting_session(done)
    assert '"scope": "staging"' in done.stderr
    command = f"toolwright sessions answer {session} c1 --agent desk:agent"
    assert command in done.stderr

    answered = here(*command.split()[1:], "approve", cwd=desk)
    assert answered.stdout == "results: wiped staging 1 times\n"
    again = here("run", "And now?", "-s", session, *DESK_AGENT, cwd=desk)
    assert again.stdout == "read: And now?\n"


def test_what_is_kept_is_private_and_belongs_to_the_working_directory(
    desk: Path, state: Path
) -> None:
    session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))
    [database] = (state / "toolwright" / "sessions").iterdir()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert stat.S_IMODE(database.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "toolwright").stat().st_mode) == 0o700
    elsewhere = desk / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "desk.py").write_text(DESK)
    told = here("run", "hi", "-s", session, *DESK_AGENT, cwd=elsewhere, check=2).stderr
    assert told == f"There is no session '{session}'. This agent has none.\n"


def test_the_default_agent_keeps_its_session_too(desk: Path) -> None:
    done = toolwright("run", "Write.", "-m", "me", cwd=desk, stdin="/bash command=ls\n", check=3)
    session = waiting_session(done)
    listed = toolwright("sessions", "list", "--json", cwd=desk).stdout
    assert json.loads(listed)["id"] == session


def test_a_home_that_cannot_be_written_is_told_and_the_task_runs(desk: Path) -> None:
    (desk / "file").write_text("")
    done = here("run", "hi", *DESK_AGENT, cwd=desk, XDG_STATE_HOME=str(desk / "file"))
    assert done.stdout == "read: hi\n"
    assert "Sessions cannot be kept in" in done.stderr


def test_a_session_that_is_kept_nowhere_names_no_command_that_could_not_work(desk: Path) -> None:
    (desk / "file").write_text("")
    done = here("run", WIPE, *DESK_AGENT, cwd=desk, check=3, XDG_STATE_HOME=str(desk / "file"))
    assert "toolwright sessions" not in done.stderr
    assert "toolwright chat" not in done.stderr
    assert "--store" in done.stderr
    by_wish = here("run", WIPE, *DESK_AGENT, "--store", "memory://", cwd=desk, check=3)
    assert "toolwright sessions" not in by_wish.stderr


def test_the_commands_that_are_printed_work_when_pasted(desk: Path) -> None:
    store = "sqlite:///with space.db"
    asked = here("run", WIPE, *DESK_AGENT, "--store", store, cwd=desk, check=3)
    session = waiting_session(asked)
    shown = here("sessions", "show", session, *DESK_AGENT, "--store", store, cwd=desk).stdout
    [printed], [again] = (
        [line for line in text.splitlines() if line.startswith("answer: toolwright")]
        for text in (asked.stderr, shown)
    )
    assert printed == again
    words = shlex.split(printed.removeprefix("answer: toolwright "))
    assert here(*words, cwd=desk).stdout == "results: wiped staging 1 times\n"


def test_a_session_of_a_person_who_plays_the_model_is_answered_with_the_command(desk: Path) -> None:
    me = ("--agent", "desk:bare", "-m", "me")
    asked = toolwright("run", "hi", *me, cwd=desk, stdin="/wipe scope=x\n", check=3)
    session = waiting_session(asked)
    shown = here("sessions", "show", session, "--agent", "desk:bare", cwd=desk).stdout
    for text in (asked.stderr, shown):
        assert f"toolwright sessions answer {session} " in text
        assert " --agent desk:bare --model me approve\n" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("",), "The task is empty"),
        ((" \n",), "The task is empty"),
        (("-", "extra"), "`-` reads the whole task from standard input"),
        (("two", "words"), "put it in quotes: 'two words'"),
    ],
)
def test_words_that_are_no_task_are_refused_with_what_is_wrong(
    desk: Path, state: Path, words: tuple[str, ...], told: str
) -> None:
    assert told in here("run", *words, *DESK_AGENT, cwd=desk, check=2).stderr
    assert not state.exists()


def test_the_mark_before_the_first_character_is_no_part_of_the_task(desk: Path) -> None:
    done = toolwright("run", "-", *DESK_AGENT, cwd=desk, stdin="\ufeffhi")
    assert done.stdout == "read: hi\n"


def test_an_unknown_session_is_an_error_that_names_the_known_ones(desk: Path) -> None:
    session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))
    wrong = session[:-1] + ("0" if session[-1] != "0" else "1")
    told = here("run", "hi", "-s", wrong, *DESK_AGENT, cwd=desk, check=2).stderr
    assert told == (f"There is no session '{wrong}'. Did you mean '{session}'? Known: {session}.\n")
    assert here("chat", "desk:agent", "-s", wrong, cwd=desk, check=2).stderr == told


def test_yes_approves_what_asks_and_leaves_other_questions_open(desk: Path) -> None:
    done = here("run", WIPE, "--yes", *DESK_AGENT, cwd=desk)
    assert done.stdout == "results: wiped staging 1 times\n"
    asked = here("run", 'ask_user {"question": "Why?"}', "--yes", *DESK_AGENT, cwd=desk, check=3)
    assert "Why?" in asked.stderr
    assert "an approval is not" not in asked.stderr


# -- the reader goes away -----------------------------------------------------------------------


def head(*words: str, cwd: Path) -> tuple[int, str]:
    """Run `toolwright … | head -1`: the exit code and what is on standard error."""
    with LoadedProgram(
        [sys.executable, "-m", "toolwright.cli", *words], cwd=cwd, env=clean_environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()
    return process.returncode, told


def test_a_reader_that_goes_away_ends_the_program_quietly(desk: Path) -> None:
    assert head("config", "schema", cwd=desk) == (141, "")
    assert head("run", "hi", "--json", *DESK_AGENT, cwd=desk) == (141, "")


def test_a_call_that_is_approved_beforehand_approves_nothing_that_comes_of_it(desk: Path) -> None:
    (desk / "wiping.py").write_text(WIPING)
    both = json.loads(
        here("tools", "call", "both", "-a", "wiping:agent", "--yes", cwd=desk, check=3).stdout
    )
    assert [waiting["hint"] for waiting in both["pending"]] == ["Wipe 4000000 rows?"]
    inner = json.loads(
        here(
            "tools", "call", "helper", "request=x", "-a", "wiping:agent", "--yes", cwd=desk, check=3
        ).stdout
    )
    assert [waiting["call_id"].count("/") for waiting in inner["pending"]] == [1]
    alone = json.loads(
        here("tools", "call", "plain", "-a", "wiping:agent", "--yes", cwd=desk).stdout
    )
    assert alone["output"] == "wiped"


# -- how these tests start it -------------------------------------------------------------------

_PROBE = """
import atexit, json, os, signal, sys, tempfile
atexit.register(lambda: print("the end"))
streams = [(s.encoding, s.errors, s.line_buffering, s.isatty(), s.fileno()) for s in (sys.stdin, sys.stdout, sys.stderr)]
print(json.dumps([
    os.getcwd(), sys.argv, sys.path[0], __name__, dict(os.environ), streams, sys.stdin.read(),
    [str(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP)],
    [n for n in range(3, 30) if os.path.exists(f"/proc/self/fd/{n}") and not os.readlink(f"/proc/self/fd/{n}").startswith("/proc")],
    os.getpgid(0), os.getsid(0), os.getppid(), tempfile.gettempdir(), sys.dont_write_bytecode,
]))
sys.exit(7)
"""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What is started takes interrupts, whatever the shell that has started the tests says."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_program_that_was_loaded_before_finds_what_one_finds_that_starts_by_itself(
    tmp_path: Path,
) -> None:
    (tmp_path / "probe.py").write_text(_PROBE)
    (tmp_path / "tmp").mkdir()
    for unbuffered in ("", "1"):
        env = clean_environment(PYTHONUNBUFFERED=unbuffered, TMPDIR=str(tmp_path / "tmp"))
        for words in (["-m", "probe", "a"], [str(tmp_path / "probe.py"), "b"]):
            command = [sys.executable, *words]
            alone = subprocess.run(
                command, cwd=tmp_path, env=env, input="typed", capture_output=True, text=True,
                timeout=60, check=False,
            )  # fmt: skip
            loaded = run_loaded(command, cwd=tmp_path, env=env, input="typed")
            assert json.loads(alone.stdout.splitlines()[0])[6] == "typed"
            assert loaded.stdout == alone.stdout
            assert (loaded.returncode, loaded.stderr) == (alone.returncode, alone.stderr) == (7, "")
