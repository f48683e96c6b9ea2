"""ADK's real tools as ours, and ours in an ADK agent."""

from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool as AdkFunctionTool
from google.adk.tools import LongRunningFunctionTool, google_search
from google.adk.tools import ToolContext as AdkContext
from google.genai import types
from tests.sources._calling import StubRun, context, run_tool

from toolwright import Agent, Approve, Runner
from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import ToolEnded
from toolwright.sources import from_adk, to_adk
from toolwright.testing import ScriptedModel, call
from toolwright.tools import FunctionTool, ToolConfirmation, ToolContext

pytestmark = pytest.mark.anyio


def remember(word: str, tool_context: AdkContext) -> dict[str, str]:
    """Remember a word.

    Args:
        word: The word.
    """
    tool_context.state["user:word"] = word
    return {"status": "ok", "call": tool_context.function_call_id or ""}


async def test_schema_result_and_state_are_kept() -> None:
    ours = from_adk(remember)
    run = StubRun()
    ctx = context(ours, run)
    output = await ours.run({"word": "tea"}, ctx)
    assert "Remember a word." in ours.description
    assert list(ours.spec.parameters["properties"]) == ["word"]
    assert output.value == {"status": "ok", "call": "c1"}
    assert ctx.actions.state_delta == {"user:word": "tea"}
    with pytest.raises(ArgumentError, match="missing required parameter 'word'"):
        await run_tool(ours)


async def test_a_confirmation_is_a_pending_call() -> None:
    def wipe(disk: str) -> str:
        """Wipe."""
        return f"{disk} wiped"

    ours = from_adk(AdkFunctionTool(wipe, require_confirmation=True))
    asked = await run_tool(ours, {"disk": "sda"})
    done = await run_tool(ours, {"disk": "sda"}, confirmation=ToolConfirmation())
    assert (asked.status, done.text) == ("pending", "sda wiped")


async def test_their_actions_end_the_run_with_the_tools_own_words() -> None:
    def finish(tool_context: AdkContext) -> str:
        """Finish."""
        tool_context.actions.skip_summarization = True
        tool_context.actions.escalate = True
        return "final words"

    agent = Agent(name="a", model=ScriptedModel(call("finish")), tools=[from_adk(finish)])
    result = await agent.run("go")
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    assert (result.status, result.text) == ("done", "final words")
    assert ended.actions is not None
    assert ended.actions.escalate


async def test_a_long_running_tool_keeps_its_call_open_and_its_end_is_told() -> None:
    def start_report_job(project_id: str) -> dict[str, str]:
        """Launch a report."""
        return {"status": "pending", "job_id": "j1"}

    ours = from_adk(LongRunningFunctionTool(start_report_job))
    model = ScriptedModel(call("start_report_job", project_id="p"), "Started.", "It is there.")
    runner = Runner(Agent(name="a", model=model, tools=[ours]))
    assert (await runner.run("go", session_id="s")).text == "Started."
    assert "LONG RUNNING TOOL" in model.requests[0].tools[0].description
    [pending] = await runner.pending("s")
    assert await runner.answer("s", pending.call_id, {"status": "done"}) == "accepted"
    assert (await runner.resume("s")).text == "It is there."


def test_a_tool_that_runs_inside_gemini_is_refused() -> None:
    with pytest.raises(UsageError, match="runs inside Gemini"):
        from_adk(google_search)


