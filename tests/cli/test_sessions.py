"""`toolwright sessions`, and calls that are answered with words."""

import json
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.program import DESK, here
from tests.cli.test_run import DESK_AGENT, WIPE, waiting_session

from toolwright import UsageError
from toolwright.cli._form import _value as read_field
from toolwright.cli._tools import parse_pairs
from toolwright.cli._words import choices, find_call, parse_answer, question
from toolwright.messages import Approve, Pending, Reject, shown_json

CONFIRM = Pending(
    rule="a rule", call_id="c1", name="wipe", kind="confirmation", arguments={"scope": "x"}
)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "desk.py").write_text(DESK)
    return tmp_path


def test_an_id_as_it_was_shown_finds_the_call_that_is_shown_so_and_no_other() -> None:
    hidden, written, other = (replace(CONFIRM, call_id=i) for i in ("k\u200b", "k\\u200b", "k"))
    for pending, shown in ((hidden, "k\\u200b"), (hidden, "k\u200b"), (other, "k")):
        assert find_call([other, hidden], shown) is pending
    assert find_call([other, hidden], "x") is None
    for waiting in ([hidden, written], [written, hidden]):
        with pytest.raises(UsageError, match="2 calls that wait have ids which are shown as"):
            find_call(waiting, "k\\u200b")


LATE = """\
from desk import Says
from toolwright import Agent, deferred_tool

@deferred_tool()
def supplier():
    'Ask the supplier.'

agent = Agent(name="buyer", model=Says(), tools=[supplier])
"""


def test_a_late_outcome_is_shown_as_one_and_not_as_the_persons_words(desk: Path) -> None:
    (desk / "late.py").write_text(LATE)
    agent = ("--agent", "late:agent")
    told = here("run", "supplier {}", *agent, cwd=desk, check=3).stderr
    session = told.partition("waiting for an answer in session ")[2].split()[0]
    here("run", "hm", "-s", session, *agent, cwd=desk)
    shown = here("sessions", "show", session, *agent, cwd=desk).stdout
    assert "  supplier → waits:" in shown
    call = shown.partition(f"sessions answer {session} ")[2].split()[0]
    here("sessions", "answer", session, call, "77 EUR", *agent, cwd=desk)
    shown = here("sessions", "show", session, *agent, cwd=desk).stdout
    assert f"\n  [Update on call {call} of 'supplier']\n  77 EUR\n" in shown
    assert "supplier → waits" not in shown
    assert [line for line in shown.splitlines() if line.startswith(">")] == [
        "> supplier {}",
        "> hm",
    ]


def test_a_deadline_that_has_passed_is_told_and_the_session_goes_on_without_an_answer(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "late.py").write_text(LATE.replace("deferred_tool()", "deferred_tool(timeout=3600)"))
    agent = ("--agent", "late:agent")
    told = here("run", "supplier {}", *agent, cwd=desk, check=3).stderr
    session = told.partition("waiting for an answer in session ")[2].split()[0]
    assert "until    │ " in told
    assert "  waits  " in here("sessions", "list", *agent, cwd=desk).stdout
    call = told.partition(f"sessions answer {session} ")[2].split()[0]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3700)
    assert "waits" not in here("sessions", "list", *agent, cwd=desk).stdout
    shown = here("sessions", "show", session, *agent, cwd=desk).stdout
    assert "sessions answer" not in shown
    passed = (
        "Its deadline has passed: the agent is told that nobody answered; go on: toolwright chat"
    )
    assert f"{passed} -s {session} --agent late:agent\n" in shown
    done = here("sessions", "answer", session, call, "77 EUR", *agent, cwd=desk)
    assert "The deadline of this call has passed." in done.stderr
    assert "Nobody answered in time" in done.stderr
    assert done.stdout.strip()
    assert "deadline" not in here("sessions", "show", session, *agent, cwd=desk).stdout


@pytest.mark.parametrize(
    "edit",
    ['{"cents": 1, "cents": 999}', '{"scope": {"a": 1, "a": 2}}', '{"x": [{"a": 1, "a": 1}]}'],
)
def test_an_edit_with_a_key_twice_is_refused(edit: str) -> None:
    with pytest.raises(UsageError, match="fields given more than once in one object"):
        parse_answer(CONFIRM, f"edit {edit}")


@pytest.mark.parametrize("kind", ["result", "credential", "input"])
def test_an_answer_with_a_key_twice_is_refused_and_not_taken_for_a_text(kind: Any) -> None:
    with pytest.raises(UsageError, match=r"\['cents'\].*still waits"):
        parse_answer(replace(CONFIRM, kind=kind), '{"cents": 1, "cents": 999}')


