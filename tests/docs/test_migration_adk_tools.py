"""Rows of the page on the Agent Development Kit: tools that need a service, and the context's services."""

import sys
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from google.genai import types
from tests._oauth import Provider, started_provider
from tests.models.wire import Wire, running
from tests.sources.cloud.test_pubsub import Broker, broker
from tests.sources.test_toolbox_toolset import toolbox

from toolwright import (
    Agent,
    APIHubToolset,
    ApplicationIntegrationToolset,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    AuthenticatedFunctionTool,
    AuthToolArguments,
    BlobPart,
    CustomAuthScheme,
    DiscoveryEngineSearchTool,
    Example,
    ExampleTool,
    FunctionTool,
    LlmAgent,
    LongRunningFunctionTool,
    MCPToolset,
    McpToolset,
    MemoryEntry,
    PubSubToolConfig,
    PubSubToolset,
    QueryResultMode,
    Runner,
    Skill,
    SkillFrontmatter,
    SkillToolset,
    SpannerToolset,
    SpannerToolSettings,
    StdioConnectionParams,
    StdioServerParameters,
    TextPart,
    ToolboxToolset,
    ToolContext,
    UsageError,
    VertexAiSearchTool,
    enterprise_web_search,
    get_user_choice,
    google_maps_grounding,
    google_search,
    load_artifacts,
    load_memory,
    preload_memory,
    url_context,
)
from toolwright.messages import ToolEnded, UserMessage
from toolwright.models import GeminiModel
from toolwright.testing import ScriptedModel, call

__all__ = ["broker", "toolbox"]
pytestmark = pytest.mark.anyio


def _texts(result: Any) -> list[str]:
    return [event.result.text for event in result.events if isinstance(event, ToolEnded)]


@pytest.mark.migration("adk", "types.Content, types.Part")
async def test_a_text_is_a_message_and_parts_are_plain_values() -> None:
    model = ScriptedModel("ok", "ok")
    agent = Agent(name="a", model=model)
    await agent.run("weather in london?")
    await agent.run([TextPart("What is this?"), BlobPart(media_type="image/png", data=b"x")])
    first, second = (request.history[0] for request in model.requests)
    assert isinstance(first, UserMessage)
    assert isinstance(second, UserMessage)
    assert first.parts == (TextPart("weather in london?"),)
    assert second.parts == (TextPart("What is this?"), BlobPart(media_type="image/png", data=b"x"))
    theirs: Any = types.Content(role="user", parts=[types.Part(text="weather in london?")])
    with pytest.raises(UsageError, match="A message is a string, a TextPart, a BlobPart"):
        await agent.run(theirs)


# -- signing in -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with started_provider() as running_provider:
        yield running_provider


async def _signed_in(provider: Provider, tool: Any, name: str) -> tuple[list[Any], Any]:
    """What is waited for when it is first called, and the end of the run after signing in."""
    model = ScriptedModel(call(name), "ok")
    runner = Runner(Agent(name="a", model=model, tools=[tool]), credentials="memory://")
    paused = await runner.run("go", session_id="s")
    redirect = provider.sign_in(paused.pending[0].payload["auth_uri"])
    await runner.answer("s", paused.pending[0].call_id, redirect)
    return [(one.kind, one.hint) for one in paused.pending], await runner.resume("s")


