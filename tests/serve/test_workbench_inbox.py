"""The inbox in a real browser: approve, edit, reject, choose, fill in, complete; from two windows."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import Browser, Page, expect
from tests.serve._workbench import bench_runner, spoil, workbench

from toolwright.errors import ArgumentError
from toolwright.messages import Approve

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]


@pytest.fixture
def address() -> Iterator[str]:
    with workbench() as url:
        yield url


def begin(address: str, message: str) -> str:
    session = httpx2.post(f"{address}/api/sessions", json={}).json()["id"]
    httpx2.post(f"{address}/api/sessions/{session}/runs", json={"message": message})
    return session


def result(page: Page, address: str, session: str) -> str:
    """The text of the session's last call, once the run is done."""
    page.wait_for_function(
        "path => fetch(path).then(r => r.json()).then(s => s.status === 'done')",
        arg=f"{address}/api/sessions/{session}",
    )
    events = httpx2.get(f"{address}/api/sessions/{session}/events").json()
    return [e["result"]["content"][-1]["text"] for e in events if e["type"] == "tool_ended"][-1]


def test_a_call_is_approved(page: Page, address: str) -> None:
    session = begin(address, "wipe")
    page.goto(f"{address}/#/inbox")
    expect(page.get_by_text("1 call waiting")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).last.click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert result(page, address, session) == "wiped staging"


def test_what_cannot_be_read_is_not_said_to_be_nothing(page: Page, address: str) -> None:
    begin(address, "wipe")
    problem = {"status": 503, "detail": "The tasks' database is away."}
    page.route("**/api/pending", lambda route: route.fulfill(status=503, json=problem))
    page.goto(f"{address}/#/inbox")
    banner = page.get_by_text("What waits for you could not be read: The tasks' database is away.")
    expect(banner).to_be_visible()
    expect(page.get_by_text("Nothing waits for you")).to_have_count(0)
    expect(page.get_by_text("0 calls waiting")).to_have_count(0)
    # What the other database has is there.
    page.goto(f"{address}/#/chat")
    expect(page.get_by_label("Sessions").get_by_role("link", name="wipe")).to_be_visible()
    page.unroute("**/api/pending")
    page.route("**/api/sessions", lambda route: route.fulfill(status=503, json=problem))
    page.reload()
    expect(page.get_by_text("The sessions could not be read: The tasks' data")).to_be_visible()
    expect(page.get_by_text("Nothing here yet.")).to_have_count(0)
    expect(page.get_by_text("Inbox, 1 waiting")).to_be_visible()
    # It is read again by itself when it is back.
    page.clock.install()
    page.reload()
    expect(page.get_by_text("The sessions could not be read")).to_be_visible()
    page.unroute("**/api/sessions")
    page.clock.run_for(10_000)
    expect(page.get_by_text("The sessions could not be read")).to_have_count(0)
    expect(page.get_by_label("Sessions").get_by_role("link", name="wipe")).to_be_visible()


def test_a_call_that_cannot_be_read_is_shown_as_such_beside_the_others(
    page: Page, tmp_path: Path
) -> None:
    runner = bench_runner(f"sqlite:///{tmp_path}/sessions.db")
    with workbench(runner) as address:
        begin(address, "wipe")
        session = begin(address, "defer")
        page.goto(f"{address}/#/inbox")
        expect(page.get_by_text("2 calls waiting")).to_be_visible()
        with start_blocking_portal() as portal:
            portal.call(partial(spoil, runner.store, session, body="{"))
        page.reload()
        card = page.get_by_role("article", name="A call that cannot be read")
        expect(card.get_by_text("cannot be answered here")).to_be_visible()
        expect(card.get_by_role("link", name="defer")).to_be_visible()
        expect(card.get_by_role("button")).to_have_count(0)
        page.get_by_role("button", name="Approve", exact=True).last.click()
        expect(page.get_by_text("1 call waiting")).to_be_visible()