def test_an_argument_with_a_key_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'to' has fields given more than once.*\['a'\]"):
        parse_pairs(['to={"a": 1, "a": 2}'])
    with pytest.raises(UsageError, match=r"fields given more than once.*\['a'\]"):
        read_field({}, '{"a": 1, "a": 2}')


def test_sessions_are_listed_shown_and_deleted(desk: Path) -> None:
    session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))
    here("run", "Something else", *DESK_AGENT, cwd=desk)
    first, second = here("sessions", "list", "desk:agent", cwd=desk).stdout.splitlines()
    assert "Something else" in first
    assert "waits" not in first
    assert second.startswith(session)
    assert "waits  wipe" in second

    shown = here("sessions", "show", session, *DESK_AGENT, cwd=desk).stdout
    assert f"> {WIPE}" in shown
    assert '[wipe] {"scope": "staging"}' in shown
    assert "waits    │ c1  wipe (confirmation)" in shown
    events = here("sessions", "show", session, "--json", *DESK_AGENT, cwd=desk).stdout
    assert json.loads(events.splitlines()[0])["type"] == "run_started"

    assert "deleted" in here("sessions", "delete", session, *DESK_AGENT, cwd=desk).stdout
    gone = here("sessions", "show", session, *DESK_AGENT, cwd=desk, check=2).stderr
    assert f"There is no session '{session}'." in gone


def test_a_call_is_rejected_with_a_reason_or_run_with_edited_arguments(desk: Path) -> None:
    def answered(*words: str, check: int = 0) -> tuple[str, str]:
        session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))
        words = ("sessions", "answer", session, "c1", *words)
        done = here(*words, *DESK_AGENT, cwd=desk, check=check)
        return done.stdout, done.stderr

    assert "Reason: not on a Friday" in answered("reject", "not", "on", "a", "Friday")[0]
    assert "Reason: later" in answered("--reject", "later")[0]
    assert "wiped elsewhere 2 times" in answered("edit", '{"scope": "elsewhere", "count": 2}')[0]


def test_what_is_no_answer_is_refused_in_words_for_a_shell_and_the_call_still_waits(
    desk: Path,
) -> None:
    session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))

    def refused(*words: str) -> str:
        words = ("sessions", "answer", session, "c1", *words)
        return here(*words, *DESK_AGENT, cwd=desk, check=2).stderr

    assert "answer with approve | reject REASON" in refused("perhaps")
    assert "cannot be read as JSON" in refused("edit", "{")
    assert """edit '{"scope": "staging", "count": 1}'""" in refused("edit")
    assert "approve | reject REASON" in refused()
    other = ("sessions", "answer", session, "c9", "approve", *DESK_AGENT)
    told = here(*other, cwd=desk, check=2).stderr
    assert "has no call 'c9' that waits; these wait: c1" in told
    done = here("sessions", "answer", session, "c1", "yes", *DESK_AGENT, cwd=desk)
    assert done.stdout == "results: wiped staging 1 times\n"


def test_a_choice_takes_its_number_and_a_text_stays_a_text(desk: Path) -> None:
    task = 'get_user_choice {"options": ["red", "blue"]}'
    session = waiting_session(here("run", task, *DESK_AGENT, cwd=desk, check=3))
    chosen = here("sessions", "answer", session, "c1", "2", *DESK_AGENT, cwd=desk)
    assert chosen.stdout == "results: blue\n"
    task = 'ask_user {"question": "How many?"}'
    session = waiting_session(here("run", task, *DESK_AGENT, cwd=desk, check=3))
    told = here("sessions", "answer", session, "c1", "42", *DESK_AGENT, cwd=desk)
    assert told.stdout == "results: 42\n"


def test_a_tool_called_by_hand_can_be_approved_afterwards_without_a_model(desk: Path) -> None:
    words = ("tools", "call", "wipe", "scope=here", "--agent", "desk:bare")
    asked = json.loads(here(*words, cwd=desk, check=3).stdout)
    [pending] = asked["pending"]
    answer = ("sessions", "answer", asked["session"], pending["call_id"], "approve")
    here(*answer, "--agent", "desk:bare", cwd=desk)
    shown = here("sessions", "show", asked["session"], "--agent", "desk:bare", cwd=desk)
    assert "wipe → ok: wiped here 1 times" in shown.stdout


def test_reading_makes_no_database_and_says_that_there_is_none(desk: Path, state: Path) -> None:
    done = here("sessions", "list", "desk:agent", cwd=desk)
    assert (done.stdout, done.stderr) == ("", "no sessions: none was ever stored here\n")
    for command in (("list",), ("show", "x"), ("delete", "x"), ("answer", "x", "c1", "yes")):
        words = ("sessions", *command, *DESK_AGENT, "--store", "sqlite:///none.db")
        told = here(*words, cwd=desk, check=2).stderr
        assert told == "There is no database with sessions at sqlite:///none.db.\n"
    assert not state.exists()
    assert not (desk / "none.db").exists()