@pytest.mark.migration("adk", "AuthenticatedFunctionTool")
async def test_a_function_gets_its_credential_given_or_after_signing_in(provider: Provider) -> None:
    api_key_scheme = CustomAuthScheme(type="apiKey", **{"in": "header", "name": "X-API-Key"})
    auth_cfg = AuthConfig(
        auth_scheme=api_key_scheme,
        raw_auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.API_KEY, api_key="sk-my-secret-api-key"
        ),
    )
    sent: list[str] = []

    async def search_products(query: str, max_results: int = 5, credential: Any = None) -> dict:
        """Search the product catalogue."""
        sent.append(credential.api_key if credential else "")
        return {"products": []}

    search_tool = AuthenticatedFunctionTool(func=search_products, auth_config=auth_cfg)
    assert list(search_tool.spec.parameters["properties"]) == ["query", "max_results"]
    model = ScriptedModel(call("search_products", query="lamp"), "ok")
    await Agent(name="a", model=model, tools=[search_tool]).run("go")
    assert sent == ["sk-my-secret-api-key"]

    async def list_calendar_events(days_ahead: int = 7, credential: Any = None) -> dict:
        """List upcoming calendar events."""
        if not credential or not credential.oauth2 or not credential.oauth2.access_token:
            return {"error": "no credential"}
        return {"events": []}

    calendar_tool = AuthenticatedFunctionTool(
        func=list_calendar_events,
        auth_config=provider.oidc(),
        response_for_auth_required={"status": "auth_required", "message": "Grant access."},
    )
    waited, done = await _signed_in(provider, calendar_tool, "list_calendar_events")
    assert waited == [("credential", "Grant access.")]
    assert done.text == "ok"
    assert done.history[-2].results[0].text == '{"events":[]}'


@pytest.mark.migration("adk", "request_credential, get_auth_response")
async def test_a_function_that_asks_for_a_credential_need_not_return_anything(
    provider: Provider,
) -> None:
    config = provider.oidc()

    async def list_calendar_events(tool_context: ToolContext) -> dict | None:
        """List upcoming calendar events."""
        cred = tool_context.get_auth_response(config)
        if cred is None:
            tool_context.request_credential(config)
            return None
        return {"signed_in": bool(cred.oauth2 and cred.oauth2.access_token)}

    waited, done = await _signed_in(provider, list_calendar_events, "list_calendar_events")
    assert [kind for kind, _ in waited] == ["credential"]
    assert done.history[-2].results[0].text == '{"signed_in":true}'


@pytest.mark.migration("adk", "ExampleTool, AuthToolArguments")
async def test_examples_are_in_the_prompt_and_an_answer_names_its_call(provider: Provider) -> None:
    model = ScriptedModel("ok")
    examples = ExampleTool(examples=[Example(input="Hi", output="Ahoy!")])
    await Agent(name="a", model=model, tools=[examples]).run("Hi")
    assert "user: Hi\nmodel: Ahoy!" in model.requests[0].instructions
    assert model.requests[0].tools == ()
    arguments = AuthToolArguments(function_call_id="c1", auth_config=provider.oidc())
    assert list(AuthToolArguments.model_fields) == ["function_call_id", "auth_config"]
    assert arguments.auth_config.credential_key == "calendar"


# -- servers --------------------------------------------------------------------------------

