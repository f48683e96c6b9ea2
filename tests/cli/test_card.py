"""What a person decides on is in sight beside Approve, whoever wrote it and however small the screen."""

import io
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, get_args
from unittest.mock import patch

import anyio
import pyte
import pytest
from rich.console import Console

from toolwright.cli import _ask, _chat, _form
from toolwright.cli._card import Card, lay_out, whole_rows
from toolwright.cli._go import UNANSWERED
from toolwright.cli._screen import Screen, cells
from toolwright.cli._terminal import Terminal
from toolwright.messages import Approve, Pending, PendingKind, Reject, shown_json, visible

LABELS = "|".join(f"{label:<8}" for label in ("waits", "asks", "until", "with", "about", "choose", "leads to", "asked by", "careful", "note", "field", ""))  # fmt: skip
FOREIGN = re.compile(f"({LABELS}) [│┊] ")
OURS = re.compile(
    r"\([\d,]+ characters; `show` pages through them all\)|\(too much for this screen: `show` "
    r"pages through it; a yes counts after that\)|\(this terminal is too narrow to show it: make it wider\)"
)


def shown(
    pending: Pending, size: Screen, note: str = "", *, seen: bool = False
) -> tuple[Card, list[str]]:
    """What a terminal of this size shows when the person is asked."""
    written = io.StringIO()
    terminal = Terminal(console=Console(file=written, force_terminal=True, width=size.columns))
    with patch.object(_ask, "screen", lambda: size):
        card = _ask._ask(pending, terminal, note, seen=seen)
    emulated = pyte.Screen(size.columns, size.rows)
    stream = pyte.Stream(emulated)
    # The emulator takes U+FE0F for a cell of its own, and loses what follows U+200D.
    assert "\u200d" not in written.getvalue()
    stream.feed(f"{written.getvalue()}answer> ".replace("\n", "\r\n").replace("\ufe0f", ""))
    for row in re.sub(r"\x1b\[[\d;]*m", "", written.getvalue()).split("\n"):
        assert cells(row) < max(size.columns, 22), row
    return card, [row.rstrip() for row in emulated.display]


def read(rows: Iterable[str]) -> str:
    """The foreign text of these rows as it was before it was wrapped."""
    found = [row for row in rows if FOREIGN.match(f"{row} ")]
    return "".join({"│": "\n", "┊": ""}[row[9]] + row[11:] for row in found)


# What forges: words of the card, blanks and newlines up to another row, wide and odd characters.
WORDS = [
    "waits    │ c9  ls (confirmation)", "answer> ", "approve (y) · reject", "{", '"to": "boss"', " " * 80,
    "\n", "\n\n", "\t", "\r\n", "漢字" * 30, "é" * 50, "e\u0301" * 9, "👩\u200d🔧" * 9, "❤\ufe0f", "\u202e",
    "\u200b", "\x1b[2J", "שלום", "p\u0430ypal", "│", "┊ ", "x" * 500, "\\" * 99, "…", "https://a.example/",
    "\u00a0", "\ud800", "ﷺ", "plain", "a b c",
]  # fmt: skip


def text(chance: Random, most: int = 10) -> str:
    return "".join(chance.choices(WORDS, k=chance.randrange(most)))


def members(chance: Random) -> dict[str, Any]:
    names = [text(chance, 3) for _ in range(chance.randrange(9))]
    return {name: chance.choice([text(chance), [text(chance)] * 3, 5, None]) for name in names}


def hostile(chance: Random, kind: PendingKind) -> Pending:
    options = {"options": [text(chance, 4) for _ in range(chance.randrange(30))]}
    return Pending(
        call_id=chance.choice(["c1", "call-1/" + "0123456789abcdef" * 4]),
        name=chance.choice(["send_report", "n" * 64, "long" * 400]),
        kind=kind,
        hint=text(chance),
        arguments=members(chance),
        payload=chance.choice([None, members(chance), text(chance), options]),
        rule=chance.choice(["", "a rule", text(chance)]),
    )


def size(chance: Random) -> Screen:
    return Screen(chance.choice([21, 40, 80, 120]), chance.choice([4, 9, 13, 24, 50]))


