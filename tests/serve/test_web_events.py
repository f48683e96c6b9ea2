"""What the page makes of the events of a session: which calls wait, what goes on, and how long it took."""

import json
import random
from typing import Any

import anyio
import pytest
from tests.serve._web import run_sources
from tests.serve._workbench import Story, add, fail, order_parts, wipe

from toolwright import Agent, AgentTool, LongRunningFunctionTool, Runner
from toolwright.builtin import ask_user
from toolwright.messages import Approve, Pending, Reject, encode_event
from toolwright.testing import call

TALE: dict[str, list[Any]] = {
    "defer": [call("order_parts", part="gear"), "The part is here."],
    "twice": [[call("order_parts", part="a"), call("order_parts", part="b")], "Both are here."],
    "ask": [call("ask_user", question="What is your name?"), "Hello."],
    "both": [[call("order_parts", part="cog"), call("wipe", target="attic")], "Both are done."],
    "delegate": [call("apprentice", request="defer"), "The apprentice has it."],
    "mixed": [call("apprentice", request="both"), "The apprentice is done."],
    "later": [call("queue_job", name="print"), "It is queued."],
    "add": [[call("add", a=1, b=2), call("fail")], "One of two."],
}


def queue_job(name: str) -> dict[str, str]:
    """Queue a job; its end is told later."""
    return {"status": "pending", "job": name}


def workshop() -> Runner:
    tools: list[Any] = [order_parts, ask_user, wipe, LongRunningFunctionTool(queue_job), add, fail]
    apprentice = Agent(name="apprentice", description="Helps.", model=Story(TALE), tools=tools)
    agent = Agent(name="smith", model=Story(TALE), tools=[*tools, AgentTool(apprentice)])
    return Runner(agent, app_name="workshop", store="memory://")


def some_answer(dice: random.Random, pending: Pending) -> Any:
    if dice.random() < 0.3:
        return Reject(reason="no")
    return Approve() if pending.kind == "confirmation" else "42"


async def some_step(dice: random.Random, runner: Runner, session: str) -> None:
    """The person writes, or somebody answers a call that waits."""
    waiting = await runner.pending(session)
    if not waiting or dice.random() < 0.5:
        await runner.run(dice.choice(list(TALE)), session_id=session, user_id="u")
        return
    pending = dice.choice(waiting)
    await runner.answer(session, pending.call_id, some_answer(dice, pending))
    await runner.resume(session)


async def lives(sessions: int, steps: int) -> list[dict[str, Any]]:
    """Logs of sessions, with what waits after each step."""
    dice, told = random.Random(14), []
    async with workshop() as runner:
        for number in range(sessions):
            name, stands = f"s{number}", []
            for _ in range(steps):
                await some_step(dice, runner, name)
                waiting = await runner.pending(name)
                stands.append(
                    {
                        "length": len(await runner.events(name)),
                        "waiting": sorted(pending.call_id for pending in waiting),
                        "blocked": any(pending.blocking for pending in waiting),
                    }
                )
            events = [json.loads(encode_event(event)) for event in await runner.events(name)]
            told.append({"events": events, "stands": stands})
    return told


@pytest.fixture(scope="module")
def logs() -> list[dict[str, Any]]:
    return anyio.run(lives, 40, 6)


SEEN = """
    import { Conversation } from "./conversation.ts";
    import { endOf, isGoing, runsOf } from "./spans.ts";
    const inside = (blocks) => blocks.flatMap((block) => block.kind === "turn" ? block.calls.flatMap((call) => [call, ...inside(call.inner)]) : []);
    const seen = (events) => {
      const page = new Conversation();
      for (const event of events) page.apply(event);
      const calls = inside(page.blocks), runs = runsOf(events), spans = runs.flatMap((run) => run.spans);
      return {
        waiting: calls.filter((call) => call.state === "waiting").map((call) => call.pending?.call_id ?? "no form").sort(),
        forms: calls.filter((call) => call.pending).length,
        busy: calls.filter((call) => call.state === "running" || call.state === "writing").map((call) => call.id),
        states: Object.fromEntries(calls.map((call) => [call.id, call.state])),
        said: page.blocks.filter((block) => block.kind === "said").map((block) => block.parts[0].text),
        notes: page.blocks.filter((block) => block.kind === "note").map((block) => [block.text, block.detail]),
        cuts: page.blocks.map((block, at) => [block.cut ?? 0, page.blocks.slice(at).find((later) => later.kind === "said")?.seq ?? Infinity]).filter(([cut, next]) => cut >= next).length,
        open: runs.filter((run) => !run.to).length,
        going: runs.filter(isGoing).length,
        work: spans.filter((span) => span.kind !== "wait" && !span.to).map((span) => span.label),
        waits: spans.filter((span) => span.kind === "wait").map((span) => [span.from, span.to]),
        backwards: spans.filter((span) => span.to && span.to < span.from).length,
        short: runs.filter((run) => run.spans.some((span) => span.to > endOf(run, 0))).length,
      };
    };
"""


