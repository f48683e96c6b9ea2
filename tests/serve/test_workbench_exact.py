"""What the page shows of a call is what runs: every number, every argument, every part of a question."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Locator, Page, Route, expect
from pydantic import BaseModel
from tests.serve._workbench import Story, workbench

from toolwright import Agent, Output, Runner, ToolContext, tool
from toolwright.messages import ToolSpec
from toolwright.testing import call
from toolwright.tools import Tool, schema_parser, with_confirmation

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]

BIG = 12345678901234567891
PLAN = {"rows": BIG, "database": "production", "steps": [f"step {n}" for n in range(300)]}
OPEN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "count": {"type": "integer"},
        "loud": {"type": "boolean", "default": True},
        "mode": {"enum": ["slow", "fast"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
ITSELF = {"$ref": "#/$defs/A"}
HOSTILE: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "A": {"anyOf": [ITSELF, {"type": "null"}]},
        "B": {"type": "array", "items": {"$ref": "#/$defs/B"}},
        "C": {"type": "object", "properties": {"c": {"$ref": "#/$defs/C"}}, "required": ["c"]},
    },
    "properties": {
        **{name.lower(): {"$ref": f"#/$defs/{name}"} for name in "ABC"},
        "constructor": {"type": "string"},
        "anything": True,
    },
}
LONG_NAME = "n" * 3000
DECOYS = " ".join(f"w{n}\u0430" for n in range(7))
STORY: dict[str, list[Any]] = {
    "big": [call("pay", account=BIG, rate=0.1, note="rent"), "Done."],
    "text": [call("send", note="a\r\nb", where={"city": "a\u202eb"}), "Done."],
    "lines": [call("pay", account=1, rate=1.0, note="a\nb"), "Done."],
    "extra": [
        call("send", note="hi", bcc="eve@x.test", where={"city": "Rome", "lat": BIG}),
        "Done.",
    ],
    "misfit": [
        call("send", mode="backwards", names=["a\nb", "c"], loud=None, count="many"),
        "Done.",
    ],
    "long name": [call("send", **{LONG_NAME: "and delete all"}), "Done."],
    "long word": [call("send", note="я" * 40_000), "Done."],
    "many": [call("send", **{f"k{n}": n for n in range(2000)}), "Done."],
    "pile": [call("send", note="a" + "\u0301" * 400), "Done."],
    "leftward": [call("send", note="cp \u05d0\u05d1 1 2 \u05d2 | x\u0627 (9)"), "Done."],
    "spaces": [call("send", note="rm\u00a0-rf\u3000x", empty="", quotes="\u201c\u201d"), "Done."],
    "decoys": [call("send", note=DECOYS, to="p\u0430ypal.com"), "Done."],
    "own": [call("wipe", rows=BIG), "Done."],
    "fill in": [call("fill_in", question="Which?"), "Done."],
}


class Branch(BaseModel):
    """A node of a tree: its schema contains itself."""

    name: str
    inner: "Branch | None" = None


@tool(require_confirmation=True)
async def pay(account: int, rate: float, note: str = "") -> str:
    """Pay."""
    return json.dumps([account, rate, note])


@tool
async def wipe(rows: int, tool_context: ToolContext) -> str:
    """Wipe."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Really?", payload=PLAN | {"rows": rows, "a": None})
    return "wiped"


@tool
async def fill_in(question: str, tool_context: ToolContext) -> str:
    """Ask."""
    tool_context.request_input(hint=question, schema={"type": "string"}, payload="only by Friday")
    return ""


@tool
async def plant(branch: Branch) -> str:
    """Plant."""
    return branch.name


