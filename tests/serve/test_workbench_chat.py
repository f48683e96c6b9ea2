"""The chat in a real browser: text as it comes, calls as cards, stop, retry, branch, plan, files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import anyio
import httpx2
import pytest
from playwright.sync_api import Page, Route, expect
from pydantic import WithJsonSchema
from tests.serve._serving import serving
from tests.serve._workbench import STORY, Story, bench_runner, wipe, workbench

from toolwright import Agent, Runner, SequentialAgent, tool
from toolwright.serve import ModelChoice, ModelOffer, ServeSettings, create_app
from toolwright.testing import call

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("work")
    (folder / "notes.md").write_text("# Notes\n")
    with workbench(folder=Path(folder)) as url:
        yield url


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def test_a_suggestion_starts_a_conversation_that_is_named_after_it(
    page: Page, address: str
) -> None:
    page.goto(address)
    expect(page.get_by_text("The model is a recording.")).to_be_visible()
    page.get_by_role("button", name="Clean up").click()
    expect(page.get_by_role("heading", level=1, name="wipe")).to_be_visible()
    expect(page.get_by_label("Call of wipe")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Staging is wiped.", exact=True)).to_be_visible()


def test_parallel_calls_are_cards_with_their_outcome_picture_and_time(
    page: Page, address: str
) -> None:
    page.goto(address)
    say(page, "parallel")
    expect(page.get_by_text("All three are back.", exact=True)).to_be_visible()
    expect(page.get_by_alt_text("pixel.png")).to_be_visible()
    failed = page.get_by_label("Call of fail")
    expect(failed.get_by_label("Error")).to_be_visible()
    failed.get_by_role("button").first.click()
    expect(failed.get_by_text("the wheel came off").first).to_be_visible()
    added = page.get_by_label("Call of add")
    added.get_by_role("button").click()
    expect(added.get_by_text("3", exact=True)).to_be_visible()


def test_reasoning_is_folded_and_can_be_opened(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "think")
    expect(page.get_by_text("Weighed.", exact=True)).to_be_visible()
    expect(page.get_by_text("First I weigh it up.", exact=True)).to_be_hidden()
    page.get_by_text("Thought").click()
    expect(page.get_by_text("First I weigh it up.", exact=True)).to_be_visible()


def test_the_plan_and_the_files_stand_beside_the_conversation(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "plan")
    plan = page.get_by_label("Plan, files and cost")
    expect(plan.get_by_text("Fix the bug (in progress)")).to_be_visible()
    expect(plan.get_by_text("1 of 2")).to_be_visible()
    expect(plan.get_by_text("notes.md")).to_be_visible()


def test_a_message_can_be_retried_edited_and_branched_from(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "hello")
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
    first = page.url
    page.get_by_role("button", name="Retry").click()
    expect(page).not_to_have_url(first)
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
    second = page.url
    page.get_by_role("button", name="Edit").click()
    expect(page).not_to_have_url(second)
    expect(page.get_by_label("Message", exact=True)).to_have_value("hello")
    say(page, "goodbye")
    expect(page.get_by_text("You said: goodbye", exact=True)).to_be_visible()
    third = page.url
    page.get_by_role("button", name="Branch from here").click()
    expect(page).not_to_have_url(third)
    expect(page.get_by_text("You said: goodbye", exact=True)).to_be_visible()


def test_a_run_can_be_stopped_and_shows_its_progress_until_then(page: Page) -> None:
    with workbench(bench_runner(gate=anyio.Event())) as address:
        page.goto(address)
        say(page, "wait")
        expect(page.get_by_text("waiting", exact=True)).to_be_visible()
        stop = page.get_by_role("button", name="Stop")
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            box = stop.bounding_box()
            assert box is not None
            assert box["height"] < 45  # one line
        stop.click()
        expect(page.get_by_text("Stopped: cancelled")).to_be_visible()


def test_markup_in_a_message_is_shown_and_never_run(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "<img src=x onerror=alert(1)> [x](javascript:alert(1)) **bold**")
    turn = page.get_by_label("Turn of smith")
    expect(turn.get_by_text("<img src=x onerror=alert(1)>")).to_be_visible()
    expect(turn.locator("strong", has_text="bold")).to_be_visible()
    assert page.locator(".turn img, .turn a").count() == 0


def test_an_agent_inside_a_call_is_shown_inside_its_card(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "delegate")
    expect(page.get_by_text("The floor is clean.", exact=True)).to_be_visible()
    card = page.get_by_label("Call of apprentice")
    card.get_by_role("button").first.click()
    expect(card.get_by_label("Turn of apprentice").first).to_be_visible()
    expect(card.get_by_label("Call of add")).to_be_visible()


def test_what_the_steps_of_a_workflow_say_and_ask_is_part_of_the_conversation(page: Page) -> None:
    story = {"go": [call("wipe", target="staging"), "First is done."]}
    first = Agent(name="first", model=Story(story), tools=[wipe])
    second = Agent(name="second", model=Story())
    flow = SequentialAgent(name="flow", sub_agents=[first, second])
    with workbench(Runner(flow, app_name="workshop", store="memory://")) as address:
        page.goto(address)
        say(page, "go")
        page.get_by_label("Call of wipe").get_by_role("button", name="Approve").click()
        for _ in range(2):
            turn = page.get_by_label("Turn of first").last
            expect(turn.get_by_text("First is done.", exact=True)).to_be_visible()
            expect(page.get_by_label("Turn of second")).to_contain_text("You said: go")
            # Its steps read the same message, which the person has sent once.
            expect(page.get_by_label("Your message")).to_have_count(1)
            page.reload()


def test_a_call_still_waits_everywhere_after_the_person_wrote_on(page: Page) -> None:
    with workbench() as address:
        page.goto(address)
        say(page, "defer")
        card = page.get_by_label("Call of order_parts")
        expect(card.get_by_label("Result of the call")).to_be_visible()
        card.get_by_label("Result of the call").fill("77")
        for is_open in ("false", "true"):  # folding hides it
            card.get_by_role("button").first.click()
            expect(card.get_by_role("button").first).to_have_attribute("aria-expanded", is_open)
            expect(card.get_by_label("Result of the call")).to_be_visible(visible=is_open == "true")
        expect(card.get_by_label("Result of the call")).to_have_value("77")
        say(page, "hello")
        expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
        side = page.get_by_label("Sessions").get_by_role("link", name="defer")
        expect(side.get_by_label("Waiting")).to_be_visible()
        expect(card.get_by_label("Waiting")).to_be_visible()
        expect(page.get_by_text("A call still waits for your answer.")).to_be_attached()
        expect(page.get_by_text("answered elsewhere")).to_have_count(0)
        expect(card.get_by_label("Result of the call")).to_have_value("77")
        chat = page.url
        page.goto(f"{address}/#/runs")
        expect(page.locator(".run-rows").get_by_label("Waiting")).to_be_visible()
        page.goto(chat)
        card.get_by_label("Result of the call").fill("77 EUR")
        card.get_by_role("button", name="Complete the call").click()
        update = page.get_by_role("article", name="Update on order_parts")
        expect(update).to_contain_text("77 EUR")
        expect(page.get_by_label("Your message into the run")).to_have_count(0)
        for _ in range(2):
            expect(card.get_by_label("Done")).to_be_visible()
            expect(side.get_by_label("Done")).to_be_visible()
            page.reload()
        page.goto(chat.replace("#/chat/", "#/runs/session/"))
        expect(page.locator(".run-bars")).to_have_count(3)
        expect(page.locator(".bar-fill.going")).to_have_count(0)
        expect(page.get_by_text("so far")).to_have_count(0)


def test_a_call_that_was_answered_says_so_while_others_wait(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "both")
    card, other = page.get_by_label("Call of wipe"), page.get_by_label("Call of order_parts")
    card.get_by_role("button", name="Approve").click()
    for _ in range(2):
        expect(card.locator(".chip")).to_have_text("Answered")
        expect(card.get_by_text("Answered. The agent goes on with it")).to_be_visible()
        expect(card.get_by_role("button", name="Approve")).to_have_count(0)
        expect(other.locator(".chip")).to_have_text("Waiting")
        page.reload()
    other.get_by_label("Result of the call").fill("here")
    other.get_by_role("button", name="Complete the call").click()
    expect(page.get_by_text("Both are back.", exact=True)).to_be_visible()
    expect(card.get_by_label("Done")).to_be_visible()


def test_after_a_stop_an_answer_is_kept_until_the_person_goes_on_and_a_message_withdraws_it(
    page: Page,
) -> None:
    story = {
        **STORY,
        "gated": [[call("wait_for_it"), call("wipe", target="attic")], "Both are back."],
    }
    with workbench(bench_runner(gate=anyio.Event(), story=story)) as address:
        page.goto(address)
        say(page, "gated")
        card = page.get_by_label("Call of wipe")
        card.get_by_role("button", name="Approve").click()
        expect(card.get_by_text("Answered. The agent goes on with it")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        kept = card.get_by_text("You stopped this run: your answer is kept until you go on.")
        heard = page.get_by_role("status").filter(has_text="You stopped this run. What has come")
        for _ in range(2):
            expect(kept).to_be_visible()
            expect(heard).to_be_attached()
            expect(page.get_by_role("button", name="Go on")).to_be_visible()
            page.reload()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("button", name="Go on")).to_have_count(0)
        expect(card.get_by_label("Done")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped: cancelled")).to_be_visible()

        page.goto(f"{address}/#/chat")
        say(page, "gated")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped: cancelled")).to_be_visible()
        listed = page.get_by_label("Sessions").get_by_role("link").first
        expect(listed.get_by_label("Stopped")).to_be_visible()
        # The person is to answer first.
        expect(page.get_by_role("button", name="Go on")).to_have_count(0)
        card.get_by_role("button", name="Approve").click()
        expect(kept).to_be_visible()
        say(page, "hello")
        expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Go on")).to_have_count(0)
        expect(card.get_by_label("Error")).to_be_visible()
        card.get_by_role("button").first.click()
        expect(card.get_by_text("it was not run")).to_be_visible()


def test_a_late_call_of_a_stopped_session_is_answered_and_the_page_says_what_waits(
    page: Page,
) -> None:
    with workbench(bench_runner(gate=anyio.Event())) as address:
        page.goto(address)
        say(page, "defer")
        card = page.get_by_label("Call of order_parts")
        expect(card.get_by_label("Result of the call")).to_be_visible()
        say(page, "wait")
        page.get_by_role("button", name="Stop").click()
        still = page.get_by_role("status").filter(has_text="A call still waits for your answer.")
        expect(still).to_be_attached()
        card.get_by_label("Result of the call").fill("77")
        card.get_by_role("button", name="Complete the call").click()
        expect(card.get_by_text("your answer is kept until you go on")).to_be_visible()
        expect(still).to_have_count(0)
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("button", name="Stop")).to_be_visible()


def test_what_is_written_is_still_there_after_a_look_at_other_parts_of_the_page(
    page: Page, address: str
) -> None:
    page.goto(address)
    say(page, "both")
    order, wipe = page.get_by_label("Call of order_parts"), page.get_by_label("Call of wipe")
    order.get_by_label("Result of the call").fill("half a res")
    wipe.get_by_role("button", name="Reject…").click()
    wipe.get_by_label("Why not?").fill("half a rea")
    page.get_by_label("Message", exact=True).fill("half a mess")
    talk = page.url

    page.goto(f"{address}/#/inbox")
    inbox = page.get_by_role("article", name="Complete: order_parts").last
    expect(inbox.get_by_label("Result of the call")).to_have_value("half a res")
    inbox.get_by_label("Result of the call").fill("half a result")
    page.goto(f"{address}/#/chat")
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    page.get_by_label("Message", exact=True).fill("another")
    page.goto(talk)
    expect(order.get_by_label("Result of the call")).to_have_value("half a result")
    expect(wipe.get_by_label("Why not?")).to_have_value("half a rea")
    expect(page.get_by_label("Message", exact=True)).to_have_value("half a mess")

    wipe.get_by_role("button", name="Reject").click()
    order.get_by_role("button", name="Complete the call").click()
    expect(page.get_by_text("Both are back.", exact=True)).to_be_visible()
    say(page, "hello")
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
    page.goto(f"{address}/#/inbox")
    page.goto(talk)
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    expect(page.get_by_text("answered elsewhere")).to_have_count(0)


def test_what_is_written_is_still_there_after_a_reload_and_credentials_are_not(page: Page) -> None:
    with workbench() as address:
        page.goto(address)
        say(page, "both")
        order, wipe = page.get_by_label("Call of order_parts"), page.get_by_label("Call of wipe")
        order.get_by_label("Result of the call").fill('{"price": 1.50')
        wipe.get_by_role("button", name="Edit").click()
        wipe.get_by_label("target").fill("half a target")
        page.get_by_label("Message", exact=True).fill("half a mess")
        page.reload()
        expect(order.get_by_label("Result of the call")).to_have_value('{"price": 1.50')
        expect(wipe.get_by_label("target")).to_have_value("half a target")
        expect(page.get_by_label("Message", exact=True)).to_have_value("half a mess")
        # JSON that cannot be read yet is text, and still stops what is to be sent.
        wipe.get_by_role("button", name="As JSON").click()
        wipe.get_by_label("Arguments").fill('{"target":')
        page.reload()
        expect(wipe.get_by_label("Arguments")).to_have_value('{"target":')
        assert wipe.get_by_label("Arguments").evaluate("e => !e.checkValidity()")
        page.goto(f"{address}/#/inbox")
        card = page.get_by_role("article", name="Approve: wipe")
        card.get_by_label("Arguments").fill('{"target": "attic", "big": 12345678901234567890}')
        held: list[Route] = []
        page.route("**/api/pending", lambda route: held.append(route))
        page.reload()
        # Before it is known what waits, nothing is said to be answered.
        expect(card.get_by_label("Arguments")).to_be_visible()
        expect(page.get_by_role("alert").filter(has_text="elsewhere")).to_have_count(0)
        page.unroute("**/api/pending")
        for route in held:
            route.continue_()
        expect(card.get_by_label("Arguments")).to_have_value(
            re.compile('"big": 12345678901234567890')
        )
        expect(page.get_by_text("answered elsewhere")).to_have_count(0)

        page.goto(f"{address}/#/chat")
        say(page, "sign in")
        key = page.get_by_label("Key or token")
        key.fill("hunter2")
        for _ in range(2):
            stored = page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
            assert "half a mess" in stored
            assert "hunter2" not in stored
            page.reload()
            expect(key).to_have_value("")
        page.get_by_role("button", name="Decline").click()
        expect(page.get_by_role("button", name="Decline")).to_have_count(0)
        expect(page.get_by_text("it is still here")).to_have_count(0)


def test_a_draft_whose_call_was_answered_while_the_page_was_reloaded_says_so(page: Page) -> None:
    runner = bench_runner()
    with workbench(runner) as address:
        page.goto(address)
        say(page, "defer")
        card = page.get_by_label("Call of order_parts")
        card.get_by_label("Result of the call").fill("half a res")
        session = page.url.rpartition("/")[2]
        page.goto("about:blank")
        [waiting] = httpx2.get(f"{address}/api/pending").json()
        answer = {"kind": "value", "value": "42"}
        given = {"call_id": waiting["pending"]["call_id"], "answer": answer}
        httpx2.post(f"{address}/api/sessions/{session}/answers", json=given).raise_for_status()
        page.goto(f"{address}/#/chat/{session}")
        expect(card.get_by_role("alert")).to_contain_text("This call was answered elsewhere")
        expect(card.get_by_label("Result of the call")).to_have_value("half a res")
        # With the session goes what was written in it.
        page.get_by_label("Message", exact=True).fill("half a mess")
        page.goto(f"{address}/#/runs/session/{session}")
        page.get_by_role("button", name="Delete…").click()
        page.get_by_role("button", name="Delete it and all").click()
        expect(page.get_by_text("Nothing has run yet.")).to_be_visible()
        assert "half a" not in page.evaluate("JSON.stringify({...sessionStorage})")


@tool(require_confirmation=True)
def lock(
    door: str, code: Annotated[str, WithJsonSchema({"type": "string", "writeOnly": True})]
) -> str:
    """Lock a door."""
    return f"{door} is locked"


def test_an_edit_of_a_secret_argument_is_kept_in_the_page_and_nowhere_else(page: Page) -> None:
    story = {"lock": [call("lock", door="front", code="1234"), "Locked."]}
    agent = Agent(name="smith", model=Story(story), tools=[lock])
    with workbench(Runner(agent, app_name="workshop")) as address:
        page.goto(address)
        say(page, "lock")
        card = page.get_by_label("Call of lock")
        card.get_by_role("button", name="Edit").click()
        card.get_by_label("code").fill("hunter2")
        talk = page.url
        page.goto(f"{address}/#/inbox")
        expect(page.get_by_label("code")).to_have_value("hunter2")
        page.goto(talk)
        expect(card.get_by_label("code")).to_have_value("hunter2")
        assert "hunter2" not in page.evaluate("JSON.stringify({...sessionStorage})")
        page.reload()
        expect(card.get_by_role("button", name="Edit")).to_be_visible()


def test_a_browser_that_stores_nothing_still_keeps_what_is_written(
    page: Page, address: str
) -> None:
    page.goto(address)
    page.get_by_label("Message", exact=True).fill("what there was room for")
    full = "() => { throw new Error('no room'); }"
    page.evaluate(f"() => {{ Storage.prototype.setItem = {full}; }}")
    page.get_by_label("Message", exact=True).fill("half a mess")
    # What is older than that would come back after a reload.
    assert "room for" not in page.evaluate("JSON.stringify({...sessionStorage})")
    page.goto(f"{address}/#/inbox")
    page.goto(f"{address}/#/chat")
    expect(page.get_by_label("Message", exact=True)).to_have_value("half a mess")


def test_a_stopped_run_can_be_gone_on_with_and_is_not_said_to_be_done(page: Page) -> None:
    gate = anyio.Event()
    with workbench(bench_runner(gate=gate)) as address:
        page.goto(address)
        say(page, "wait")
        page.get_by_role("button", name="Stop").click()
        heard = page.get_by_role("status").filter(has_text="The agent has stopped.")
        for _ in range(2):
            expect(heard).to_contain_text("Reason: cancelled.")
            expect(page.get_by_text("The agent is done.")).to_have_count(0)
            box = page.get_by_role("button", name="Go on").bounding_box()
            assert box is not None
            assert box["height"] < 40  # one line
            expect(
                page.get_by_text("a call that was cut off is only repeated").last
            ).to_be_visible()
            page.reload()
        gate.set()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_text("It came.", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Go on")).to_have_count(0)
        expect(page.get_by_text("The agent is done.")).to_be_attached()


def test_the_choice_of_a_model_has_its_label_on_one_line(page: Page) -> None:
    offers = [ModelOffer(title=title, make=Story) for title in ("A recording", "Another")]
    models = ModelChoice(*offers)
    runner = Runner(Agent(name="smith", model=models), app_name="workshop")
    settings = ServeSettings(requests_per_second=0)
    with serving(create_app(runner, settings=settings, models=models)) as address:
        page.goto(address)
        label = page.locator("label[for=model]")
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert label.evaluate("e => e.getBoundingClientRect().height") < 30


def test_a_call_that_ones_own_message_closes_is_not_said_to_be_answered_elsewhere(
    page: Page, address: str
) -> None:
    page.goto(address)
    say(page, "wipe")
    card = page.get_by_label("Call of wipe")
    card.get_by_role("button", name="Reject…").click()
    card.get_by_label("Why not?").fill("because")
    say(page, "hello")
    expect(card.get_by_role("alert")).to_contain_text("This call was closed without an answer")
    expect(card.get_by_label("Why not?")).to_have_value("because")
    card.get_by_role("button", name="Dismiss").click()
    expect(card.get_by_role("alert")).to_have_count(0)


def test_the_timeline_says_of_an_answered_call_that_it_is(page: Page, address: str) -> None:
    page.goto(address)
    say(page, "both")
    page.get_by_label("Call of wipe").get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Answered. The agent goes on with it")).to_be_visible()
    page.goto(page.url.replace("#/chat/", "#/runs/session/"))
    expect(page.get_by_text("wipe is answered", exact=True)).to_be_visible()
    expect(page.get_by_text("order_parts waits", exact=True)).to_be_visible()
