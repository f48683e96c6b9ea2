"""Application Integration and connectors, against a server held to their published definitions."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from dirty_equals import IsPartialDict
from google.oauth2.credentials import Credentials
from inline_snapshot import snapshot
from starlette.responses import JSONResponse, Response
from tests.sources.cloud._calling import ask, told
from tests.sources.cloud._published import check_answer, check_request
from tests.sources.openapi._recorder import Recorder, Seen

from toolwright.errors import ToolError, UsageError
from toolwright.sources import ApplicationIntegrationToolset, GoogleCredentialsConfig

pytestmark = pytest.mark.anyio

PARENT = "projects/shop/locations/eu"
CONNECTION = f"/v1/{PARENT}/connections/crm"
ACCOUNT = {"type": "object", "properties": {"Name": {"type": "string"}}, "required": ["Name"]}
TRIGGERS = {
    "openapi": "3.0.1",
    "servers": [{"url": "https://eu-integrations.googleapis.com"}],
    "paths": {
        f"/v1/{PARENT}/integrations/orders:execute": {
            "post": {
                "operationId": "process_order",
                "description": "Process an order.",
                "requestBody": {"required": True, "content": {"application/json": {"schema": {
                    "type": "object", "properties": {"orderId": {"type": "string"}}}}}},
            }
        }
    },
}  # fmt: skip


def google_cloud(seen: Seen) -> Response:
    """What the two services answer."""
    if seen.path == "/token":
        return JSONResponse(
            {"access_token": "from-key", "expires_in": 3600, "token_type": "Bearer"}
        )
    if not seen.headers.get("authorization", "").startswith("Bearer "):
        return JSONResponse({"error": {"message": "sign in first"}}, status_code=401)
    answers: dict[str, Any] = {
        f"/v1/{PARENT}:generateOpenApiSpec": {"openApiSpec": json.dumps(TRIGGERS)},
        CONNECTION: {"name": f"{PARENT}/connections/crm", "serviceDirectory": "svc", "host": ""},
        f"{CONNECTION}/connectionSchemaMetadata:getEntityType": {"name": f"{PARENT}/operations/entity"},
        f"{CONNECTION}/connectionSchemaMetadata:getAction": {"name": f"{PARENT}/operations/action", "done": True,
            "response": {"description": "Query the records.", "inputJsonSchema": {"type": "object"}}},
        f"/v1/{PARENT}/operations/entity": {"name": f"{PARENT}/operations/entity", "done": True,
            "response": {"jsonSchema": ACCOUNT, "operations": ["LIST", "GET", "CREATE"]}},
        f"/v2/{PARENT}/integrations/ExecuteConnection:execute": {"connectorOutputPayload": [{"Id": 1}]},
        f"/v1/{PARENT}/integrations/orders:execute": {"outputParameters": {"status": "shipped"}},
    }  # fmt: skip
    if seen.path not in answers:
        return JSONResponse({"error": {"message": f"no {seen.path}"}}, status_code=404)
    check_answer(seen, answers[seen.path])
    return JSONResponse(answers[seen.path])


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    monkeypatch.setattr("toolwright.sources.cloud._integration_client._POLL_SECONDS", 0.0)
    with Recorder(answer=google_cloud).running() as server:
        yield server
    for seen in server.seen:
        # Signing in is another service's; what a trigger takes is up to its own document.
        if seen.path != "/token" and "/integrations/orders:" not in seen.path:
            check_request(seen)


def toolset_at(cloud: Recorder, **settings: Any) -> ApplicationIntegrationToolset:
    signed_in = GoogleCredentialsConfig(credentials=Credentials("ya29.token"))
    settings.setdefault("credentials_config", signed_in)
    return ApplicationIntegrationToolset(
        "shop", "eu", integrations_endpoint=cloud.url, connectors_endpoint=cloud.url, **settings
    )


async def test_triggers_become_tools_that_run_the_integration(cloud: Recorder) -> None:
    toolset = toolset_at(
        cloud, integration="orders", triggers=["api_trigger/process_order"],
        tool_name_prefix="order_", tool_instructions="Ask before you process.",
    )  # fmt: skip
    (tool,) = await toolset.list_tools()
    assert (tool.name, tool.description) == snapshot(
        (
            "order_process_order",
            """\
Process an order.

