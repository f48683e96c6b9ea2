"""Ask Application Integration and Integration Connectors what a project has to offer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import httpx2

from toolwright._charset import decode_text
from toolwright._tls import certificates
from toolwright.errors import ToolError
from toolwright.sources.cloud._calls import in_time
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
from toolwright.sources.openapi import CallLimits

try:
    from google.auth.transport.requests import Request
except ImportError as error:
    raise ImportError(
        "Application Integration tools need an extra: pip install 'toolwright[integration]'"
    ) from error

__all__ = ["Connection", "IntegrationClient"]

_POLL_SECONDS = 1.0
_LONGEST_SAID = 500


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a connector is reached from inside an integration."""

    name: str
    service_name: str
    host: str


class IntegrationClient:
    """The parts of the two services' REST interfaces that describe integrations and connections."""

    def __init__(
        self,
        project: str,
        location: str,
        credentials: GoogleCredentialsConfig,
        *,
        integrations_endpoint: str | None,
        connectors_endpoint: str | None,
        limits: CallLimits,
    ) -> None:
        self.parent = f"projects/{project}/locations/{location}"
        self.integrations_url = (
            integrations_endpoint or f"https://{location}-integrations.googleapis.com"
        )
        self._connectors_url = connectors_endpoint or "https://connectors.googleapis.com"
        self._config = credentials
        self._credentials: Any = None
        self._limits = limits

    async def headers(self) -> dict[str, str]:
        """The header that signs a request in; the token is renewed when it has expired."""
        return await in_time(self._limits.timeout, self._fresh_headers)

    async def openapi_document(self, integration: str, triggers: Sequence[str]) -> str:
        """The OpenAPI document of an integration's API triggers, as text."""
        resource = {"integrationResource": integration, "triggerId": list(triggers)}
        answer = await self._ask(
            "POST",
            f"{self.integrations_url}/v1/{self.parent}:generateOpenApiSpec",
            json={"apiTriggerResources": [resource], "fileFormat": "JSON"},
        )
        return answer.get("openApiSpec", "")

    async def connection(self, name: str) -> Connection:
        """Where a connection's connector runs."""
        answer = await self._ask("GET", self._connection_url(name), params={"view": "BASIC"})
        # Connections with a TLS service are called through it.
        service = answer.get("tlsServiceDirectory") if answer.get("host") else None
        return Connection(
            name=answer.get("name", f"{self.parent}/connections/{name}"),
            service_name=service or answer.get("serviceDirectory", ""),
            host=answer.get("host", ""),
        )

    async def entity(self, connection: str, entity: str) -> tuple[dict[str, Any], list[str]]:
        """An entity's JSON Schema, and the operations it takes."""
        answer = await self._metadata(connection, "getEntityType", {"entityId": entity})
        return answer.get("jsonSchema") or {}, list(answer.get("operations") or ())

    async def action(self, connection: str, action: str) -> dict[str, Any]:
        """What an action takes and does: `inputJsonSchema`, `description` and more."""
        return await self._metadata(connection, "getAction", {"actionId": action})

    async def _metadata(
        self, connection: str, method: str, params: dict[str, str]
    ) -> dict[str, Any]:
        url = f"{self._connection_url(connection)}/connectionSchemaMetadata:{method}"
        operation = await self._ask("GET", url, params=params)
        with anyio.move_on_after(self._limits.deadline):
            while not operation.get("done"):
                await anyio.sleep(_POLL_SECONDS)
                operation = await self._ask("GET", f"{self._connectors_url}/v1/{operation['name']}")
            if "error" in operation:
                raise ToolError(f"The connector refused {params}: {operation['error']}.")
            return operation.get("response") or {}
        within = f"{self._limits.deadline:g} s"
        raise ToolError(f"The connector did not describe {params} within {within}.")

    def _connection_url(self, name: str) -> str:
        return f"{self._connectors_url}/v1/{self.parent}/connections/{name}"

    async def _ask(self, method: str, url: str, **request: Any) -> dict[str, Any]:
        limits = self._limits
        try:
            with anyio.fail_after(limits.deadline):
                headers = await self.headers()
                async with httpx2.AsyncClient(
                    timeout=limits.timeout, verify=certificates()
                ) as client:
                    answer = await client.request(method, url, headers=headers, **request)
        except httpx2.TimeoutException as error:
            raise ToolError(f"{url} did not answer within {limits.timeout:g} s.") from error
        except TimeoutError as error:
            raise ToolError(f"{url} was not done within {limits.deadline:g} s.") from error
        except (httpx2.HTTPError, ToolError) as error:
            raise ToolError(f"{url} could not be reached: {error}") from error
        if answer.is_error:
            start = answer.content[:_LONGEST_SAID]
            said = decode_text(start, answer.charset_encoding, is_cut=True)
            raise ToolError(f"{url} answered HTTP {answer.status_code}: {said}")
        return answer.json()

    def _fresh_headers(self) -> dict[str, str]:
        if self._credentials is None:
            self._credentials = self._config.load()
        if not self._credentials.valid:
            self._credentials.refresh(partial(Request(), timeout=self._limits.timeout))
        return {"Authorization": f"Bearer {self._credentials.token}"}