@pytest.fixture(scope="module")
def stands(logs: list[dict[str, Any]]) -> list[tuple[list[Any], dict[str, Any], dict[str, Any]]]:
    """After each step of each session: its log, what waits, and what the page shows."""
    script = (
        SEEN
        + "send(given.map((log) => log.stands.map(({ length }) => seen(log.events.slice(0, length)))));"
    )
    return [
        (log["events"][: stand["length"]], stand, shown)
        for log, all_shown in zip(logs, run_sources(script, logs), strict=True)
        for stand, shown in zip(log["stands"], all_shown, strict=True)
    ]


def test_the_calls_that_wait_on_the_page_are_those_that_wait(stands: Any) -> None:
    for _, stand, shown in stands:
        assert shown["waiting"] == stand["waiting"]
        assert shown["forms"] == len(stand["waiting"])
    late = [stand for _, stand, _ in stands if stand["waiting"] and not stand["blocked"]]
    assert len(late) > 20, "hardly a call was left waiting"


def test_nothing_spins_when_nothing_runs(stands: Any) -> None:
    for _, stand, shown in stands:
        assert stand["blocked"] or shown["busy"] == []


def test_an_update_is_a_note_and_no_message_of_the_person(stands: Any) -> None:
    told = 0
    for events, _, shown in stands:
        updates = [e for e in events if e["type"] == "steered" and not e["path"]]
        assert [note[1] for note in shown["notes"]] == [
            update["message"]["parts"][0]["text"].partition("\n")[2] for update in updates
        ]
        assert all(said in TALE for said in shown["said"])
        assert all(note[0].startswith("Update on ") for note in shown["notes"])
        told += len(updates)
    assert told > 20


def test_a_branch_from_a_turn_has_nothing_that_was_said_after_it(stands: Any) -> None:
    assert {shown["cuts"] for _, _, shown in stands} == {0}


def test_an_answer_that_came_late_says_how_the_call_went(stands: Any) -> None:
    found = set()
    for events, _, shown in stands:
        late = {e["call_id"] for e in events if e["type"] == "steered"}
        for event in events:
            if event["type"] == "pending_answered" and event["call_id"] in late:
                wanted = {"reject": "denied", "given": "ok"}[event["answer"]["kind"]]
                assert shown["states"][event["call_id"]] == wanted
                found.add(wanted)
    assert found == {"denied", "ok"}


def test_a_run_that_is_over_has_an_end_and_only_waiting_goes_on(stands: Any) -> None:
    for _, stand, shown in stands:
        assert (shown["open"], shown["backwards"], shown["short"]) == (0, 0, 0)
        assert stand["blocked"] or shown["work"] == []
        assert bool(shown["going"]) == bool(stand["waiting"])


def test_a_wait_lasts_from_the_question_to_its_answer(stands: Any) -> None:
    for events, stand, shown in stands:
        answered = {e["call_id"]: e["at"] for e in events if e["type"] == "pending_answered"}
        asked = [e for e in events if e["type"] == "pending_opened"]
        assert [start for start, _ in shown["waits"]] == [e["at"] for e in asked]
        for (_, end), event in zip(shown["waits"], asked, strict=True):
            call_id = event["pending"]["call_id"]
            assert (end == 0) == (call_id in stand["waiting"])
            assert call_id not in answered or end == answered[call_id]


def test_a_run_that_died_anywhere_ends_where_the_next_message_begins(
    logs: list[dict[str, Any]],
) -> None:
    script = (
        SEEN
        + """
        const next = { type: "run_started", seq: 10000, at: 1e11, path: "", message: { kind: "user", parts: [{ kind: "text", text: "add" }] } };
        send(given.flatMap(({ events }) => events.map((_, at) => {
          const { open, work } = seen([...events.slice(0, at + 1), next]);
          const [run] = runsOf([...events.slice(0, at + 1), next]).slice(-2);
          return [open, work.length, run.to < 1e11];
        })));
    """
    )
    assert set(map(tuple, run_sources(script, logs))) == {(1, 0, True)}


def test_a_reply_that_was_cut_off_is_shown_once_when_it_is_written_anew() -> None:
    log: list[dict[str, Any]] = [
        {"type": "run_started", "message": {"kind": "user", "parts": []}},
        {"type": "turn_started"},
        {"type": "text_delta", "text": "half a repl"},
        {"type": "run_ended", "status": "stopped", "reason": "cancelled", "usage": {}},
        {"type": "run_started"},
        {"type": "turn_started"},
        {"type": "text_delta", "text": "half a reply"},
    ]
    events = [{"seq": seq, "at": 0, "agent": "a", **event} for seq, event in enumerate(log, 1)]
    script = """
import { Conversation } from "./conversation.ts";
const talk = new Conversation();
for (const event of given) talk.apply(event);
send(talk.blocks.map((block) => block.text ?? block.kind));
"""
    assert run_sources(script, events[:4]) == ["said", "half a repl", "ended"]
    assert run_sources(script, events) == ["said", "half a reply"]