Ask before you process.\
""",
        )
    )
    assert json.loads(cloud.seen[0].body) == snapshot(
        {
            "apiTriggerResources": [
                {"integrationResource": "orders", "triggerId": ["api_trigger/process_order"]}
            ],
            "fileFormat": "JSON",
        }
    )
    answer = await told(toolset, "order_process_order", order_id="7")
    assert answer == {"outputParameters": {"status": "shipped"}}
    assert cloud.last.headers["authorization"] == "Bearer ya29.token"
    assert json.loads(cloud.last.body) == {"orderId": "7"}
    await toolset.close()


async def test_entities_and_actions_become_tools_that_call_the_connector(cloud: Recorder) -> None:
    toolset = toolset_at(
        cloud, connection="crm", entity_operations={"Account": []}, actions=["QueryRecords"],
        tool_name_prefix="sf_",
    )  # fmt: skip
    tools = {tool.name: tool.effects for tool in await toolset.list_tools()}
    assert tools == snapshot(
        {
            "sf_list_account": "read",
            "sf_get_account": "read",
            "sf_create_account": "write",
            "sf_query_records": "write",
        }
    )
    answer = await told(toolset, "sf_list_account", filter_clause="Name='Ada'", page_size=2)
    assert answer == {"connectorOutputPayload": [{"Id": 1}]}
    assert json.loads(cloud.last.body) == snapshot(
        {
            "filterClause": "Name='Ada'",
            "pageSize": 2,
            "connectionName": "projects/shop/locations/eu/connections/crm",
            "serviceName": "svc",
            "host": "",
            "entity": "Account",
            "operation": "LIST_ENTITIES",
        }
    )
    await told(toolset, "sf_create_account", connector_input_payload={"Name": "Ada"})
    assert json.loads(cloud.last.body) == IsPartialDict(
        {"operation": "CREATE_ENTITY", "connectorInputPayload": {"Name": "Ada"}}
    )
    await told(toolset, "sf_query_records", connector_input_payload={"q": "x"})
    assert json.loads(cloud.last.body) == IsPartialDict(
        {"operation": "EXECUTE_ACTION", "action": "QueryRecords"}
    )
    await toolset.close()


async def test_tools_are_known_by_the_integration_or_connection_that_was_asked_for(
    cloud: Recorder,
) -> None:
    def crm(*entities: str) -> Any:
        wanted = {entity: ["LIST"] for entity in entities}
        return toolset_at(
            cloud, connection="crm", entity_operations=wanted, actions=["QueryRecords"]
        )

    triggers = toolset_at(cloud, integration="order", triggers=["process"])
    [trigger, *_] = await triggers.list_tools()
    assert trigger.source.startswith("openapi:projects/shop/locations/eu/integrations/order@")
    few, more = crm(), crm("Account")
    [query] = await few.list_tools()
    assert query.source == "connector:projects/shop/locations/eu/connections/crm"
    assert (
        query.definition["request"]["connectionName"]
        == "projects/shop/locations/eu/connections/crm"
    )
    listings = [(await toolset.list_tools())[0].listing for toolset in (few, crm(), more)]
    [one, same, other] = [listing.key for listing in listings if listing is not None]
    assert one == same != other, "those that list other tools are not taken for one source"
    for toolset in (triggers, few, more):
        await toolset.close()


async def test_the_model_cannot_choose_another_connection(cloud: Recorder) -> None:
    toolset = toolset_at(cloud, connection="crm", entity_operations={"Account": ["LIST"]})
    before = len(cloud.seen)
    result = await ask(toolset, "list_account", connectionName="projects/other/connections/x")
    assert result.status == "error"
    assert not any(seen.path.endswith(":execute") for seen in cloud.seen[before:])
    await toolset.close()


async def test_payloads_are_checked_against_the_entitys_schema(cloud: Recorder) -> None:
    toolset = toolset_at(cloud, connection="crm", entity_operations={"Account": ["CREATE"]})
    result = await ask(toolset, "create_account", connector_input_payload={"Nom": 1})
    assert "missing required parameter 'connector_input_payload.Name'" in result.text
    await toolset.close()


async def test_an_error_of_the_connector_is_told(cloud: Recorder) -> None:
    toolset = toolset_at(cloud, connection="crm", entity_operations={"Account": ["GET"]})
    await toolset.list_tools()
    cloud.replies.append(JSONResponse({"error": {"message": "no such account"}}, status_code=400))
    result = await ask(toolset, "get_account", entity_id="9")
    assert (result.status, "no such account" in result.text) == ("error", True)
    await toolset.close()


async def test_what_the_connector_does_not_offer_is_told_when_listing(cloud: Recorder) -> None:
    toolset = toolset_at(cloud, connection="crm", entity_operations={"Account": ["DELETE"]})
    with pytest.raises(UsageError, match="offers no DELETE for 'Account'; it offers: LIST, GET"):
        await toolset.list_tools()
    missing = toolset_at(cloud, connection="other", actions=["X"], required=True)
    with pytest.raises(ToolError, match="HTTP 404"):
        await missing.list_tools()


async def test_a_service_accounts_key_signs_in(cloud: Recorder) -> None:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {
        "type": "service_account",
        "client_email": "agent@shop.example",
        "private_key": pem,
        "token_uri": f"{cloud.url}/token",
    }
    toolset = toolset_at(
        cloud,
        integration="orders",
        service_account_json=json.dumps(account),
        credentials_config=None,
    )
    await told(toolset, "process_order", order_id="7")
    assert cloud.last.headers["authorization"] == "Bearer from-key"
    await toolset.close()


@pytest.mark.row("004-CI1b")
@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, "got neither"),
        ({"integration": "a", "connection": "b", "actions": ["c"]}, "got both"),
        ({"integration": "a", "actions": ["c"]}, "belong to a connection"),
        ({"connection": "b", "triggers": ["c"], "actions": ["d"]}, "belong to an integration"),
        ({"connection": "b"}, "needs entity_operations or actions"),
        ({"connection": "b", "entity_operations": {"A": ["FLY"]}}, "'A' cannot FLY"),
    ],
)
def test_exactly_one_mode_is_given(settings: dict[str, Any], wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted):
        ApplicationIntegrationToolset("shop", "eu", **settings)