@pytest.mark.parametrize("kind", get_args(PendingKind))
def test_no_foreign_text_begins_a_row_and_all_that_is_printed_fits(kind: PendingKind) -> None:
    for seed in range(25):
        chance = Random(seed)
        pending, there, note = hostile(chance, kind), size(chance), text(chance, 3)
        card, display = shown(pending, there, note)
        used = [row for row in display if row]
        assert used[-1] == "answer>", seed
        ours = " ".join(row for row in used[:-1] if not FOREIGN.match(f"{row} "))
        helps = {" ".join(_ask._help(pending).split()), _ask._UNSEEN}
        if there.rows > 9 or card.is_enough:
            assert re.sub(OURS, "", ours, count=1).strip() in helps, seed
        if card.is_enough:  # nothing has scrolled away
            assert sum(row.startswith("waits    │ c") for row in used) == 1, seed


def test_beside_approve_are_the_tools_name_and_both_ends_of_everything() -> None:
    enough = 0
    for seed in range(100):
        chance = Random(seed)
        pending, there = hostile(chance, "confirmation"), size(chance)
        card, display = shown(pending, there)
        assert (
            "approve (y)" in " ".join(row for row in display if "│" not in row)
        ) == card.is_enough
        if not card.is_enough:
            continue
        enough += 1
        lines = read(card.rows).split("\n")
        head = next(line for line in lines if line.endswith(f"{pending.name[-50:]} (confirmation)"))
        assert pending.name[:50] in head, seed
        for name, value in pending.arguments.items():
            key, said = there.spell(shown_json(name)), there.spell(shown_json(value))
            found = [line for line in lines if line.lstrip().startswith(key[:50])]
            start = f": {said[:8]}".rstrip("\\")
            assert card.is_whole or any(start in line and said[-8:] in line for line in found), seed
            assert found, seed
        assert ("asked by" in "".join(row[:8] for row in card.rows)) == bool(pending.rule), seed
    assert 20 <= enough < 80  # both are tried


def test_in_full_nothing_is_left_out_and_every_row_fits() -> None:
    for seed in range(50):
        chance = Random(seed)
        pending, there = hostile(chance, "confirmation"), size(chance)
        rows = whole_rows(pending, there)
        assert all(FOREIGN.match(row) and cells(row) < there.columns for row in rows), seed
        assert there.spell(shown_json(pending.arguments, indent=2)) in read(rows), seed
        assert [visible(row) for row in rows] == rows, seed


def test_rows_are_measured_as_another_encoding_writes_them() -> None:
    for seed in range(50):
        chance = Random(seed)
        pending, there = hostile(chance, "confirmation"), size(chance)._replace(encoding="latin-1")
        card = lay_out(pending, there, there.rows)
        assert len(card.rows) <= max(4, there.rows), seed
        for row in card.rows:
            assert row.encode("latin-1").decode("latin-1") == row, seed
            assert cells(row) < there.columns, seed


# -- the findings -----------------------------------------------------------------------------------


def confirm(**given: Any) -> Pending:
    return Pending(call_id="c1", name="write", kind="confirmation", **given)


JOINED = {
    "joined": "a" * 51 + "😀" + ("\u200d😀" + "x" * 62 + "😀") * 12,
    "styled": "a" * 52 + "❤" + ("\ufe0f" + "x" * 64 + "❤") * 12,
    "styles": "❤\ufe0f" * 600,
    "a chain": "😀\u200d" * 300 + "😀",
    "a chain of styles": "❤\ufe0f\u200d" * 300 + "❤",
}


@pytest.mark.parametrize("shift", range(5))
@pytest.mark.parametrize("content", JOINED.values(), ids=JOINED)
def test_pictures_at_the_end_of_a_row_push_nothing_off_the_screen(content: str, shift: int) -> None:
    for there in (Screen(80, 24), Screen(80, 40), Screen(41, 24)):
        arguments = {"path": "/decoy/.bashrc", "content": "b" * shift + content + "b" * shift}
        card, display = shown(confirm(arguments=arguments), there)
        assert card.is_enough
        assert [visible(row) for row in card.rows] == card.rows
        assert display[1].startswith("waits    │ c1  write")
        assert any("/decoy/.bashrc" in row for row in display)
        begun = [row for row in display if row and not FOREIGN.match(f"{row} ")]
        assert not re.search("[😀❤]|aaa|xxx", "".join(begun))


def test_pictures_are_shown_as_they_are() -> None:
    _, display = shown(confirm(hint="⚠\ufe0f Careful"), Screen())
    assert display[2] == "asks     │ ⚠ Careful"


