"""Agents, tools and toolsets, served over MCP and used by the official client."""

import asyncio
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from pydantic import BaseModel

from toolwright.agent import Agent
from toolwright.backends import MemoryCredentials
from toolwright.builtin import ask_user, get_user_choice
from toolwright.errors import ToolError, UsageError
from toolwright.messages import (
    Approve,
    AuthConfig,
    AuthCredential,
    BlobPart,
    Pending,
    Reject,
    Scope,
    TextPart,
    ToolResult,
)
from toolwright.serve.mcp import McpServer
from toolwright.serve.mcp._listing import call_result
from toolwright.testing import ScriptedModel, call
from toolwright.tools import (
    AuthenticatedFunctionTool,
    FunctionTool,
    Output,
    ToolContext,
    Toolset,
    deferred_tool,
    prefixed,
    tool,
)

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


class Weather(BaseModel):
    city: str
    degrees: float


@tool(effects="read")
def weather(city: str) -> Weather:
    """The weather in a city."""
    return Weather(city=city, degrees=21.5)


@tool
def picture() -> BlobPart:
    """A picture."""
    return BlobPart(media_type="image/png", data=b"\x89PNG...")


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("the kettle is broken")


@tool
async def count(tool_context: ToolContext) -> str:
    """Count to three."""
    for number in (1, 2, 3):
        tool_context.progress(f"at {number}", {"progress": number, "total": 3})
    return "done"


wiped: list[str] = []


def wipe(disk: str) -> str:
    """Wipe a disk."""
    wiped.append(disk)
    return f"{disk} is empty"


TOOLS = [weather, picture, fail, count, FunctionTool(wipe, require_confirmation=True)]


def client(target: Any, mode: str = "auto", **settings: Any) -> Client:
    return Client(McpServer(target).server, mode=mode, **settings)


def text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@ERAS
async def test_tools_are_listed_with_schema_effects_and_output_schema(mode: str) -> None:
    async with client(TOOLS, mode) as mcp:
        listed = {tool.name: tool for tool in (await mcp.list_tools()).tools}
    assert listed["weather"].description == "The weather in a city."
    assert listed["weather"].input_schema["required"] == ["city"]
    assert listed["weather"].output_schema is not None
    assert listed["weather"].annotations is not None
    assert listed["weather"].annotations.read_only_hint
    assert listed["wipe"].annotations is not None
    assert not listed["wipe"].annotations.read_only_hint


def test_the_note_that_a_person_changed_the_arguments_is_no_part_of_the_structured_content() -> (
    None
):
    own = TextPart('{"city": "Oslo", "degrees": 21.5}')
    content = (TextPart("(A person changed the arguments.)"), own)
    noted = ToolResult(call_id="1", name="weather", status="ok", content=content, noted=True)
    result = call_result(weather, noted)
    assert result.structured_content == {"city": "Oslo", "degrees": 21.5}
    assert len(result.content) == 2


@ERAS
async def test_a_call_gives_text_and_structured_content(mode: str) -> None:
    async with client(TOOLS, mode) as mcp:
        result = await mcp.call_tool("weather", {"city": "Oslo"})
    assert result.structured_content == {"city": "Oslo", "degrees": 21.5}
    assert text(result) == '{"city":"Oslo","degrees":21.5}'


async def test_images_errors_and_bad_arguments_are_told_as_mcp_wants_it() -> None:
    async with client(TOOLS) as mcp:
        image = (await mcp.call_tool("picture")).content[0]
        failed = await mcp.call_tool("fail")
        wrong = await mcp.call_tool("weather", {"town": "Oslo"})
    assert isinstance(image, types.ImageContent)
    assert failed.is_error
    assert text(failed) == "the kettle is broken"
    assert wrong.is_error
    assert "missing required parameter 'city'" in text(wrong)


async def test_an_unknown_tool_is_a_protocol_error() -> None:
    async with client(TOOLS) as mcp:
        with pytest.raises(Exception, match="Unknown tool: nothing"):
            await mcp.call_tool("nothing")


