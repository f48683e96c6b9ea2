"""Hand-written tools in the forms that users of ADK write them in."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from toolwright import (
    Agent,
    AgentTool,
    BaseTool,
    BaseToolset,
    FunctionTool,
    LongRunningFunctionTool,
    ReadonlyContext,
    Runner,
    ToolContext,
    UsageError,
    get_user_choice,
    google_search,
    preload_memory,
    url_context,
)
from toolwright.messages import ToolSpec, UserMessage
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCHEMA = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
DECLARATIONS = {
    "spec": ToolSpec(name="lookup", description="Find it.", parameters=SCHEMA),
    "dict": {"name": "lookup", "description": "Find it.", "parameters": SCHEMA},
    "json schema": {"parameters_json_schema": SCHEMA},
    "dict as Gemini's": {
        "parameters": {
            "type": "OBJECT",
            "properties": {"sku": {"type": "STRING", "default": {"type": "STRING"}}},
            "required": ["sku"],
        }
    },
}


def of_google(form: str) -> Any:
    types = pytest.importorskip("google.genai.types", reason="google-genai comes with an extra")
    if form == "json":
        return types.FunctionDeclaration(name="lookup", parameters_json_schema=SCHEMA)
    sku = {"sku": types.Schema(type=types.Type.STRING)}
    parameters = types.Schema(type=types.Type.OBJECT, properties=sku, required=["sku"])
    return types.FunctionDeclaration(name="lookup", description="Find it.", parameters=parameters)


class Lookup(BaseTool):
    """Looks up what it is told to."""

    def __init__(self, declared: Any) -> None:
        super().__init__(name="lookup", description="Find it.")
        self._declared = declared

    def _get_declaration(self) -> Any:
        return self._declared

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Find it."""
        return {"found": args["sku"]}


def plain(x: int) -> int:
    """Do it."""
    return x


@pytest.mark.row("004-H1")
@pytest.mark.parametrize("form", [*DECLARATIONS, "google's schema", "google's json"])
async def test_a_declaration_may_come_in_any_form(form: str) -> None:
    declared = DECLARATIONS.get(form) or of_google(form.split()[-1])
    offered: list[ToolSpec] = []

    def first(request: ModelRequest) -> object:
        offered.extend(request.tools)
        return [call("lookup", sku="W-42"), call("lookup")]

    agent = Agent(name="a", model=ScriptedModel(first, "ok"), tools=[Lookup(declared)])
    result = await agent.run("x")
    [spec] = offered
    assert (spec.name, spec.description) == ("lookup", "Find it.")
    assert spec.parameters["properties"]["sku"]["type"] == "string"
    message = result.history[-2]
    assert message.kind == "tool"
    assert message.results[0].text == '{"found":"W-42"}'
    assert [item.status for item in message.results] == ["ok", "error"]


@pytest.mark.row("004-H2b")
async def test_a_tool_without_a_declaration_is_neither_offered_nor_run() -> None:
    def first(request: ModelRequest) -> object:
        assert request.tools == ()
        return call("lookup", sku="x")

    agent = Agent(name="a", model=ScriptedModel(first, "ok"), tools=[Lookup(None)])
    message = (await agent.run("x")).history[-2]
    assert message.kind == "tool"
    assert message.results[0].status == "error"


@pytest.mark.parametrize("declared", [7, "lookup", {"nmae": "x"}])
def test_another_declaration_is_a_clear_error(declared: Any) -> None:
    with pytest.raises(UsageError, match=r"Lookup\._get_declaration"):
        Agent(name="a", model=ScriptedModel(), tools=[Lookup(declared)])


def test_a_schema_that_cannot_be_used_is_refused_when_the_agent_is_built() -> None:
    with pytest.raises(UsageError, match="The schema of tool 'lookup' cannot be used"):
        Agent(name="a", model=ScriptedModel(), tools=[Lookup({"parameters": {"type": "integr"}})])


@pytest.mark.row("004-H2a")
@pytest.mark.parametrize("base", [Lookup, BaseTool, FunctionTool, AgentTool, BaseToolset])
def test_changing_the_request_the_other_way_is_refused(base: type) -> None:
    class Shared:
        async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
            """Never called."""

    with pytest.raises(UsageError, match=r"Odd defines process_llm_request.*shape_request"):
        type("Odd", (Shared, base), {})


@pytest.mark.row("004-H4c")
def test_listing_the_other_way_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Odd defines get_tools_with_prefix.*list_tools"):
        type("Odd", (BaseToolset,), {"get_tools_with_prefix": lambda self: []})


async def test_a_hand_written_tool_may_change_the_request_too() -> None:
    class Both(Lookup):
        async def shape_request(self, ctx: ReadonlyContext, request: ModelRequest) -> ModelRequest:
            """Say that it was here."""
            return replace(request, instructions="shaped")

    def look(request: ModelRequest) -> object:
        return f"{request.instructions} {[spec.name for spec in request.tools]}"

    agent = Agent(name="a", model=ScriptedModel(look), tools=[Both(DECLARATIONS["dict"])])
    assert (await agent.run("x")).text == "shaped ['lookup']"


@pytest.mark.row("004-L1a", "004-L1b", "004-H2c")
async def test_every_tool_is_a_base_tool() -> None:
    inner = Agent(name="inner", model=ScriptedModel())
    for made in (FunctionTool(plain), AgentTool(agent=inner), LongRunningFunctionTool(plain)):
        assert isinstance(made, BaseTool)
        assert issubclass(type(made), BaseTool)
        assert isinstance(made._get_declaration(), ToolSpec)
    assert not isinstance(plain, BaseTool)
    # Neither of these is called here: a provider runs the first two, the last changes requests.
    assert not any(isinstance(t, BaseTool) for t in (google_search, url_context, preload_memory))
    assert [t.is_long_running for t in (FunctionTool(plain), LongRunningFunctionTool(plain))] == [
        False,
        True,
    ]
    assert Lookup(None).is_long_running is False