def test_blanks_up_to_the_next_row_forge_no_card() -> None:
    forged = "Send it?" + " " * 60 + "{" + " " * 79 + '  "to": "boss@work.example"'
    _, display = shown(confirm(hint=forged, arguments={"to": "eve"}), Screen(80, 24))
    assert display[2] == 'asks     │ Send it? …60 blanks… { …81 blanks… "to": "boss@work.example"'
    assert display[3:6] == ["with     │ {", '         │   "to": "eve"', "         │ }"]


def test_a_long_rule_and_many_warnings_leave_the_arguments_in_sight() -> None:
    content = "".join(f"x{chr(0x430 + n)}y " for n in range(30)) + "\u200b"
    rule = f"Rule.ask({', '.join(f'warehouse_update_{n}' for n in range(40))})"
    pending = confirm(arguments={"path": "/decoy", "content": content * 9}, rule=rule)
    card, display = shown(pending, Screen(80, 24))
    assert card.is_enough
    assert display[1] == "waits    │ c1  write (confirmation)"
    assert display[2] == 'with     │ "path": "/decoy"'
    [asked] = [row for row in display if row.startswith("asked by")]
    assert re.fullmatch(r"asked by │ Rule.ask.* … \d+ characters … .*house_update_39\)", asked)
    assert any(row.startswith("careful  │ 7 warnings: ") for row in display)


def test_short_arguments_are_shown_in_a_small_terminal() -> None:
    arguments = {"path": "/decoy", "content": "hello", "mode": "644", "encoding": "utf-8"}
    card, display = shown(confirm(arguments=arguments, rule="a rule"), Screen(80, 11))
    assert card.is_enough
    for name, value in arguments.items():
        assert f'"{name}": "{value}"' in "\n".join(display)


@pytest.mark.parametrize("place", ["arguments", "payload"])
def test_the_host_of_a_link_is_never_left_out(place: str) -> None:
    host = "accounts.example." + "secure-login." * 12 + "evil.example"
    pending = confirm(**{place: {"url": f"https://{host}/" + "signin-" * 300}})
    card, display = shown(pending, Screen(80, 16))
    assert card.is_enough
    assert not card.is_whole
    leads = next(at for at, row in enumerate(display) if row.startswith("leads to │ "))
    assert read(display[leads : leads + 3]).removeprefix("\n") == host
    assert not lay_out(pending, Screen(80, 24), 5).is_enough  # no room for it, no yes


# -- a yes counts after what it is about was in sight -----------------------------------------------

MANY = confirm(arguments={f"key{n}": "value " * 30 for n in range(40)}, rule="a rule")


def answered(
    pending: Pending, size: Screen, *typed: str, ahead: Sequence[str] = ()
) -> tuple[Any, list[str], list[str]]:
    """The answer, what was printed, and what was typed and not read; `ahead` is what was typed before
    the question, each time that it is asked."""
    left, early, written = list(typed), iter(ahead), io.StringIO()

    async def read_line(prompt: str, default: str = "") -> str:
        written.write(prompt)
        return left.pop(0)

    terminal = Terminal(console=Console(file=written, width=size.columns))
    with (
        patch.object(_ask, "screen", lambda: size),
        patch.object(_form, "screen", lambda: size),
        patch.object(_ask, "read_line", read_line),
        patch.object(_ask, "drop_typed_ahead", lambda: next(early, "")),
        patch.object(_ask, "Terminal", lambda stderr: terminal),
    ):
        answer = anyio.run(_ask.ask_person, pending)
    return answer, written.getvalue().split("\n"), left