_SERVER = """
import json, os, sys

def tool(name):
    path = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {"name": name, "inputSchema": path}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "files", "version": "1"}
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [tool(n) for n in ("read_file", "list_directory", "write_file")]}
    elif asked["method"] != "tools/call":
        answer["error"] = {"code": -32601, "message": "no such method"}
    elif asked["params"]["name"] == "list_directory":
        os._exit(1)
    else:
        answer["result"] = {"content": [{"type": "text", "text": str(os.getpid())}]}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.migration("adk", "McpToolset, MCPToolset")
async def test_a_server_is_started_once_and_again_when_it_died(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(_SERVER)
    assert MCPToolset is McpToolset
    fs_tools = McpToolset(
        connection_params=StdioConnectionParams(
            server_params=StdioServerParameters(command=sys.executable, args=[str(script)]),
            timeout=30.0,
        ),
        tool_filter=["read_file", "list_directory"],
    )
    dies = call("list_directory", path="/tmp/work")
    reads = call("read_file", path="/tmp/work/a")
    model = ScriptedModel(reads, reads, dies, reads, "ok")
    try:
        result = await LlmAgent(name="fs_agent", model=model, tools=[fs_tools]).run("go")
    finally:
        await fs_tools.close()
    assert {spec.name for spec in model.requests[0].tools} == {"read_file", "list_directory"}
    first, second, _, last = _texts(result)
    assert first == second != last
    assert last.isdigit()


@pytest.mark.npm
@pytest.mark.migration("adk", "ToolboxToolset")
@pytest.mark.filterwarnings("ignore:This connection is using HTTP")
async def test_a_toolbox_is_asked_with_bound_parameters_and_a_token(toolbox: str) -> None:
    toolset = ToolboxToolset(
        server_url=toolbox,
        tool_names=["orders_of"],
        bound_params={"customer": lambda: "bob", "most": 100},
        additional_headers={"X-Tenant": "acme"},
    )
    model = ScriptedModel(call("orders_of"), "ok")
    result = await LlmAgent(name="db_agent", model=model, tools=[toolset]).run("What did I order?")
    await toolset.close()
    assert model.requests[0].tools[0].parameters["properties"] == {}
    [text] = _texts(result)
    assert "Emma" in text
    assert "Dune" not in text

    seen: list[str | None] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_error(503)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        signed = ToolboxToolset(server_url=address, credentials=lambda: "t0ken")
        await signed.list_tools()
        await signed.close()
        server.shutdown()
    assert set(seen) == {"Bearer t0ken"}


@pytest.mark.migration("adk", "SkillToolset")
async def test_a_skill_made_in_memory_is_listed_and_loaded() -> None:
    python_skill = Skill(
        name="python_helper",
        frontmatter=SkillFrontmatter(
            name="python_helper",
            description="Helps write and explain Python code.",
            version="1.0.0",
        ),
        instructions="# Python Helper\n\n1. Understand the question.",
    )
    toolset = SkillToolset(skills=[python_skill])
    load = call("load_skill", skill_name="python_helper")
    model = ScriptedModel(call("list_skills"), load, "ok")
    agent = LlmAgent(name="coder", model=model, instructions="You code.", tools=[toolset])
    listed, loaded = _texts(await agent.run("How do I sort?"))
    assert "python_helper: Helps write and explain Python code." in listed
    assert loaded.startswith("# Python Helper")


@pytest.mark.migration("adk", "Google Cloud toolsets")
async def test_the_cloud_toolsets_are_made_as_there_and_publish(broker: Broker) -> None:
    toolset = PubSubToolset(
        tool_filter=["publish_message", "pull_messages"],
        pubsub_tool_config=PubSubToolConfig(project_id="my-gcp-project"),
    )
    model = ScriptedModel(call("publish_message", topic_name="orders", message="hi"), "ok")
    result = await LlmAgent(name="event_router", model=model, tools=[toolset]).run("Publish hi.")
    await toolset.close()
    assert [spec.name for spec in model.requests[0].tools] == ["publish_message", "pull_messages"]
    assert _texts(result) == ['{"message_id":"1"}']
    assert [message.data for message in broker.waiting.values()] == [b"hi"]
    settings = SpannerToolSettings(
        max_executed_query_result_rows=50, query_result_mode=QueryResultMode.DICT_LIST
    )
    spanner = SpannerToolset(spanner_tool_settings=settings)
    names = {tool.name for tool in await spanner.list_tools()}
    assert names >= {
        "spanner_list_table_names",
        "spanner_get_table_schema",
        "spanner_execute_sql",
        "spanner_similarity_search",
    }
    APIHubToolset(
        apihub_resource_name=(
            "projects/my-project/locations/us-central1/apis/petstore-api/versions/v1/specs/openapi"
        ),
        auth_scheme=None,
        auth_credential=None,
    )
    ApplicationIntegrationToolset(
        project="my-gcp-project",
        location="us-central1",
        integration="order-processor",
        triggers=["api_trigger/process_order"],
        tool_name_prefix="order_",
        tool_instructions="Use these tools to manage order processing workflows.",
    )
    search = DiscoveryEngineSearchTool(data_store_id=_STORE)
    assert search.name == "discovery_engine_search"


# -- what Gemini runs -----------------------------------------------------------------------

_STORE = "projects/my-project/locations/global/collections/default_collection/dataStores/my-store"


@pytest.fixture
async def wire(anyio_backend: str) -> AsyncIterator[Wire]:
    async with running() as wire:
        yield wire


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def _said(text: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


def _gemini(wire: Wire, **settings: Any) -> GeminiModel:
    return GeminiModel("gemini-2.5-flash", api_key="k", base_url=wire.url, **settings)


@pytest.mark.migration(
    "adk", "google_search, url_context, google_maps_grounding, enterprise_web_search"
)
async def test_a_search_beside_functions_is_asked_in_a_request_of_its_own(wire: Wire) -> None:
    asks = {"functionCall": {"name": "google_search", "args": {"request": "Height of K2?"}}}
    turn = {"candidates": [{"content": {"role": "model", "parts": [asks]}, "finishReason": "STOP"}]}
    wire.will(turn, _said("8611 m"), _said("It is 8611 m high."))
    agent = LlmAgent(
        name="math_and_search",
        model=_gemini(wire),
        instructions="Use `add` for arithmetic. Use `google_search` for facts.",
        tools=[add, google_search, FunctionTool(func=add, require_confirmation=True, name="sure")],
    )
    assert (await agent.run("How high is K2?")).text == "It is 8611 m high."
    offered, apart, _ = wire.bodies
    names = [one["name"] for tool in offered["tools"] for one in tool["functionDeclarations"]]
    assert names == ["add", "sure", "google_search"]
    assert apart["tools"] == [{"googleSearch": {}}]
    for tool in (url_context, google_maps_grounding, enterprise_web_search):
        wire.will(_said("ok"))
        vertex = tool is enterprise_web_search
        await LlmAgent(name="a", model=_gemini(wire, vertex=vertex), tools=[tool]).run("Look.")
    alone = [list(body["tools"][0]) for body in wire.bodies[3:]]
    assert alone == [["urlContext"], ["googleMaps"], ["enterpriseWebSearch"]]


@pytest.mark.migration("adk", "VertexAiSearchTool")
async def test_vertex_search_is_sent_alone_and_beside_others_with_leave(wire: Wire) -> None:
    wire.will(_said("ok"), _said("ok"))
    alone = VertexAiSearchTool(data_store_id=_STORE)
    model = _gemini(wire, vertex=True)
    await LlmAgent(name="a", model=model, tools=[alone]).run("Find it.")
    assert wire.bodies[0]["tools"] == [{"retrieval": {"vertexAiSearch": {"datastore": _STORE}}}]
    with pytest.raises(UsageError, match="bypass_multi_tools_limit=True"):
        await LlmAgent(name="a", model=model, tools=[alone, add]).run("Find it.")
    beside = VertexAiSearchTool(data_store_id=_STORE, bypass_multi_tools_limit=True)
    await LlmAgent(name="a", model=model, tools=[beside, add]).run("Find it.")
    sent = wire.bodies[1]["tools"]
    names = [one["name"] for tool in sent for one in tool.get("functionDeclarations", ())]
    assert names == ["add", "vertex_ai_search"]


# -- memory and artifacts -------------------------------------------------------------------


async def remember_preference(pref: str, tool_context: ToolContext) -> dict:
    """Explicitly store a user preference in long-term memory."""
    await tool_context.add_memory(memories=[MemoryEntry(content=pref)])
    return {"ok": True}


async def recall(query: str, tool_context: ToolContext) -> dict:
    """Search long-term memory for relevant past information."""
    response = await tool_context.search_memory(query)
    return {"results": [m.content for m in response.memories]}


async def flush_to_memory(tool_context: ToolContext) -> dict:
    """Commit this session's conversation to long-term memory."""
    await tool_context.add_session_to_memory()
    return {"flushed": True}