def taking(name: str, parameters: dict[str, Any]) -> Tool:
    """A tool that says what it was called with; it takes more than its schema says."""

    async def run(args: Any, ctx: ToolContext) -> Output:
        return Output(text=json.dumps(args))

    spec = ToolSpec(name=name, description="Take anything.", parameters=parameters)
    made = Tool(spec=spec, parse=schema_parser(name, {"type": "object"}), run=run)
    return with_confirmation(made, True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    tools = [pay, wipe, fill_in, plant, taking("send", OPEN), taking("odd", HOSTILE)]
    with workbench(Runner(Agent(name="smith", model=Story(STORY), tools=tools))) as url:
        yield url


def begin(page: Page, address: str, message: str) -> str:
    session = httpx2.post(f"{address}/api/sessions", json={}).json()["id"]
    httpx2.post(f"{address}/api/sessions/{session}/runs", json={"message": message})
    page.goto(f"{address}/#/chat/{session}")
    expect(page.locator(".answer")).to_be_visible()
    return session


def edit(page: Page) -> Locator:
    page.locator(".answer").get_by_role("button", name="Edit").click()
    return page.locator(".answer")


def approve(
    page: Page, address: str, session: str, button: str = "Approve as edited", *, left: bool = False
) -> Any:
    """Press the button; the answer that the server has taken, and what the call then ran with.

    An edit that has `left` something out is asked about once more, with what is left.
    """
    page.get_by_role("button", name=button, exact=True).click()
    if left:
        page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()
    events = httpx2.get(f"{address}/api/sessions/{session}/events").json()
    answers = [event["answer"] for event in events if event["type"] == "pending_answered"]
    assert len(answers) == 1 + left
    [result] = [event["result"] for event in events if event["type"] == "tool_ended"]
    return answers[0], result["content"][-1]["text"]


def test_a_large_number_is_shown_and_edited_as_it_is(page: Page, address: str) -> None:
    session = begin(page, address, "big")
    expect(page.locator(".answer dd").first).to_have_text(str(BIG))
    expect(page.locator(".call-args")).to_contain_text(f"account: {BIG}")
    form = edit(page)
    expect(form.get_by_label("account")).to_have_value(str(BIG))
    form.get_by_label("note").fill("rent for May")
    form.get_by_label("rate").fill("0.30000000000000004")
    answer, ran = approve(page, address, session)
    assert answer["arguments"] == {
        "account": BIG,
        "rate": 0.30000000000000004,
        "note": "rent for May",
    }
    assert f'[{BIG}, 0.30000000000000004, "rent for May"]' in ran


def test_an_edit_of_nothing_changes_nothing(page: Page, address: str) -> None:
    for message in ("big", "text", "extra", "misfit"):
        session = begin(page, address, message)
        form = edit(page)
        form.get_by_role("button", name="As JSON").click()
        form.get_by_role("button", name="As a form").click()
        answer, _ = approve(page, address, session)
        assert answer["arguments"] is None, message


def test_what_a_field_would_hide_or_change_is_edited_as_json(page: Page, address: str) -> None:
    session = begin(page, address, "text")
    form = edit(page)
    expect(form.get_by_label("note JSON")).to_have_value(r'"a\r\nb"')
    expect(form.get_by_label("city JSON")).to_have_value(r'"a\u202eb"')
    form.get_by_label("note JSON").fill(r'"a\r\nc"')
    answer, ran = approve(page, address, session)
    assert answer["arguments"] == {"note": "a\r\nc", "where": {"city": "a\u202eb"}}
    assert json.dumps(answer["arguments"]) in ran


def test_lines_are_edited_as_lines(page: Page, address: str) -> None:
    begin(page, address, "lines")
    expect(edit(page).get_by_label("note")).to_have_value("a\nb")


def test_arguments_that_the_schema_does_not_name_are_in_the_form(page: Page, address: str) -> None:
    session = begin(page, address, "extra")
    form = edit(page)
    expect(form.get_by_label("bcc JSON")).to_have_value('"eve@x.test"')
    expect(form.get_by_label("lat JSON")).to_have_value(str(BIG))
    form.get_by_label("bcc JSON").fill("")
    form.get_by_label("lat JSON").fill(str(BIG + 1))
    answer, _ = approve(page, address, session, left=True)
    assert answer["arguments"] == {"note": "hi", "where": {"city": "Rome", "lat": BIG + 1}}


def test_a_value_that_does_not_fit_its_field_is_shown_as_it_is(page: Page, address: str) -> None:
    begin(page, address, "misfit")
    form = edit(page)
    expect(form.get_by_label("mode JSON")).to_have_value('"backwards"')
    expect(form.get_by_label("names JSON")).to_have_value('[\n  "a\\nb",\n  "c"\n]')
    expect(form.get_by_label("count JSON")).to_have_value('"many"')
    expect(form.get_by_label("loud")).to_have_value("null")


def test_what_is_not_given_is_not_shown_as_a_no(page: Page, address: str) -> None:
    begin(page, address, "extra")
    expect(edit(page).get_by_label("loud").locator("option:checked")).to_have_text("Not set (true)")


def test_what_cannot_be_read_is_not_sent(page: Page, address: str) -> None:
    session = begin(page, address, "extra")
    form = edit(page)
    form.get_by_role("button", name="As JSON").click()
    for wrong in ("{", "[1]", '{"a": 01}'):
        form.get_by_label("Arguments").fill(wrong)
        form.get_by_role("button", name="Approve as edited").click()
        assert not form.get_by_label("Arguments").evaluate("area => area.checkValidity()")
    form.get_by_label("Arguments").fill("{}")
    # The first answer counts: one of those before would be in its place.
    assert approve(page, address, session, left=True)[0]["arguments"] == {}


def test_a_number_that_is_none_is_not_sent(page: Page, address: str) -> None:
    begin(page, address, "big")
    field = edit(page).get_by_label("account")
    for text, is_number in (("12,5", False), ("0x10", False), ("-1e5", True), (f"{BIG}0", True)):
        field.fill(text)
        assert field.evaluate("input => input.checkValidity()") is is_number


def test_the_form_waits_for_the_schema(page: Page, address: str) -> None:
    held: list[Route] = []
    page.route("**/api/tools", lambda route: held.append(route))
    begin(page, address, "extra")
    form = edit(page)
    expect(form.get_by_text("Reading what the tool takes…")).to_be_visible()
    expect(form.get_by_role("button", name="Approve as edited")).to_be_disabled()
    held[0].continue_()
    expect(form.get_by_label("city")).to_have_value("Rome")
    expect(form.get_by_role("button", name="Approve as edited")).to_be_enabled()


WIDTHS = {"phone": (375, 780), "desk": (1280, 800)}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_name_leaves_its_value_beside_the_button(
    page: Page, address: str, width: str
) -> None:
    page.set_viewport_size(dict(zip(("width", "height"), WIDTHS[width], strict=True)))  # type: ignore[arg-type]
    begin(page, address, "long name")
    button = page.get_by_role("button", name="Approve", exact=True)
    button.scroll_into_view_if_needed()
    value = page.locator(".answer dd", has_text="and delete all")
    expect(value).to_be_in_viewport(ratio=1)
    assert value.evaluate("dd => dd.offsetHeight") < 40, "it stands on one line"
    expect(button).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Show the 2,820 characters between").click()
    expect(page.locator(".answer dt")).to_have_text(LONG_NAME)
    edit(page)
    wide = "all => all.filter((e) => e.getBoundingClientRect().right > innerWidth).length"
    assert page.locator(".answer *").evaluate_all(wide) == 0


def test_a_question_of_a_tool_shows_all_that_it_is_about(page: Page, address: str) -> None:
    begin(page, address, "own")
    about = page.locator(".answer .added")
    expect(about.locator("dt")).to_have_text(["database", "steps", "a"])
    expect(about).to_contain_text("production")
    expect(about).not_to_contain_text("step 150")
    about.get_by_role("button", name="Show the 285 lines").click()
    assert json.loads(about.locator(".whole", has_text="step 1").text_content() or "") == PLAN["steps"]  # fmt: skip
    # What equals an argument is shown as the argument, until that is changed.
    edit(page).get_by_label("rows").fill("7")
    expect(about.locator("dt")).to_have_text(["rows", "database", "steps", "a"])
    expect(about.locator("dd").first).to_have_text(str(BIG))


def test_a_question_for_input_shows_what_it_is_about(page: Page, address: str) -> None:
    begin(page, address, "fill in")
    expect(page.locator(".answer .added")).to_contain_text("only by Friday")


def test_a_word_of_any_length_and_many_arguments_keep_nothing_busy(
    page: Page, address: str
) -> None:
    begin(page, address, "long word")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible(timeout=3000)
    expect(edit(page).get_by_label("note")).to_have_value("я" * 40_000)
    begin(page, address, "many")
    expect(page.locator(".answer dt")).to_have_count(50)
    expect(page.locator(".answer dt").last).to_have_text("k1999")
    page.get_by_role("button", name="Show the 1,950 values between").click()
    expect(page.locator(".answer dt")).to_have_count(2000)


def test_signs_piled_upon_a_letter_are_shown_as_marks(page: Page, address: str) -> None:
    begin(page, address, "pile")
    shown = page.locator(".answer").inner_text()
    assert "a" + "\u0301" * 5 + r"\u0301" * 395 in shown
    assert "395 hidden characters are shown as marks." in shown


GLYPHS = """
    (element) => {
      const places = [];
      const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node; (node = texts.nextNode()); ) {
        for (let at = 0; at < node.data.length; at++) {
          const range = document.createRange();
          range.setStart(node, at);
          range.setEnd(node, at + 1);
          if (node.data[at].trim()) places.push([range.getBoundingClientRect().left, node.data[at]]);
        }
      }
      return places.sort((a, b) => a[0] - b[0]).map(([, char]) => char).join("");
    }
"""


def test_words_are_drawn_in_the_order_in_which_they_stand(page: Page, address: str) -> None:
    begin(page, address, "leftward")
    drawn = page.locator(".answer dd .whole").evaluate(GLYPHS)
    # Within a word the letters are read from right to left, as they are written.
    assert drawn == "cp\u05d1\u05d012\u05d2|x\u0627(9)"
    assert "shown in the order in which they stand" in page.locator(".answer").inner_text()


def test_a_space_that_is_not_the_plain_one_is_marked(page: Page, address: str) -> None:
    begin(page, address, "spaces")
    shown = page.locator(".answer .facts").inner_text()
    assert r"rm\u00a0-rf\u3000x" in shown
    assert "2 hidden characters are shown as marks." in shown
    assert shown.count("\u201c\u201d") == 1
    assert "empty" in page.locator(".answer .facts dd .quiet").inner_text()


def test_look_alikes_that_are_not_named_are_counted(page: Page, address: str) -> None:
    begin(page, address, "decoys")
    shown = page.locator(".answer .facts").inner_text()
    assert shown.count("Letters that look like others:") == 6
    assert "2 more words have such letters." in shown


def test_a_schema_that_contains_itself_makes_a_form(page: Page, address: str) -> None:
    page.goto(f"{address}/#/tools/plant")
    page.get_by_label("name required").first.fill("oak")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("oak", exact=True)).to_be_visible()
    page.goto(f"{address}/#/tools/odd")
    expect(page.get_by_label("constructor")).to_have_value("")
    expect(page.get_by_label("b JSON")).to_be_visible()


def test_a_question_that_cannot_be_drawn_can_be_refused(page: Page, address: str) -> None:
    page.add_init_script(
        """const entries = Object.entries;
        Object.entries = (value) => {
          if (value.bcc) throw new Error("cannot draw");
          return entries(value);
        };"""
    )
    session = begin(page, address, "extra")
    expect(page.get_by_role("alert").filter(has_text="cannot draw")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    assert (
        approve(page, address, session, "Reject")[0]["reason"] == "The question could not be shown."
    )
