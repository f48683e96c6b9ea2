"""Application Integration workflows and Integration Connectors as tools."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from toolwright.backends import Reachable
from toolwright.concurrency import Once, close_all
from toolwright.errors import UsageError
from toolwright.messages import AuthCredential, AuthScheme
from toolwright.sources._usable import from_outside, listed_tools
from toolwright.sources.cloud._connector_tools import (
    OPERATIONS,
    Connector,
    action_tool,
    entity_tool,
)
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
from toolwright.sources.cloud._integration_client import IntegrationClient
from toolwright.sources.openapi import CallLimits, OpenAPIToolset
from toolwright.sources.openapi._client import Api
from toolwright.tools import ReadonlyContext, Tool, ToolFilter, Toolset, digest_of, with_name

__all__ = ["ApplicationIntegrationToolset"]


class ApplicationIntegrationToolset(Toolset):
    """Tools from an integration's API triggers, or from a connection's entities and actions.

    What there is, is asked of Google Cloud when the tools are first listed. While that is not
    answered its tools are missing from the list, and the log says why; with `required=True`,
    listing raises instead.
    """

    def __init__(
        self,
        project: str,
        location: str,
        *,
        integration: str | None = None,
        triggers: Sequence[str] | None = None,
        connection: str | None = None,
        entity_operations: Mapping[str, Sequence[str]] | None = None,
        actions: Sequence[str] | None = None,
        tool_name_prefix: str = "",
        tool_instructions: str = "",
        service_account_json: str | Mapping[str, Any] | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        tool_filter: ToolFilter = None,
        connection_template_override: str = "ExecuteConnection",
        credentials_config: GoogleCredentialsConfig | None = None,
        integrations_endpoint: str | None = None,
        connectors_endpoint: str | None = None,
        limits: CallLimits | None = None,
        required: bool = False,
    ) -> None:
        """Prepare the toolset for one integration or one connection.

        Args:
            project: The Google Cloud project.
            location: The region, such as us-central1.
            integration: An integration's name; its API triggers become tools.
            triggers: Ids of those triggers; all of them when left out.
            connection: A connection's name; its entities and actions become tools.
            entity_operations: For each entity LIST, GET, CREATE, UPDATE or DELETE; empty for all.
            actions: Names of the connection's actions.
            tool_name_prefix: Put before every tool's name.
            tool_instructions: Appended to every tool's description.
            service_account_json: A service account's key; by default as this machine signs in.
            auth_scheme: Another way to sign in to an integration's triggers.
            auth_credential: The credential for it.
            tool_filter: Names to keep, or a predicate.
            connection_template_override: The integration that calls connections.
            credentials_config: Credentials given in another way than by key.
            integrations_endpoint: Another address of Application Integration.
            connectors_endpoint: Another address of Integration Connectors.
            limits: Time, retries and size of calls.
            required: Raise when the services cannot be asked, instead of having no tools.
        """
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix or None)
        _check_one_mode(integration, triggers, connection, entity_operations, actions)
        self._integration = integration
        self._triggers = tuple(triggers or ())
        self._connection = connection
        self._entities = _checked_operations(entity_operations or {})
        self._actions = tuple(actions or ())
        self._instructions = tool_instructions
        self._auth = auth_scheme, auth_credential
        self._template = connection_template_override
        self._endpoint = integrations_endpoint
        self._limits = limits or CallLimits()
        self._required = required
        self._client = IntegrationClient(
            project,
            location,
            credentials_config
            or GoogleCredentialsConfig(service_account_json=service_account_json),
            integrations_endpoint=integrations_endpoint,
            connectors_endpoint=connectors_endpoint,
            limits=self._limits,
        )
        self._tools = Once(self._ask)
        self._closing: list[OpenAPIToolset | Api] = []

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """The tools; asked of Google Cloud once."""
        whose = f"{self._client.parent}/{self._integration or self._connection}"
        tools = await listed_tools(whose, self._tools.get, required=self._required)
        self._is_away = tools is None
        return tools or []

    def _listed_as(self, tool: Tool) -> str:
        """By the operations that were asked for."""
        asked = [self._entities, list(self._actions)]
        return f"{tool.source}#{digest_of(asked)[:16]}"

    async def close(self) -> None:
        """Close the connections."""
        await close_all([opened.close for opened in self._closing])

    async def _ask(self) -> list[Tool]:
        found = await (self._from_triggers() if self._integration else self._from_connection())
        return [_instructed(tool, self._instructions) for tool in found]

    async def _from_triggers(self) -> list[Tool]:
        document = await self._client.openapi_document(self._integration or "", self._triggers)
        if not document:
            raise UsageError(f"The integration {self._integration!r} has no API triggers to call.")
        scheme, credential = self._auth
        with from_outside():
            toolset = OpenAPIToolset(
                spec_str=document,
                name=f"{self._client.parent}/integrations/{self._integration}",
                auth_scheme=scheme,
                auth_credential=credential,
                server_url=self._endpoint,
                limits=self._limits,
                header_provider=None if scheme or credential else self._headers,
            )
        self._closing.append(toolset)
        return list(await toolset.list_tools())

    async def _from_connection(self) -> list[Tool]:
        name = self._connection or ""
        reachable = Reachable(_hosts(self._endpoint))
        api = Api(reachable=reachable, verify=True, limits=self._limits)
        self._closing.append(api)
        connection = await self._client.connection(name)
        source = f"connector:{self._client.parent}/connections/{name}"
        connector = Connector(self._client, connection, api, self._template, source)
        tools: list[Tool] = []
        for entity, wanted in self._entities.items():
            schema, offered = await self._client.entity(name, entity)
            chosen = _offered(entity, wanted, offered)
            tools += [entity_tool(connector, entity, one, schema) for one in chosen]
        details = {action: await self._client.action(name, action) for action in self._actions}
        return tools + [action_tool(connector, *action) for action in details.items()]

    async def _headers(self, ctx: ReadonlyContext) -> Mapping[str, str]:
        return await self._client.headers()


def _check_one_mode(
    integration: str | None,
    triggers: Sequence[str] | None,
    connection: str | None,
    entity_operations: Mapping[str, Sequence[str]] | None,
    actions: Sequence[str] | None,
) -> None:
    modes = "either integration and triggers, or connection and entity_operations or actions"
    if bool(integration) == bool(connection):
        raise UsageError(f"Give {modes}; got {'both' if integration else 'neither'}.")
    if integration and (entity_operations or actions):
        raise UsageError(f"entity_operations and actions belong to a connection. Give {modes}.")
    if connection and triggers:
        raise UsageError(f"triggers belong to an integration. Give {modes}.")
    if connection and not entity_operations and not actions:
        raise UsageError(f"A connection needs entity_operations or actions. Give {modes}.")


def _checked_operations(wanted: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    checked = {entity: [name.upper() for name in names] for entity, names in wanted.items()}
    for entity, names in checked.items():
        unknown = [name for name in names if name not in OPERATIONS]
        if unknown:
            raise UsageError(
                f"{entity!r} cannot {', '.join(unknown)}; operations are {', '.join(OPERATIONS)}."
            )
    return checked


def _offered(entity: str, wanted: Sequence[str], offered: Sequence[str]) -> list[str]:
    """The operations to make tools of: those wanted, or all that the connector offers."""
    known = [name for name in OPERATIONS if name in offered]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise UsageError(
            f"The connector offers no {', '.join(missing)} for {entity!r}; it offers: "
            f"{', '.join(known) or 'nothing'}."
        )
    return list(wanted) or known


def _instructed(tool: Tool, instructions: str) -> Tool:
    if not instructions:
        return tool
    return with_name(tool, description=f"{tool.description}\n\n{instructions}")


def _hosts(endpoint: str | None) -> list[str]:
    host = urlsplit(endpoint or "").hostname
    return [host] if host else []
