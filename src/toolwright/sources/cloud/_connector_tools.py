"""The operations of an Integration Connector as tools: entities to list, get and change, actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from toolwright.messages import Effects, ToolSpec
from toolwright.sources.cloud._integration_client import Connection, IntegrationClient
from toolwright.sources.openapi._answers import to_answer
from toolwright.sources.openapi._client import Api
from toolwright.sources.openapi._names import snake_case
from toolwright.tools import Args, Output, Tool, ToolContext, schema_parser

__all__ = ["OPERATIONS", "Connector", "action_tool", "entity_tool"]

_ENTITY_ID = {"type": "string", "description": "The id of the entity."}
_FILTER = {"type": "string", "description": "Which entities, as a WHERE clause without WHERE."}
_PAYLOAD = "connector_input_payload"
_WIRE_NAMES = {
    "entity_id": "entityId",
    "filter_clause": "filterClause",
    "page_size": "pageSize",
    "page_token": "pageToken",
    "sort_by_columns": "sortByColumns",
    _PAYLOAD: "connectorInputPayload",
    "query": "query",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    wire_name: str
    verb: str
    effects: Effects
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    has_payload: bool = False


OPERATIONS: dict[str, _Operation] = {
    "LIST": _Operation(
        wire_name="LIST_ENTITIES", verb="List", effects="read",
        properties={
            "filter_clause": _FILTER,
            "page_size": {"type": "integer", "minimum": 1},
            "page_token": {"type": "string"},
            "sort_by_columns": {"type": "array", "items": {"type": "string"}},
        },
    ),
    "GET": _Operation(
        wire_name="GET_ENTITY", verb="Get one of the", effects="read",
        properties={"entity_id": _ENTITY_ID}, required=("entity_id",),
    ),
    "CREATE": _Operation(
        wire_name="CREATE_ENTITY", verb="Create one of the", effects="write", properties={},
        required=(_PAYLOAD,), has_payload=True,
    ),
    "UPDATE": _Operation(
        wire_name="UPDATE_ENTITY", verb="Update one of the", effects="write",
        properties={"entity_id": _ENTITY_ID, "filter_clause": _FILTER},
        required=(_PAYLOAD,), has_payload=True,
    ),
    "DELETE": _Operation(
        wire_name="DELETE_ENTITY", verb="Delete one of the", effects="destructive",
        properties={"entity_id": _ENTITY_ID, "filter_clause": _FILTER},
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Connector:
    """What every call to a connection needs: who signs in, and where it goes."""

    client: IntegrationClient
    connection: Connection
    api: Api
    integration: str
    source: str
    """Which connection it is, by how it was configured."""

    @property
    def target(self) -> dict[str, str]:
        """Where the integration is to send a call."""
        return {
            "connectionName": self.connection.name,
            "serviceName": self.connection.service_name,
            "host": self.connection.host,
        }

    async def execute(
        self, name: str, fixed: Mapping[str, Any], args: Args, ctx: ToolContext
    ) -> Output:
        """Have the integration call the connector. What is fixed cannot come from the model."""
        sent = {_WIRE_NAMES[key]: value for key, value in args.items()}
        path = f"{self.client.parent}/integrations/{self.integration}:execute"
        request = httpx2.Request(
            "POST",
            f"{self.client.integrations_url}/v2/{path}",
            params={"triggerId": f"api_trigger/{self.integration}"},
            headers=await self.client.headers(),
            json={**sent, **self.target, **fixed},
        )
        return await to_answer(name, await self.api.send(request, {"authorization"}), ctx)


def entity_tool(
    connector: Connector, entity: str, operation: str, schema: Mapping[str, Any]
) -> Tool:
    """The tool for one operation on one entity."""
    kind = OPERATIONS[operation]
    properties = dict(kind.properties)
    if kind.has_payload:
        properties[_PAYLOAD] = {**schema, "description": f"The fields of the {entity}."}
    return _tool(
        connector,
        name=snake_case(f"{operation.lower()}_{entity}"),
        description=f"{kind.verb} {entity} entities.",
        properties=properties,
        required=kind.required,
        effects=kind.effects,
        fixed={"entity": entity, "operation": kind.wire_name},
    )


def action_tool(connector: Connector, action: str, details: Mapping[str, Any]) -> Tool:
    """The tool for one action of a connection."""
    is_query = action == "ExecuteCustomQuery"
    query = {"type": "string", "description": "The query, in the connected system's language."}
    payload = details.get("inputJsonSchema") or {"type": "object"}
    return _tool(
        connector,
        name=snake_case(action),
        description=details.get("description") or f"Run the action {action}.",
        properties={"query": query} if is_query else {_PAYLOAD: payload},
        required=("query",) if is_query else (_PAYLOAD,),
        effects="write",
        fixed={"action": action, "operation": "EXECUTE_QUERY" if is_query else "EXECUTE_ACTION"},
    )


def _tool(
    connector: Connector,
    *,
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: tuple[str, ...],
    effects: Effects,
    fixed: Mapping[str, Any],
) -> Tool:
    parameters = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }

    async def run(args: Args, ctx: ToolContext) -> Output:
        return await connector.execute(name, fixed, args, ctx)

    return Tool(
        spec=ToolSpec(name=name, description=description, parameters=parameters),
        parse=schema_parser(name, parameters),
        run=run,
        effects=effects,
        idempotent=effects == "read",
        source=connector.source,
        behind=lambda: {"request": {**connector.target, **fixed}},
    )