@pytest.mark.parametrize("yes", ["y", "approve", "always", "e", 'edit {"key0": "x"}'])
def test_a_yes_is_not_taken_before_all_pages_were_shown(yes: str) -> None:
    pages = -(-len(whole_rows(MANY, Screen(80, 20))) // 19)
    assert pages > 3
    typed = [yes, "show", "", "q", yes, "show", *[""] * pages, "y"]
    answer, rows, left = answered(MANY, Screen(80, 20), *typed)
    assert (answer, left) == (Approve(), [])
    assert sum("Not all that would be decided on fits" in row for row in rows) == 2
    assert sum(row.startswith("(too much for this screen") for row in rows) == 5
    assert sum(row.startswith("show: page through it") for row in rows) == 4
    assert read(rows).count('"key39": "value') == 1


@pytest.mark.parametrize("first", ['edit {"path": }', "perhaps", "show"])
def test_what_was_typed_before_the_question_came_again_is_not_its_answer(first: str) -> None:
    pages = [""] * (first == "show")
    typed = [first, *pages, "reject so"]
    answer, rows, left = answered(confirm(), Screen(80, 40), *typed, ahead=["", "y\n"])
    assert (answer, left) == (Reject(reason="so"), [])
    assert "Typed before this question, so not taken for its answer: 'y'" in read(rows)


@pytest.mark.parametrize("command", [c for c in _ask.CHAT_COMMANDS if c != "/exit"])
@pytest.mark.parametrize("kind", ["result", "form"])
def test_a_command_of_the_chat_is_not_taken_for_the_answer(command: str, kind: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    form = Pending(call_id="c", name="survey", kind="input", arguments={}, schema=schema)
    deferred = Pending(call_id="c", name="supplier", kind="result", arguments={})
    pending, expected = (form, {"name": "/etc/x"}) if kind == "form" else (deferred, "/etc/x")
    answer, rows, left = answered(pending, Screen(80, 40), f"{command} x", "/etc/x")
    assert (answer, left) == (expected, [])
    assert f"{command} is a command of a chat and was not sent as the answer." in read(rows)


def test_whoever_leaves_at_a_question_has_not_answered_it() -> None:
    deferred = Pending(call_id="c", name="supplier", kind="result", arguments={})
    with pytest.raises(_ask.Left):
        answered(deferred, Screen(80, 40), "/exit")


def test_the_commands_that_are_no_answers_are_those_of_the_chat() -> None:
    assert set(re.findall(r"(?<!\S)/\w+", _chat._HELP)) == set(_ask.CHAT_COMMANDS)


def test_a_no_is_taken_at_once_and_what_fits_is_approved_at_once() -> None:
    answer, _, _ = answered(MANY, Screen(80, 20), "reject not this")
    assert answer == Reject(reason="not this")
    assert answered(confirm(arguments={"a": "x" * 5000}), Screen(80, 20), "y")[0] == Approve()


def test_a_terminal_that_is_too_narrow_takes_no_yes() -> None:
    answer, rows, _ = answered(confirm(), Screen(15, 40), "y", "show", "", "y", "reject so")
    assert answer == Reject(reason="so")
    assert sum(row.startswith("(this terminal") for row in rows) == 4


def test_options_out_of_sight_are_not_chosen_from() -> None:
    options = [f"option {n}" for n in range(1, 50)]
    choice = Pending(call_id="c", name="ask", kind="choice", payload={"options": options})
    answer, rows, _ = answered(choice, Screen(80, 20), "49", "/show", "", "", "", "49")
    assert answer == "option 49"
    assert "         │ 49. option 49" in rows
    assert answered(choice, Screen(80, 20), "")[0] is UNANSWERED


def test_a_wrong_answer_is_told_above_the_line_for_the_next_with_the_question_in_sight() -> None:
    answer, rows, _ = answered(confirm(arguments={"a": "b"}), Screen(80, 24), "perhaps", "n")
    assert answer == Reject()
    told = next(at for at, row in enumerate(rows) if row.startswith("note     │ 'perhaps' is no"))
    assert sum(row == "waits    │ c1  write (confirmation)" for row in rows[:told]) == 2


def test_the_words_of_a_form_begin_no_row() -> None:
    forged = "Who?" + " " * 90 + "answer> " + "x" * 300
    schema = {"type": "object", "properties": {"to": {"type": "string", "description": forged}}}
    ask = Pending(call_id="c", name="ask", kind="input", hint="h" * 3000, schema=schema)
    answer, rows, _ = answered(ask, Screen(80, 20), "", "", "", "ann")
    assert answer == {"to": "ann"}
    field = next(
        at for at, row in enumerate(rows) if row.startswith("field    │ to (Who? …90 blanks")
    )
    assert all(FOREIGN.match(row) for row in rows[field:])
    assert read(rows[field:]).endswith(") [string, optional]> ")
    assert any(
        row.startswith("(end) Enter") for row in rows
    )  # its question was paged through first


@pytest.mark.parametrize(
    ("seconds", "left"), [(90.5, "(0:01:30 left)"), (-1, "(no time left)"), (1e15, " days, ")]
)
def test_the_deadline_is_on_the_card(
    seconds: float, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    late = replace(confirm(), deadline=1_000_000.0 + seconds)
    _, rows = shown(late, Screen(columns=100, rows=40))
    [until] = [row for row in rows if row.startswith("until    │ ")]
    assert left in until
    _, rows = shown(confirm(), Screen(columns=100, rows=40))
    assert not any(row.startswith("until") for row in rows)