async def test_a_tool_can_be_run_as_a_base_tool_is() -> None:
    values: list[Any] = []

    async def outer(tool_context: ToolContext) -> str:
        """Run the other one."""
        values.append(await FunctionTool(plain).run_async(args={"x": 3}, tool_context=tool_context))
        return "ran"

    await Agent(name="a", model=ScriptedModel(call("outer"), "ok"), tools=[outer]).run("x")
    assert values == [3]


@pytest.mark.row("004-P:choice")
def test_a_choice_is_a_long_running_tool() -> None:
    assert isinstance(get_user_choice, LongRunningFunctionTool)
    assert get_user_choice.name == "get_user_choice"
    assert "LONG RUNNING" not in get_user_choice.description


@pytest.mark.row("004-H4b")
@pytest.mark.parametrize("where", ["class", "init", "property", "shared"])
async def test_the_cache_of_a_listing_is_turned_off_under_its_other_name(where: str) -> None:
    listed: list[int] = []

    class Shared:
        if where == "shared":
            _use_invocation_cache = False

    class Counting(Shared, BaseToolset):  # type: ignore[misc]
        if where == "class":
            _use_invocation_cache = False  # type: ignore[assignment]
        if where == "property":
            _use_invocation_cache = property(lambda self: False)  # type: ignore[assignment]

        def __init__(self) -> None:
            super().__init__()
            if where == "init":
                self._use_invocation_cache = False

        async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Any]:
            """Count how often."""
            listed.append(1)
            return [FunctionTool(plain)]

    model = ScriptedModel(call("plain", x=1), call("plain", x=2), "ok")
    await Agent(name="a", model=model, tools=[Counting()]).run("x")
    assert len(listed) >= 3


def test_a_cache_setting_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="_use_invocation_cache is True, False or a property"):
        type("Odd", (BaseToolset,), {"_use_invocation_cache": lambda self: False})


@pytest.mark.row("004-F1b", "004-F1c")
async def test_a_function_may_be_listed_plain_and_confirmed_under_two_names() -> None:
    asking = FunctionTool(plain, name="plain_if_asked", require_confirmation=True)
    model = ScriptedModel([call("plain", x=1), call("plain_if_asked", x=2)], "ok")
    result = await Agent(name="a", model=model, tools=[plain, asking]).run("x")
    assert [pending.name for pending in result.pending] == ["plain_if_asked"]
    assert isinstance(result.history[0], UserMessage)
    with pytest.raises(UsageError, match="two tools named 'plain'; rename one"):
        Agent(name="a", model=model, tools=[plain, FunctionTool(plain, require_confirmation=True)])


@pytest.mark.parametrize("base", [FunctionTool, LongRunningFunctionTool, AgentTool])
@pytest.mark.parametrize("name", ["run_async", "_get_declaration", "is_long_running"])
def test_what_nothing_asks_a_ready_made_tool_for_is_refused(name: str, base: type) -> None:
    with pytest.raises(UsageError, match=rf"Guarded defines {name}, .*BaseTool"):
        type("Guarded", (base,), {name: True})
    with pytest.raises(UsageError, match=rf"Guarded defines {name}, .*BaseTool"):
        type("Guarded", (type("Mixin", (), {name: True}), base), {})
    type("Other", (base,), {"mine": True})


def test_a_sign_in_that_no_toolset_is_asked_for_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Odd defines get_auth_config.*auth_credential"):
        type("Odd", (BaseToolset,), {"get_auth_config": lambda self: None})


class Job(BaseTool):
    is_long_running = True

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Begin."""
        return {"status": "pending", "job": 7}


class Plain(Job):
    is_long_running = False


@pytest.mark.row("004-H2c")
@pytest.mark.parametrize("is_set_on", ["the class", "the object"])
async def test_a_hand_written_tool_may_be_long_running(is_set_on: str) -> None:
    job = Job(name="job", description="Begin.")
    if is_set_on == "the object":
        job = Plain(name="job", description="Begin.")
        job.is_long_running = True
    seen: list[str] = []

    def look(request: ModelRequest) -> object:
        seen.append(request.tools[0].description)
        return call("job")

    def after(request: ModelRequest) -> object:
        return "updated" if "all done" in str(request.history[-1]) else "not yet"

    runner = Runner(Agent(name="a", model=ScriptedModel(look, "begun", after), tools=[job]))
    begun = await runner.run("go", session_id="s")
    assert begun.text == "begun"
    assert "LONG RUNNING TOOL" in seen[0]
    [pending] = await runner.pending("s")
    await runner.answer("s", pending.call_id, "all done")
    assert (await runner.resume("s")).text == "updated"


class Status(Enum):
    WAITING = "In progress"


class Ticket(BaseModel):
    status: str


@dataclass
class Receipt:
    status: Status


@pytest.mark.parametrize(
    "value",
    [
        Ticket(status="PENDING"),
        Receipt(Status.WAITING),
        {"status": Status.WAITING},
        {"status": "INPROGRESS"},
        {"status": "inProgress"},
    ],
    ids=["model", "dataclass", "enum", "one word", "camel case"],
)
async def test_a_pending_status_keeps_the_call_open_in_whatever_it_stands(value: Any) -> None:
    def job() -> Any:
        """Begin."""
        return value

    model = ScriptedModel(call("job"), "begun")
    runner = Runner(Agent(name="a", model=model, tools=[LongRunningFunctionTool(job)]))
    await runner.run("go", session_id="s")
    assert len(await runner.pending("s")) == 1