@pytest.mark.row("004-M2")
@pytest.mark.migration("adk", "search_memory, add_memory, add_session_to_memory")
async def test_what_is_remembered_in_one_session_is_recalled_in_another() -> None:
    model = ScriptedModel(
        call("remember_preference", pref="prefers metric units"),
        call("flush_to_memory"),
        "ok",
        call("recall", query="metric units"),
        call("recall", query="Ines"),
        "ok",
    )
    tools = [remember_preference, recall, flush_to_memory]
    runner = Runner(Agent(name="a", model=model, tools=tools), memory="memory://")
    await runner.run("My sister is called Ines.", user_id="u", session_id="one")
    units, sister = _texts(await runner.run("Recall.", user_id="u", session_id="two"))
    assert "prefers metric units" in units
    assert "My sister is called Ines." in sister


@pytest.mark.migration("adk", "load_memory, preload_memory, load_artifacts, get_user_choice")
async def test_the_four_tools_work_and_a_choice_is_waited_for() -> None:
    async def save(tool_context: ToolContext) -> str:
        """Save a file."""
        await tool_context.save_artifact("notes.txt", TextPart("buy milk"))
        await tool_context.add_memory([MemoryEntry(content="Has a dog called Rufus")])
        return "saved"

    model = ScriptedModel(
        call("save"),
        "ok",
        call("load_memory", query="dog"),
        call("load_artifacts", artifact_names=["notes.txt"]),
        call("get_user_choice", options=["red", "blue"]),
        "Blue it is.",
    )
    tools = [save, load_memory, preload_memory, load_artifacts, get_user_choice]
    agent = LlmAgent(name="assistant", model=model, tools=tools)
    runner = Runner(agent, memory="memory://", artifacts="memory://")
    await runner.run("hello", session_id="s")
    paused = await runner.run("What is my dog called?", session_id="s")
    memory, notes = _texts(paused)
    assert "Rufus" in memory
    assert "buy milk" in notes
    # What has come into the instructions since the first turn is told at the end of the conversation.
    told = [m.text for m in model.requests[-1].history if isinstance(m, UserMessage)]
    assert any("Has a dog called Rufus" in text for text in told)
    names = [spec.name for spec in model.requests[-1].tools]
    assert names == ["save", "load_memory", "load_artifacts", "get_user_choice"]
    assert isinstance(get_user_choice, LongRunningFunctionTool)
    assert [one.name for one in paused.pending] == ["get_user_choice"]
    await runner.answer("s", paused.pending[0].call_id, "blue")
    assert (await runner.resume("s")).text == "Blue it is."