@ERAS
async def test_progress_reaches_the_client(mode: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with client(TOOLS, mode) as mcp:
        await mcp.call_tool("count", progress_callback=note)
    assert seen == [(1, 3, "at 1"), (2, 3, "at 2"), (3, 3, "at 3")]


@ERAS
@pytest.mark.parametrize("approve", [True, False])
async def test_a_confirmation_becomes_an_elicitation(mode: str, approve: bool) -> None:
    wiped.clear()
    asked: list[Any] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept", content={"approve": approve})

    async with client(TOOLS, mode, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("wipe", {"disk": "sda"})
    assert 'wipe({"disk": "sda"})' in asked[0].message
    assert result.is_error is not approve
    assert wiped == (["sda"] if approve else [])


async def test_a_client_that_cannot_ask_is_told_so_and_nothing_runs() -> None:
    wiped.clear()
    async with client(TOOLS, "legacy") as mcp:
        result = await mcp.call_tool("wipe", {"disk": "sda"})
    assert result.is_error
    assert "this client cannot ask for it" in text(result)
    assert wiped == []


async def test_a_request_state_that_nobody_gave_out_is_refused() -> None:
    async with client(TOOLS) as mcp:
        with pytest.raises(Exception, match="No call waits under this request state"):
            await mcp.call_tool("wipe", {"disk": "sda"}, request_state="made-up")


async def test_a_tool_can_ask_for_a_form_to_be_filled_in() -> None:
    schema = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}

    @tool
    def order(tool_context: ToolContext) -> str:
        """Order a shirt."""
        tool_context.request_input(hint="Which size?", schema=schema)
        return ""

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        assert params.message == "Which size?"
        assert "size" in params.requested_schema["properties"]
        return types.ElicitResult(action="accept", content={"size": "L"})

    async with client(order, "legacy", elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("order")
    assert text(result) == '{"size":"L"}'


@ERAS
async def test_a_wrong_answer_is_refused_and_the_question_asked_again_with_the_reason(
    mode: str,
) -> None:
    asked: list[str] = []
    contents: list[dict[str, Any]] = [{"answer": "wine"}, {"answer": 5}, {}, {"answer": "5"}]

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content=contents[len(asked) - 1])

    async with client(get_user_choice, mode, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("get_user_choice", {"options": ["tea", "5"]})
    assert text(result) == "5"
    assert len(asked) == 4
    assert asked[0] == "Please choose one."
    assert all("does not fit" in message for message in asked[1:])


@pytest.mark.parametrize("word", ["5", "true", "null", '"quoted"', "[1]"])
async def test_what_a_person_writes_freely_stays_the_text_it_is(word: str) -> None:
    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": word})

    async with client(ask_user, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("ask_user", {"question": "Which word?"})
    assert text(result) == word


async def test_a_client_that_never_answers_right_is_not_asked_for_ever() -> None:
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "wine"})

    async with client(get_user_choice, "legacy", elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("get_user_choice", {"options": ["tea"]})
    assert result.is_error
    assert len(asked) == 5


UNCLEAR = [
    {},
    {"approve": "yes"},
    {"approve": "false"},
    {"approve": 1},
    {"approve": 1.0},
    {"approve": ""},
    {"approve": None},
    {"approve": True, "reason": "no"},
    {"approve": True, "denied": True},
    {"approve": False, "approved": True},
    {"approved": True},
    {"approve": True, "arguments": "{}"},
]


@ERAS
@pytest.mark.parametrize("unclear", UNCLEAR, ids=str)
async def test_what_is_no_clear_yes_or_no_is_asked_again(
    mode: str, unclear: dict[str, Any]
) -> None:
    wiped.clear()
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        content = unclear if len(asked) == 1 else {"approve": False}
        return types.ElicitResult(action="accept", content=content)

    async with client(TOOLS, mode, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("wipe", {"disk": "sda"})
    assert (result.is_error, wiped, len(asked)) == (True, [], 2)
    assert "still waits" in asked[1]
    assert asked[1].endswith(asked[0]), "the question itself is shown as it was"


def paying(paid: list[int]) -> Agent:
    """An agent that pays twice, and asks before each."""

    def pay(cents: int) -> str:
        """Pay."""
        paid.append(cents)
        return "paid"

    calls = [call("pay", cents=1), call("pay", cents=99_999_900)]
    careful = FunctionTool(pay, require_confirmation=True)
    return Agent(name="bank", model=ScriptedModel(calls, "Done."), tools=[careful])


YES = types.ElicitResult(action="accept", content={"approve": True})


async def go_on(mcp: Client, asked: Any, said: Any = YES, **changes: Any) -> Any:
    """The call again, with an answer to what it asked."""
    request: dict[str, Any] = {"name": "bank", "arguments": {"request": "go"}} | changes
    return await mcp.session.call_tool(
        request["name"],
        request["arguments"],
        request_state=asked.request_state,
        input_responses={"question": said},
        allow_input_required=True,
    )


def shown(asked: Any) -> str:
    return asked.input_requests["question"].params.message


async def test_a_yes_is_for_the_question_that_was_shown_and_works_once() -> None:
    paid: list[int] = []
    async with client(paying(paid)) as mcp:
        begun = {"request": "go"}
        first = await mcp.session.call_tool("bank", begun, allow_input_required=True)
        assert '{"cents": 1}' in shown(first)
        second = await go_on(mcp, first)
        for _ in range(3):
            again = await go_on(mcp, first)
            assert "was not taken" in shown(again)
            assert shown(again).endswith(shown(second)), "what waits now is shown"
            assert again.request_state == second.request_state
        assert paid == [1]
        done = await go_on(mcp, second)
        assert (text(done), paid) == ("Done.", [1, 99_999_900])
        with pytest.raises(Exception, match="No call waits under this request state"):
            await go_on(mcp, second)
    assert paid == [1, 99_999_900]


async def test_two_answers_at_once_to_one_question_are_one_answer() -> None:
    paid: list[int] = []
    outcomes: list[Any] = []
    async with client(paying(paid)) as mcp:
        first = await mcp.session.call_tool("bank", {"request": "go"}, allow_input_required=True)

        async def answer() -> None:
            outcomes.append(await go_on(mcp, first))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(answer)
    assert paid == [1]
    assert all("99999900" in shown(outcome) for outcome in outcomes)


async def test_a_request_state_is_good_for_its_own_call_and_question_only() -> None:
    paid: list[int] = []
    async with client([paying(paid), *TOOLS]) as mcp:
        begun: Any = await mcp.session.call_tool(
            "bank", {"request": "go"}, allow_input_required=True
        )
        session, made, question = begun.request_state.split(":")
        for changes in ({"name": "wipe"}, {"arguments": {"request": "pay all"}}):
            with pytest.raises(Exception, match="No call waits under this request state"):
                await go_on(mcp, begun, **changes)
        for state in (
            "",
            session,
            f"{session}:{made}",
            f"{session}:{made}:",
            f":{made}:{question}",
        ):
            with pytest.raises(Exception, match="No call waits under this request state"):
                await go_on(mcp, types.InputRequiredResult(request_state=state))
        forged = types.InputRequiredResult(request_state=f"{session}:{made}:{'0' * 64}")
        assert "was not taken" in shown(await go_on(mcp, forged))
        assert paid == []
        unanswered = await go_on(mcp, begun, types.ListRootsResult(roots=[]))
        assert shown(unanswered) == shown(begun)
        no = types.ElicitResult(action="decline")
        assert "99999900" in shown(await go_on(mcp, begun, no))
    assert paid == []


@ERAS
@pytest.mark.parametrize("signs_in", [True, False])
async def test_a_sign_in_that_was_finished_elsewhere_is_found(mode: str, signs_in: bool) -> None:
    def fetch(credential: AuthCredential) -> str:
        """Fetch."""
        return f"fetched with {credential.bearer_token}"

    flows = {
        "authorizationCode": {"authorizationUrl": "https://a.test", "tokenUrl": "https://b.test"}
    }
    raw = {"auth_type": "oauth2", "oauth2": {"client_id": "app", "redirect_uri": "https://c.test"}}
    config = AuthConfig.model_validate(
        {"auth_scheme": {"type": "oauth2", "flows": flows}, "raw_auth_credential": raw}
    )
    credentials = MemoryCredentials()
    asked: list[Any] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        if signs_in:
            token = {"auth_type": "oauth2", "oauth2": {"access_token": "a-token"}}
            scope = Scope(app_name="mcp", user_id="mcp", session_id="")
            credential = AuthCredential.model_validate(token)
            await credentials.save(scope, config.credential_key, credential)
        # What can be asked for on and on ends when the person has enough of it.
        enough = mode == "auto" and len(asked) == 3
        return types.ElicitResult(action="decline" if enough else "accept")

    tool = AuthenticatedFunctionTool(func=fetch, auth_config=config)
    server = McpServer(tool, credentials=credentials)
    async with Client(server.server, mode=mode, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("fetch")
    assert asked[0].url.startswith("https://a.test")
    if signs_in:
        assert (text(result), len(asked)) == ("fetched with [redacted]", 1)
    else:
        assert (result.is_error, len(asked)) == (True, 3 if mode == "auto" else 5)


async def test_a_deferred_tool_says_that_its_answer_comes_from_elsewhere() -> None:
    @deferred_tool(timeout=60)
    def build() -> str:
        """Build it."""
        return "started"

    async with client(build) as mcp:
        result = await mcp.call_tool("build")
    assert result.is_error
    assert "waits for result from outside" in text(result)


async def test_an_agent_is_served_as_one_tool() -> None:
    model = ScriptedModel(call("weather", city="Oslo"), "Mild, 21.5 degrees.")
    agent = Agent(name="forecaster", description="Knows weather.", model=model, tools=[weather])
    async with client(agent) as mcp:
        (listed,) = (await mcp.list_tools()).tools
        result = await mcp.call_tool("forecaster", {"request": "Oslo?"})
    assert (listed.name, listed.description) == ("forecaster", "Knows weather.")
    assert text(result) == "Mild, 21.5 degrees."


@ERAS
async def test_what_an_agent_inside_asks_reaches_the_client_question_by_question(mode: str) -> None:
    wiped.clear()
    careful = FunctionTool(wipe, require_confirmation=True)
    calls = [call("wipe", disk="sda"), call("wipe", disk="sdb")]
    agent = Agent(name="operator", model=ScriptedModel(calls, "Done."), tools=[careful])
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"approve": "sda" in params.message})

    async with client(agent, mode, elicitation_callback=answer) as mcp:
        result = await mcp.call_tool("operator", {"request": "Wipe both"})
    assert text(result) == "Done."
    assert len(asked) == 2
    assert wiped == ["sda"]


async def test_a_toolset_is_listed_anew_for_each_listing() -> None:
    tools: list[Any] = [weather]

    class Growing(Toolset):
        async def get_tools(self, readonly_context: Any = None) -> list[Any]:
            return tools

    async with client(prefixed(Growing(), "my")) as mcp:
        first = [tool.name for tool in (await mcp.list_tools()).tools]
        tools.append(count)
        then = [tool.name for tool in (await mcp.list_tools()).tools]
        result = await mcp.call_tool("my_count")
    assert first == ["my_weather"]
    assert then == ["my_weather", "my_count"]
    assert text(result) == "done"


async def test_an_output_of_any_size_reaches_the_client_whole() -> None:
    @tool
    def big() -> str:
        """Much text."""
        return "x" * 1_000_000

    async with client(big) as mcp:
        assert len(text(await mcp.call_tool("big"))) == 1_000_000


async def test_a_call_that_the_client_gives_up_is_cancelled_here() -> None:
    started, cancelled = anyio.Event(), anyio.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        started.set()
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    async with client(wait, "legacy") as mcp, anyio.create_task_group() as tasks:
        tasks.start_soon(mcp.call_tool, "wait")
        with anyio.fail_after(10):
            await started.wait()
            tasks.cancel_scope.cancel()
    with anyio.fail_after(10):
        await cancelled.wait()


def test_a_pending_call_of_any_kind_has_an_answer_to_its_question() -> None:
    from toolwright.serve.mcp._elicit import answer_from

    pending = Pending(call_id="c", name="t", kind="input", schema={"type": "string"})
    accepted = types.ElicitResult(action="accept", content={"answer": "42"})
    assert answer_from(pending, accepted) == "42"
    assert answer_from(replace(pending, schema={"type": "integer"}), accepted) == 42
    assert isinstance(answer_from(pending, types.ElicitResult(action="cancel")), Reject)


@pytest.mark.parametrize("said", ["true", "false", 1, "yes", None, [], {}])
def test_what_is_no_clear_yes_or_no_to_an_elicitation_is_refused(said: Any) -> None:
    from toolwright.serve.mcp._elicit import answer_from

    pending = Pending(call_id="c", name="t", kind="confirmation")
    result = types.ElicitResult.model_construct(action="accept", content={"approve": said})
    with pytest.raises(UsageError, match="Accepted are true, false"):
        answer_from(pending, result)


NESTED = {"type": "object", "properties": {"by": {"type": "object"}}, "required": ["by"]}
FLAT = {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]}
OWN = {"type": "object", "properties": {"approve": {"type": "string"}}}
YES_OR_NO = {"type": "string", "enum": ["yes", "no"]}
BARE = {"type": "object"}
SAID_YES: dict[str, Any] = {"approve": True}
SAID_NO: dict[str, Any] = {"approve": False}


@pytest.mark.parametrize(
    ("schema", "content", "answer"),
    [
        (FLAT, {**SAID_YES, "by": "ann"}, Approve(payload={"by": "ann"})),
        (FLAT, {**SAID_NO, "by": "ann"}, Reject()),
        (FLAT, SAID_NO, Reject()),
        (FLAT, SAID_YES, Approve(payload={})),  # what is missing, the runner refuses
        (NESTED, {**SAID_YES, "answer": '{"by": {}}'}, Approve(payload={"by": {}})),
        (NESTED, {**SAID_NO, "answer": '{"by": {}}'}, Reject()),
        (NESTED, SAID_NO, Reject()),
        (OWN, {**SAID_YES, "answer": '{"approve": "no"}'}, Approve(payload={"approve": "no"})),
        (OWN, {**SAID_NO, "answer": '{"approve": "yes"}'}, Reject()),
        (YES_OR_NO, {**SAID_YES, "answer": "no"}, Approve(payload="no")),
        (YES_OR_NO, {**SAID_NO, "answer": "yes"}, Reject()),
        (BARE, SAID_NO, Reject()),
        (None, SAID_YES, Approve()),
        (None, SAID_NO, Reject()),
    ],
    ids=str,
)
def test_only_approve_says_yes_whatever_is_filled_in_beside_it(
    schema: dict[str, Any] | None, content: dict[str, Any], answer: Any
) -> None:
    from toolwright.serve.mcp._elicit import answer_from, question_for

    pending = Pending(call_id="c", name="t", kind="confirmation", schema=schema)
    form: Any = question_for(pending)
    assert form.requested_schema["properties"]["approve"]["type"] == "boolean"
    assert form.requested_schema["required"][0] == "approve"
    assert set(content) <= set(form.requested_schema["properties"])
    result = types.ElicitResult.model_construct(action="accept", content=content)
    assert answer_from(pending, result) == answer


@pytest.mark.parametrize("schema", [FLAT, NESTED, OWN, YES_OR_NO, BARE, None], ids=str)
@pytest.mark.parametrize(
    "content",
    [
        {},
        {"by": "ann"},
        {"answer": "yes"},
        {"approve": "yes"},
        {"approve": 1},
        {**SAID_YES, "on": 1},
    ],
    ids=str,
)
def test_a_form_without_a_clear_yes_or_no_is_refused(
    schema: dict[str, Any] | None, content: dict[str, Any]
) -> None:
    from toolwright.serve.mcp._elicit import answer_from

    pending = Pending(call_id="c", name="t", kind="confirmation", schema=schema)
    result = types.ElicitResult.model_construct(action="accept", content=content)
    with pytest.raises(UsageError, match=r"does not fit|Accepted are"):
        answer_from(pending, result)


async def test_a_no_in_a_form_runs_nothing() -> None:
    ran: list[Any] = []

    @tool
    def wipe(tool_context: ToolContext) -> Any:
        """Wipe the disk."""
        if tool_context.tool_confirmation is None:
            return Output.pending(kind="confirmation", schema=FLAT)
        ran.append(tool_context.tool_confirmation.payload)
        return "wiped"

    contents: list[dict[str, Any]] = [
        {"by": "no"},
        {**SAID_NO, "by": "no"},
        {**SAID_YES, "by": "ann"},
    ]

    async def fill_in(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content=contents.pop(0))

    async with Client(McpServer([wipe]).server, elicitation_callback=fill_in) as mcp:
        assert (await mcp.call_tool("wipe")).is_error  # the first answer was asked for again
        assert ran == []
        await mcp.call_tool("wipe")
        assert ran == [{"by": "ann"}]