def test_arguments_are_edited_in_a_form_made_from_the_schema(page: Page, address: str) -> None:
    session = begin(address, "wipe")
    page.goto(f"{address}/#/inbox")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("target").fill("the sandbox")
    page.get_by_role("button", name="Approve as edited").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert "wiped the sandbox" in result(page, address, session)


def test_a_call_is_rejected_with_a_reason(page: Page, address: str) -> None:
    session = begin(address, "wipe")
    page.goto(f"{address}/#/inbox")
    page.get_by_role("button", name="Reject…").click()
    page.get_by_label("Why not? The model is told.").fill("Not today")
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert "Not today" in result(page, address, session)


def test_an_option_is_chosen(page: Page, address: str) -> None:
    session = begin(address, "choose")
    page.goto(f"{address}/#/inbox")
    expect(page.get_by_text("Which colour?")).to_be_visible()
    page.get_by_label("blue").check()
    page.get_by_role("button", name="Choose", exact=True).last.click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert result(page, address, session) == "blue"


def test_a_question_is_answered(page: Page, address: str) -> None:
    session = begin(address, "ask")
    page.goto(f"{address}/#/inbox")
    page.get_by_label("Your answer").fill("Ada")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert result(page, address, session) == "Ada"


def test_a_deferred_call_shows_its_deadline_and_is_completed(page: Page, address: str) -> None:
    session = begin(address, "defer")
    page.clock.install()
    page.goto(f"{address}/#/inbox")
    expect(page.get_by_text("left to answer")).to_be_visible()
    expect(page.get_by_label("Result of the call")).to_be_visible()
    page.clock.fast_forward("01:00:01")
    expect(page.get_by_text("The deadline has passed")).to_be_visible()
    expect(page.get_by_label("Result of the call")).to_have_count(0)
    expect(page.get_by_role("button", name="Complete the call")).to_have_count(0)
    page.reload()  # It was only this computer's clock: the server's decides.
    expect(page.get_by_text("left to answer")).to_be_visible()
    page.get_by_label("Result of the call").fill('{"tracking": 7}')
    page.get_by_role("button", name="Complete the call").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert "7" in result(page, address, session)


def test_what_one_window_answers_disappears_from_the_other_at_once(
    chromium_browser: Browser, page: Page, address: str
) -> None:
    begin(address, "wipe")
    other = chromium_browser.new_context().new_page()
    for window in (page, other):
        window.goto(f"{address}/#/inbox")
        expect(window.get_by_role("heading", name="wipe")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).last.click()
    expect(other.get_by_text("Nothing waits for you")).to_be_visible()
    other.context.close()


def test_the_badge_counts_what_waits_and_calls_can_be_narrowed_by_kind(
    page: Page, address: str
) -> None:
    begin(address, "wipe")
    begin(address, "choose")
    page.goto(f"{address}/#/inbox")
    expect(page.get_by_role("link", name="Inbox , 2 waiting")).to_be_visible()
    page.get_by_role("group", name="Show").get_by_role("button", name="Choose").click()
    expect(page.get_by_role("heading", level=2)).to_have_text(["get_user_choice"])


def test_a_key_is_given_and_never_shown_again(page: Page, address: str) -> None:
    session = begin(address, "sign in")
    page.goto(f"{address}/#/inbox")
    page.get_by_label("Key or token").fill("k3y-of-16-chars!")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert result(page, address, session) == "16 characters of key"
    assert "k3y-of" not in httpx2.get(f"{address}/api/sessions/{session}/events").text


@pytest.mark.parametrize("view", ["#/inbox", "#/chat/{session}"])
def test_an_edit_is_not_lost_when_another_window_answers_first(
    chromium_browser: Browser, page: Page, address: str, view: str
) -> None:
    session = begin(address, "wipe")
    other = chromium_browser.new_context().new_page()
    page.goto(f"{address}/{view.format(session=session)}")
    page.locator(".answer").get_by_role("button", name="Edit").click()
    page.get_by_label("target").fill("only the attic")
    other.goto(f"{address}/#/inbox")
    expect(other.get_by_role("heading", name="wipe")).to_be_visible()
    other.get_by_role("button", name="Approve", exact=True).last.click()
    expect(other.get_by_text("Nothing waits for you")).to_be_visible()
    other.context.close()
    expect(page.get_by_role("alert").filter(has_text="answered elsewhere")).to_be_visible()
    expect(page.get_by_label("target")).to_have_value("only the attic")
    expect(page.get_by_role("button", name="Approve as edited")).to_be_hidden()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_label("target")).to_have_count(0)
    assert result(page, address, session) == "wiped staging"