class CallingModel(BaseLlm):
    """Calls the only tool once, then repeats its response."""

    model: str = "calling"
    args: dict[str, Any]

    async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
        last = request.contents[-1].parts[-1]
        if last.function_response:
            part = types.Part(text=str(last.function_response.response))
        else:
            (name,) = request.tools_dict
            part = types.Part(function_call=types.FunctionCall(name=name, args=self.args))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def run_in_adk(tool: Any, **args: Any) -> tuple[list[str], dict[str, Any]]:
    """What an ADK agent with this tool says, and its state after that."""
    agent = LlmAgent(name="a", model=CallingModel(args=args), tools=[to_adk(tool)])
    runner = InMemoryRunner(agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    said: list[str] = []
    async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
        parts = event.content.parts if event.content else []
        said += [part.text or getattr(part.function_call, "name", "") or "" for part in parts]
    session = await runner.session_service.get_session(app_name="app", user_id="u", session_id="s")
    assert session is not None
    return [line for line in said if line], dict(session.state)


def greet(name: str, tool_context: ToolContext) -> str:
    """Greet somebody."""
    if name == "nobody":
        raise ValueError("whom?")
    tool_context.state["greeted"] = name
    return f"Hello, {name}."


async def test_our_tool_runs_in_their_agent_and_its_state_is_kept() -> None:
    said, state = await run_in_adk(greet, name="bob")
    assert said == ["greet", "{'result': 'Hello, bob.'}"]
    assert state == {"greeted": "bob"}


async def test_what_goes_wrong_in_our_tool_is_an_error_there() -> None:
    said, _ = await run_in_adk(greet, name="nobody")
    assert said[-1] == "{'error': 'ValueError: whom?'}"


async def test_our_confirmation_is_theirs() -> None:
    said, state = await run_in_adk(FunctionTool(greet, require_confirmation=True), name="bob")
    assert "adk_request_confirmation" in said
    assert state == {}


async def answered_in_adk(tool: Any, *, yes: int) -> tuple[int, list[str]]:
    """How many questions an ADK agent with this tool shows when each is answered with a yes, at most
    `yes` of them, and the tool's responses."""
    agent = LlmAgent(name="a", model=CallingModel(args={}), tools=[to_adk(tool)])
    runner = InMemoryRunner(agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    part, shown, said = types.Part(text="go"), 0, list[str]()
    for _ in range(1 + yes):
        message = types.Content(role="user", parts=[part])
        asked: list[types.FunctionCall] = []
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            asked += [c for c in event.get_function_calls() if c.name == ASKS]
            said += [str(r.response) for r in event.get_function_responses()]
        if not asked:
            break
        shown += len(asked)
        response = types.FunctionResponse(
            id=asked[0].id, name=ASKS, response={"confirmed": True, "hint": "", "payload": None}
        )
        part = types.Part(function_response=response)
    return shown, said


ASKS = "adk_request_confirmation"
wiped: list[str] = []


def asks_once(tool_context: ToolContext) -> str:
    """Wipe, once somebody agrees."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Wipe?")
        return ""
    wiped.append("once")
    return "wiped"


def asks_on(tool_context: ToolContext) -> str:
    """Never has enough."""
    again = tool_context.tool_confirmation is not None
    tool_context.request_confirmation(hint="And the backups?" if again else "Wipe?")
    return ""


async def test_a_question_of_our_function_is_asked_there_and_the_yes_comes_back() -> None:
    wiped.clear()
    shown, said = await answered_in_adk(asks_once, yes=1)
    assert (shown, said[-1], wiped) == (1, "{'result': 'wiped'}", ["once"])


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (FunctionTool(asks_on), "it asks a second question, 'And the backups?'"),
        (FunctionTool(asks_once, require_confirmation=True), "which of the two a yes answers"),
    ],
    ids=["the function's", "after a rule's"],
)
async def test_a_second_question_is_refused_in_words_since_nobody_there_would_see_it(
    tool: Any, why: str
) -> None:
    wiped.clear()
    shown, said = await answered_in_adk(tool, yes=3)
    assert (shown, why in said[-1], "xport a tool" in said[-1], wiped) == (1, True, True, []), said


async def test_their_tool_asks_twice_in_our_agent_and_gets_each_answer() -> None:
    hints: list[str] = []

    def wipe(tool_context: AdkContext) -> str:
        """Wipe, and the backups."""
        given = tool_context.tool_confirmation
        hints.append(given.hint if given else "")
        if given is None or given.hint == "Wipe?":
            tool_context.request_confirmation(hint="Wipe?" if given is None else "The backups?")
            return "asked"
        return "all wiped"

    agent = Agent(name="a", model=ScriptedModel(call("wipe"), "Done."), tools=[from_adk(wipe)])
    runner = Runner(agent)
    paused = await runner.run("go", session_id="s")
    for hint in ("Wipe?", "The backups?"):
        [asked] = paused.pending
        assert asked.hint == hint
        await runner.answer("s", asked.call_id, Approve())
        paused = await runner.resume("s")
    [result] = [r for m in paused.history if m.kind == "tool" for r in m.results]
    assert (paused.status, result.text, hints) == (
        "done",
        "all wiped",
        ["", "Wipe?", "The backups?"],
    )


async def test_what_a_call_leaves_out_is_filled_in_before_it_is_judged() -> None:
    def pay(cents: int, to: str = "eve", note: str | None = None) -> str:
        """Pay."""
        return f"{cents} to {to}"

    ours = from_adk(pay)
    assert ours.parse('{"cents": 1}') == {"cents": 1, "to": "eve"}
    assert (await run_tool(ours, {"cents": 1})).text == "1 to eve"