KEEPER = """\
from toolwright import Agent, ToolContext, deferred_tool


def note(key: str, tool_context: ToolContext) -> str:
    tool_context.state[key] = tool_context.state.get(key, 0) + 1
    return f"{tool_context.state[key]} times"


@deferred_tool
def order(part: str) -> None:
    "Order a part."


agent = Agent(name="keeper", tools=[note, order])
"""


def test_a_call_that_leaves_nothing_behind_makes_no_database(desk: Path, state: Path) -> None:
    (desk / "keeper.py").write_text(KEEPER)

    def called(*words: str, check: int = 0) -> str:
        return here("tools", "call", *words, "-a", "keeper:agent", cwd=desk, check=check).stdout

    files = set(desk.iterdir())
    called("nope", check=2)
    called("note", "kee=1", check=1)
    for key in ("mine", "temp:mine"):  # of its own session, which nobody goes on with
        assert "1 times" in called("note", f"key={key}")
    assert not state.exists()
    assert {file for file in desk.iterdir() if file.name != "__pycache__"} == files
    # What others find is kept, and from then on all of it.
    for key in ("user:mine", "app:ours"):
        for times in (1, 2):
            assert f"{times} times" in called("note", f"key={key}")
        for database in state.rglob("*.db*"):
            database.unlink()


def test_a_call_that_waits_makes_a_database_for_its_answer(desk: Path, state: Path) -> None:
    (desk / "keeper.py").write_text(KEEPER)
    words = ("tools", "call", "order", "part=gear", "-a", "keeper:agent")
    asked = json.loads(here(*words, cwd=desk, check=3).stdout)
    assert [path.stat().st_mode & 0o77 for path in state.rglob("*.db")] == [0]
    answer = ("sessions", "answer", asked["session"], asked["pending"][0]["call_id"], "here")
    here(*answer, "-a", "keeper:agent", cwd=desk)
    shown = here("sessions", "show", asked["session"], "-a", "keeper:agent", cwd=desk).stdout
    assert "order → ok: here" in shown


def test_a_call_that_waits_says_so_also_where_nothing_can_be_kept(desk: Path, state: Path) -> None:
    (desk / "keeper.py").write_text(KEEPER)
    state.write_text("no directory")
    words = ("tools", "call", "order", "part=gear", "-a", "keeper:agent")
    done = here(*words, cwd=desk, check=3)
    assert json.loads(done.stdout)["status"] == "pending"
    assert "This one is lost when the program ends." in done.stderr


OTHERS = "Other agents have sessions: 'desk' (2); name one of them with --agent."


@pytest.mark.parametrize("file", ["", "name: helper\n"])
def test_sessions_of_other_agents_are_counted_where_this_one_has_none(
    desk: Path, file: str
) -> None:
    if file:  # its sessions are in a place of their own
        (desk / "agent.yaml").write_text(file)
    for task in ("One", "Two"):
        here("run", task, *DESK_AGENT, cwd=desk)
    told = here("sessions", "list", cwd=desk).stderr
    assert told.startswith("no sessions")
    assert OTHERS in told
    for words in (("sessions", "show", "nope"), ("run", "hi", "-m", "me", "-s", "nope")):
        told = here(*words, cwd=desk, check=2).stderr
        assert told == f"There is no session 'nope'. This agent has none. {OTHERS}\n"
    told = here("sessions", "show", "nope", *DESK_AGENT, cwd=desk, check=2).stderr
    assert "Known: " in told
    assert "Other agents" not in told


def test_a_database_of_another_program_is_left_alone(desk: Path) -> None:
    with closing(sqlite3.connect(desk / "other.db")) as other:
        other.execute("CREATE TABLE mine (x)")
        other.commit()
    before = (desk / "other.db").read_bytes()
    words = ("sessions", "list", "desk:agent", "--store", "sqlite:///other.db")
    assert "no database with sessions" in here(*words, cwd=desk, check=2).stderr
    assert (desk / "other.db").read_bytes() == before


def test_an_agent_file_without_sessions_gets_no_directory_by_looking(desk: Path) -> None:
    (desk / "agent.yaml").write_text("name: helper\n")
    assert "no sessions" in here("sessions", "list", cwd=desk).stderr
    assert list(desk.rglob("agents")) == []


# -- the words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("approve", Approve()),
        ("y", Approve()),
        ("YES", Approve()),
        ("true", Approve()),
        ("always", Approve(remember="session")),
        ("a", Approve(remember="session")),
        ("always arguments", Approve(remember="arguments")),
        ("always session", Approve(remember="session")),
        ("always user", Approve(remember="user")),
        ("no", Reject()),
        ("n  not now", Reject(reason="not now")),
        ("reject too much", Reject(reason="too much")),
        ('edit {"scope": "y"}', Approve(arguments={"scope": "y"})),
    ],
)
def test_words_that_answer_a_confirmation(text: str, answer: Any) -> None:
    assert parse_answer(CONFIRM, text) == answer