def test_ones_own_answer_is_not_taken_for_somebody_elses(page: Page, address: str) -> None:
    session = begin(address, "wipe")
    page.goto(f"{address}/#/chat/{session}")
    page.locator(".answer").get_by_role("button", name="Edit").click()
    page.get_by_label("target").fill("the attic")
    page.get_by_role("button", name="Approve as edited").click()
    expect(page.get_by_text("Staging is wiped.", exact=True)).to_be_visible()
    expect(page.get_by_text("answered elsewhere")).to_have_count(0)


def test_a_wrong_edit_is_refused_with_its_reason_and_can_be_corrected(page: Page) -> None:
    runner = bench_runner()
    answer_all = runner.answer_all

    async def strict(session_id: str, answers: Any, **options: Any) -> Any:
        for value in answers.values():
            if isinstance(value, Approve) and (value.arguments or {}).get("target") == "everything":
                raise ArgumentError("wipe", ["target: 'everything' is too much"])
        return await answer_all(session_id, answers, **options)

    runner.answer_all = strict  # type: ignore[method-assign]
    with workbench(runner) as address:
        session = begin(address, "wipe")
        page.goto(f"{address}/#/inbox")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("target").fill("everything")
        page.get_by_role("button", name="Approve as edited").click()
        expect(page.get_by_role("alert").filter(has_text="is too much")).to_be_visible()
        page.get_by_label("target").fill("the attic")
        page.get_by_role("button", name="Approve as edited").click()
        expect(page.get_by_text("Nothing waits for you")).to_be_visible()
        assert "wiped the attic" in result(page, address, session)


def test_the_card_says_which_rule_asks_and_what_a_yes_may_cover(page: Page, address: str) -> None:
    session = begin(address, "wipe")
    page.goto(f"{address}/#/inbox")
    expect(page.get_by_text("Asked by require_confirmation of tool 'wipe'.")).to_be_visible()
    page.get_by_label("Approve", exact=True).select_option("The same arguments, in this session")
    page.get_by_role("button", name="Approve", exact=True).last.click()
    assert result(page, address, session) == "wiped staging"
    httpx2.post(f"{address}/api/sessions/{session}/runs", json={"message": "wipe"})
    assert result(page, address, session) == "wiped staging"
    answers = [
        event["answer"]["remember"]
        for event in httpx2.get(f"{address}/api/sessions/{session}/events").json()
        if event["type"] == "pending_answered"
    ]
    assert answers == ["arguments"]


QUESTIONS = ("wipe", "wipe", "wipe", "choose", "ask", "defer", "sign in")
EACH_FIELD = "main input:not([type=radio], [type=checkbox]), main textarea"
VALUES = "fields => fields.map(field => field.value)"


@pytest.fixture(scope="module")
def full() -> Iterator[str]:
    """Several sessions with a question of each kind, so with the same call ids; nobody answers."""
    with workbench() as url:
        for message in QUESTIONS * 2:
            begin(url, message)
        yield url


def open_full_inbox(page: Page, full: str) -> int:
    """Open some of the cards further; how many there are."""
    waiting = len(httpx2.get(f"{full}/api/pending").json())
    page.goto(f"{full}/#/inbox")
    expect(page.get_by_text(f"{waiting} calls waiting")).to_be_visible()
    for _ in range(2):
        page.get_by_role("button", name="Reject…").first.click()
        page.get_by_role("button", name="Edit", exact=True).first.click()
    expect(page.get_by_label("target")).to_have_count(2)
    return waiting


