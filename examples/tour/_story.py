"""What the recorded model says and asks for, chapter by chapter."""

from typing import Any

from toolwright.messages import ReasoningPart, ToolResult
from toolwright.serve import Suggestion
from toolwright.testing import call

__all__ = ["CHAPTERS", "NOTICE", "OTHERWISE", "SUGGESTIONS"]

FIX = "The till's tests fail. Find the bug and fix it."
RELEASE = "Release the till as version 1.1.0."
SUPPLIER = "Ask the supplier what a till drawer costs and note it down."
SIGN = "Make a sign for the shop door."

NOTICE = (
    "The model is a recording: what it says was written beforehand. The tools really run, "
    "in a scratch folder on this machine."
)
OTHERWISE = (
    "I am a recording and know only the chapters of the tour: start a new conversation and choose "
    "one of them. With `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY` set, or with a "
    "local Ollama running, `make demo` uses a real model instead and I can answer anything."
)
SUGGESTIONS = (
    Suggestion(
        title="Fix a bug", prompt=FIX, detail="Reads files, runs the tests, edits, runs them again."
    ),
    Suggestion(
        title="Release it", prompt=RELEASE, detail="Asks for your approval; you may edit or refuse."
    ),
    Suggestion(
        title="Ask the supplier",
        prompt=SUPPLIER,
        detail="Waits in the inbox until you play the supplier.",
    ),
    Suggestion(
        title="Make a sign", prompt=SIGN, detail="Lets you choose a colour, then draws a picture."
    ),
)
_TESTS = "python3 -B -m unittest -v"


def _plan(done: int) -> Any:
    steps = ["Read the code and its tests", "See what fails", "Fix it", "Run the tests again"]
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
    return call(
        "write_todos",
        todos=[{"content": s, "status": state} for s, state in zip(steps, states, strict=False)],
    )


def _ask_for_release(result: ToolResult) -> Any:
    said = "The tests pass. A release cannot be taken back, so I need your word."
    if "FAILED" in result.text:
        said = "The tests **fail**: fix the bug first, and say no to this."
    return [said, call("release", version="1.1.0")]


def _after_release(result: ToolResult) -> str:
    if result.status == "denied":
        return "Then I leave it as it is: nothing was released."
    return f"Done. {result.text} You can see the entry in `RELEASES.md` beside this conversation."


def _note_price(result: ToolResult) -> Any:
    if result.status != "ok":
        return "The supplier did not answer in time, so I noted nothing."
    return [
        "The supplier has answered; I note it down.",
        call("write", path="prices.txt", content=f"till drawer: {result.text}\n"),
    ]


def _draw(result: ToolResult) -> Any:
    if result.status != "ok":
        return "No colour, no sign."
    return call("draw_sign", text="Open till late", colour=result.text)


CHAPTERS: dict[str, list[Any]] = {
    FIX: [
        [
            ReasoningPart(
                text="The report only says that tests fail. I should read both files before I run "
                "anything, and keep a plan that can be seen."
            ),
            "I will read the code and its tests side by side, then run the tests.",
            _plan(0),
            call("read", path="till.py"),
            call("read", path="test_till.py"),
        ],
        [_plan(1), call("bash", command=_TESTS)],
        [
            "`total` computes `sum(prices) * (1 - discount_percent) // 100`: it takes the percentage "
            "from 1 instead of from 100. One line is wrong.",
            _plan(2),
            call(
                "edit",
                path="till.py",
                old_text="(1 - discount_percent)",
                new_text="(100 - discount_percent)",
            ),
        ],
        [_plan(3), call("bash", command=_TESTS)],
        [_plan(4)],
        "Fixed. The discount was taken from **1** instead of from **100**:\n\n"
        "```diff\n-    return sum(prices) * (1 - discount_percent) // 100\n"
        "+    return sum(prices) * (100 - discount_percent) // 100\n```\n\n"
        "| test | before | after |\n|---|---|---|\n| without discount | failed | passes |\n"
        "| with discount | failed | passes |\n| change | passes | passes |\n",
    ],
    RELEASE: [
        [
            "I make sure that the tests pass before I ask you.",
            call("bash", command=_TESTS),
        ],
        _ask_for_release,
        _after_release,
    ],
    SUPPLIER: [
        [
            "I send the question. It can take hours; meanwhile nothing runs and nothing is lost, "
            "even if this server is restarted. Play the supplier in the **inbox**.",
            call("ask_supplier", item="till drawer"),
        ],
        _note_price,
        "Noted in `prices.txt`.",
    ],
    SIGN: [
        [
            "Which colour shall it have?",
            call(
                "get_user_choice",
                options=["seagreen", "firebrick", "goldenrod", "steelblue"],
                question="The colour of the sign",
            ),
        ],
        _draw,
        "Here it is; it is kept as an artifact of this session.",
    ],
}