@pytest.mark.migration("adk", "save_artifact, load_artifact, list_artifacts")
async def test_artifacts_are_awaited_and_waited_for_in_a_plain_function() -> None:
    async def export_report(format: str, tool_context: ToolContext) -> dict:
        """Export the current analysis as a file."""
        version = await tool_context.save_artifact(
            filename=f"report.{format}",
            artifact=BlobPart(media_type="text/csv", data=b"a,b"),
            custom_metadata={"generated_by": "export_report"},
        )
        return {"filename": f"report.{format}", "version": version}

    async def read_report(format: str, tool_context: ToolContext) -> dict:
        """Read a previously saved report."""
        part = await tool_context.load_artifact(f"report.{format}")
        if part is None:
            return {"error": "no report found"}
        meta = await tool_context.get_artifact_version(f"report.{format}")
        assert meta is not None
        return {"version": meta.version, "uri": meta.canonical_uri}

    async def list_reports(tool_context: ToolContext) -> list[str]:
        """List all saved report filenames."""
        return await tool_context.list_artifacts()

    def process_document(document_name: str, tool_context: ToolContext) -> dict:
        """Analyse a document."""
        document_part = tool_context.wait(tool_context.load_artifact(document_name))
        if not document_part:
            return {"status": "error", "message": f"Document '{document_name}' not found."}
        analysis = TextPart(f"{len(document_part.data or b'')} bytes")
        return {"version": tool_context.wait(tool_context.save_artifact("analysis", analysis))}

    model = ScriptedModel(
        call("read_report", format="csv"),
        call("export_report", format="csv"),
        call("export_report", format="csv"),
        call("read_report", format="csv"),
        call("process_document", document_name="report.csv"),
        call("list_reports"),
        "ok",
    )
    tools = [export_report, read_report, list_reports, process_document]
    runner = Runner(Agent(name="a", model=model, tools=tools), artifacts="memory://")
    missing, first, second, read, analysed, listed = _texts(await runner.run("go", session_id="s"))
    assert missing == '{"error":"no report found"}'
    assert (first, second) == (
        '{"filename":"report.csv","version":0}',
        '{"filename":"report.csv","version":1}',
    )
    assert '"version":1' in read
    assert (analysed, listed) == ('{"version":0}', '["analysis","report.csv"]')