def test_typing_in_one_card_leaves_the_keyboard_and_the_others_alone(page: Page, full: str) -> None:
    open_full_inbox(page, full)
    fields = page.locator(EACH_FIELD)
    wanted = fields.evaluate_all(VALUES)
    assert len(wanted) == 2 * (1 + 1 + 3)
    for at in range(len(wanted)):
        fields.nth(at).focus()
        fields.nth(at).press("End")
        page.keyboard.type("39 EUR")
        expect(fields.nth(at)).to_be_focused()
        wanted[at] += "39 EUR"
        assert fields.evaluate_all(VALUES) == wanted


def test_news_from_elsewhere_leaves_the_keyboard_where_it_is(page: Page, full: str) -> None:
    waiting = open_full_inbox(page, full)
    field = page.get_by_label("Result of the call").last
    field.focus()
    page.keyboard.type("39")
    begin(full, "wipe")
    expect(page.get_by_text(f"{waiting + 1} calls waiting")).to_be_visible()
    page.keyboard.type(" EUR")
    expect(field).to_have_value("39 EUR")
    expect(field).to_be_focused()


LABELS = """all => all.map(label => [
  label.control?.labels.length ?? 0,
  label.control?.closest("article") === label.closest("article"),
])"""


def test_every_label_belongs_to_one_control_of_its_own_card(page: Page, full: str) -> None:
    """Over sessions whose calls have the same ids."""
    open_full_inbox(page, full)
    controls = page.locator("main").locator("input, select, textarea")
    assert set(controls.evaluate_all("all => all.map(one => one.labels.length)")) == {1}
    labels = page.locator("main label")
    assert labels.evaluate_all(LABELS) == [[1, True]] * controls.count()
    groups = page.locator("main .options").evaluate_all(
        "all => all.map(one => one.querySelector('input').name)"
    )
    assert len(set(groups)) == len(groups) == 2


def test_what_is_written_survives_every_filter(page: Page, full: str) -> None:
    open_full_inbox(page, full)
    page.get_by_label("blue").first.check()
    fields = page.locator(EACH_FIELD)
    for at in range(fields.count()):
        fields.nth(at).fill(f"draft {at}")
    written = fields.evaluate_all(VALUES)
    tabs = page.get_by_role("group", name="Show").get_by_role("button")
    for at in range(tabs.count()):
        tabs.nth(at).click()
        expect(tabs.nth(at)).to_have_attribute("aria-pressed", "true")
        assert (page.locator("article:visible").count() == page.locator("article").count()) == (
            at == 0
        )
    tabs.first.click()
    assert fields.evaluate_all(VALUES) == written
    expect(page.get_by_label("blue").first).to_be_checked()


def test_a_card_that_was_answered_elsewhere_keeps_its_place_and_text_under_every_filter(
    page: Page, address: str
) -> None:
    begin(address, "wipe")
    session = begin(address, "ask")
    page.goto(f"{address}/#/inbox")
    page.get_by_label("Your answer").fill("Ada")
    waiting = httpx2.get(f"{address}/api/pending").json()
    [call_id] = [call["pending"]["call_id"] for call in waiting if call["id"] == session]
    answer = {"call_id": call_id, "answer": {"kind": "value", "value": "Eve"}}
    httpx2.post(f"{address}/api/sessions/{session}/answers", json=answer).raise_for_status()
    expect(page.get_by_role("alert").filter(has_text="answered elsewhere")).to_be_visible()
    names = page.locator("article h2")
    expect(names).to_have_text(["wipe", "ask_user"])
    expect(page.get_by_label("Your answer")).to_be_focused()
    show = page.get_by_role("group", name="Show")
    show.get_by_role("button", name="Approve").click()
    expect(page.get_by_label("Your answer")).to_be_hidden()
    show.get_by_role("button", name="All").click()
    expect(page.get_by_label("Your answer")).to_have_value("Ada")
    begin(address, "defer")
    expect(names).to_have_text(["wipe", "ask_user", "order_parts"])
    show.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
