"""What the recorded model says and asks for, chapter by chapter."""

from typing import Any

from toolwright.messages import ReasoningPart, ToolResult
from toolwright.serve import Suggestion
from toolwright.testing import call

__all__ = [
    "AFTERWARDS",
    "COLOURS",
    "NOTICE",
    "OTHERWISE",
    "SUGGESTIONS",
    "chapters",
    "stopped",
    "went_well",
]

FIX = "The till's tests fail. Find the bug and fix it."
RELEASE = "Release the till as version 1.1.0."
SUPPLIER = "Ask the supplier what a till drawer costs and note it down."
SIGN = "Make a sign for the shop door."

COLOURS = ["seagreen", "firebrick", "goldenrod", "steelblue"]
NOTICE = (
    "The model is a recording: what it says was written beforehand. The tools really run, "
    "in a folder of their own on this machine, and its commands in a sandbox. All is kept when the "
    "server stops; make demo AFRESH=1 starts afresh."
)
OTHERWISE = (
    "I am a recording and know only the chapters of the tour: start a new conversation and choose "
    "one of them. With `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY` set, or with a "
    "local Ollama running, you can choose a real model above the chapters, which answers anything."
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


def went_well(result: ToolResult) -> bool:
    """Whether the call did what it was for."""
    return result.status == "ok" and not result.failed


def stopped(result: ToolResult) -> str:
    """What is said when a call went wrong: the chapter ends there."""
    why = (result.text.strip().splitlines() or ["it gave no reason"])[-1]
    return (
        f"`{result.name}` did not work, so I stop here: {why[:300]}\n\n"
        "To try again, choose the chapter in a new conversation."
    )


def _have_failed(result: ToolResult) -> bool:
    """Whether tests ran and failed, which is not the same as that they could not run."""
    return bool(result.failed) and "FAILED (" in result.text


def _mend(result: ToolResult) -> Any:
    if went_well(result):
        return "The tests pass already, so there is nothing to fix: somebody has changed the till."
    return _EDIT if _have_failed(result) else stopped(result)


def _after_mending(result: ToolResult) -> Any:
    if _have_failed(result):
        return "I have changed the line, but tests still **fail**; look at their output above."
    return [_plan(4)] if went_well(result) else stopped(result)


def _ask_for_release(result: ToolResult) -> Any:
    if went_well(result):
        said = "The tests pass. A release cannot be taken back, so I need your word."
    elif _have_failed(result):
        said = "The tests **fail**: fix the bug first, and say no to this."
    else:
        return stopped(result)
    return [said, call("release", version="1.1.0")]


def _after_release(result: ToolResult) -> str:
    if result.status == "denied":
        return "Then I leave it as it is: nothing was released."
    if not went_well(result):
        return stopped(result)
    return f"Done. {result.text} You can see the entry in `RELEASES.md` beside this conversation."


def _note_price(result: ToolResult) -> Any:
    if not went_well(result):
        return "There is no answer from the supplier, so I noted nothing."
    return [
        "The supplier has answered; I note it down.",
        call("write", path="prices.txt", content=f"till drawer: {result.text}\n"),
    ]


def _draw(result: ToolResult) -> Any:
    if not went_well(result):
        return "No colour, no sign."
    return call("draw_sign", text="Open till late", colour=result.text)


AFTERWARDS: dict[str, list[Any]] = {"ask_supplier": [_note_price, "Noted in `prices.txt`."]}
"""What follows the answer to a call that came after the person had written something else."""


def chapters(*, shell: bool = True) -> dict[str, list[Any]]:
    """The turns of each chapter; without a shell those that run commands are left out."""
    return {
        FIX: _fix(shell),
        RELEASE: _RELEASE if shell else _RELEASE_UNCHECKED,
        SUPPLIER: _SUPPLIER,
        SIGN: _SIGN,
    }


def _fix(shell: bool) -> list[Any]:
    return [
        [
            ReasoningPart(
                text="The report only says that tests fail. I should read both files before I run "
                "anything, and keep a plan that can be seen."
            ),
            "I begin with the till as it was delivered, and read the code and its tests side by "
            "side.",
            _plan(0),
            call("read", path="till.py"),
            call("read", path="test_till.py"),
        ],
        *([[_plan(1), call("bash", command=_TESTS)]] if shell else []),
        _mend if shell else _EDIT,
        *([[_plan(3), call("bash", command=_TESTS)]] if shell else []),
        _after_mending if shell else [_plan(4)],
        "Fixed. The discount was taken from **1** instead of from **100**:\n\n"
        "```diff\n-    return sum(prices) * (1 - discount_percent) // 100\n"
        "+    return sum(prices) * (100 - discount_percent) // 100\n```\n\n"
        + (_SEEN if shell else "There is no shell here, so I could not run the tests."),
    ]


_EDIT = [
    "`total` computes `sum(prices) * (1 - discount_percent) // 100`: it takes the percentage "
    "from 1 instead of from 100. One line is wrong.",
    _plan(2),
    call(
        "edit",
        path="till.py",
        old_text="(1 - discount_percent)",
        new_text="(100 - discount_percent)",
    ),
]
_SEEN = (
    "| test | before | after |\n|---|---|---|\n| without discount | failed | passes |\n"
    "| with discount | failed | passes |\n| change | passes | passes |\n"
)


_RELEASE: list[Any] = [
    [
        "I make sure that the tests pass before I ask you.",
        call("bash", command=_TESTS),
    ],
    _ask_for_release,
    _after_release,
]
_RELEASE_UNCHECKED: list[Any] = [
    ["I cannot run the tests here, so I need your word.", call("release", version="1.1.0")],
    _after_release,
]
_SUPPLIER: list[Any] = [
    [
        "I send the question. It can take hours; meanwhile nothing runs and nothing is lost, "
        "even if you write to me or this server is restarted. Play the supplier in the "
        "**inbox**.",
        call("ask_supplier", item="till drawer"),
    ],
    _note_price,
    "Noted in `prices.txt`.",
]
_SIGN: list[Any] = [
    [
        "Which colour shall it have?",
        call(
            "get_user_choice",
            options=COLOURS,
            question="The colour of the sign",
        ),
    ],
    _draw,
    "Here it is; it is kept as an artifact of this session.",
]