@pytest.mark.parametrize(
    "text", ["", "ok?", "yes but not today", "always not", "always source", "1", "edit 5", "{}"]
)
def test_what_is_not_clearly_a_yes_is_not_a_yes(text: str) -> None:
    with pytest.raises(UsageError):
        parse_answer(CONFIRM, text)


def test_only_what_can_be_remembered_is_offered() -> None:
    moved = replace(CONFIRM, payload={"source": "mcp:files", "changes": []})
    assert choices(CONFIRM) == (
        "approve | reject REASON | always [arguments|session|user] | edit '{…}'"
    )
    assert "always [arguments|session|user|source]" in choices(moved)
    assert parse_answer(moved, "always source") == Approve(remember="source")
    own = replace(CONFIRM, rule="")
    assert "always" not in choices(own)
    with pytest.raises(UsageError, match="is no answer"):
        parse_answer(own, "always")


def test_a_question_names_its_rule_and_the_words_that_look_like_others() -> None:
    shown = question(replace(CONFIRM, arguments={"to": "p\u0430ypal"}))
    assert "asked by │ a rule" in shown
    assert "careful  │ letters that look like others: “p\u0430ypal” has \u0430 (U+0430)" in shown
    assert "careful" not in question(replace(CONFIRM, arguments={"to": "Москва, Größe"}))


@pytest.mark.parametrize(
    ("kind", "schema", "text", "answer"),
    [
        ("input", {"type": "string"}, "5", "5"),
        ("input", {"type": "integer"}, "5", 5),
        ("input", None, "[" * 100_000, "[" * 100_000),
        ("credential", None, "12345", "12345"),
        ("credential", None, '{"api_key": "k"}', {"api_key": "k"}),
        ("result", None, "true", True),
    ],
)
def test_a_value_is_what_was_asked_for(kind: Any, schema: Any, text: str, answer: Any) -> None:
    pending = Pending(call_id="c", name="t", kind=kind, schema=schema)
    assert parse_answer(pending, text) == answer


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_arguments_are_shown_in_full_with_nothing_that_a_terminal_obeys(
    arguments: dict[str, Any],
) -> None:
    shown = shown_json(arguments, indent=2)
    assert json.loads(shown) == arguments
    assert shown.replace("\n", "").isprintable()
    asked = question(Pending(call_id="c", name="t", kind="confirmation", arguments=arguments))
    assert shown in "".join({"│": "\n", "┊": ""}[row[9]] + row[11:] for row in asked.split("\n"))


def test_a_session_that_another_process_holds_is_refused_once_with_the_reason(desk: Path) -> None:
    session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))
    # As another program has left it that runs the session: this process, which is alive.
    name = f"vm-{os.getpid()}-abc"
    row = (name, "elsewhere", os.getpid(), 30.0, 0, time.time())
    [kept] = desk.rglob("*.db")
    with closing(sqlite3.connect(kept)) as database, database:
        database.execute(
            "INSERT INTO toolwright_workers (name, machine, pid, lease, beat, beat_at) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
        held = "UPDATE toolwright_sessions SET hold = 'h', holder = ?, held_since = 0"
        database.execute(held, (name,))
    for words in (
        ("run", "Go on", "--session", session),
        ("sessions", "answer", session, "c1", "yes"),
    ):
        told = here(*words, *DESK_AGENT, cwd=desk, check=1).stderr
        assert told.count(f"is held by process {os.getpid()} on vm since 1970-01-01") == 1
        assert told.count("nothing was run here") == 1
        assert "Traceback" not in told


def test_options_that_are_numbers_are_not_chosen_by_number() -> None:
    def choice(*options: str) -> Pending:
        return Pending(call_id="c", name="n", kind="choice", payload={"options": [*options]})

    colours, numbers = choice("red", "blue"), choice("3", "1", "2")
    assert "│ 1. red\n         │ 2. blue" in question(colours)
    assert [parse_answer(colours, text) for text in ("2", "red")] == ["blue", "red"]
    assert "│ - 3\n         │ - 1\n         │ - 2" in question(numbers)
    read = {text: parse_answer(numbers, text) for text in ("1", "2", "3")}
    assert {text: str(value) for text, value in read.items()} == {"1": "1", "2": "2", "3": "3"}
    # Numbers that no option has stay: here nothing can be meant in two ways.
    assert parse_answer(choice("10", "20"), "2") == "20"
    assert str(parse_answer(colours, "9" * 5000)) == "9" * 5000
