"""APIs that are registered in Google Cloud API Hub, as tools."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from toolwright.concurrency import Once
from toolwright.errors import ToolError, UsageError
from toolwright.messages import AuthCredential, AuthScheme
from toolwright.sources._usable import from_outside, listed_tools
from toolwright.sources.cloud._calls import Deadline, in_time, telling
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
from toolwright.sources.openapi import OpenAPIToolset, RestApiTool
from toolwright.tools import ReadonlyContext, Tool, ToolFilter, Toolset

try:
    from google.cloud import apihub_v1
    from google.oauth2.credentials import Credentials
except ImportError as error:
    raise ImportError("API Hub tools need an extra: pip install 'toolwright[apihub]'") from error

__all__ = ["APIHubToolset"]

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/apis/[^/]+(/versions/[^/]+(/specs/[^/]+)?)?\Z")


class _RegisteredApi(OpenAPIToolset):
    _from_elsewhere = True


class APIHubToolset(Toolset):
    """One tool for each operation of an API whose OpenAPI document is registered in API Hub.

    The document is fetched when the tools are first asked for. While it cannot be had its tools are
    missing from the list, and the log says why; with `required=True`, listing raises instead.
    """

    def __init__(
        self,
        *,
        apihub_resource_name: str,
        access_token: str | None = None,
        service_account_json: str | Mapping[str, Any] | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        apihub_client: apihub_v1.ApiHubClient | None = None,
        timeout: float = 30.0,
        required: bool = False,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        **openapi_settings: Any,
    ) -> None:
        """Prepare the toolset.

        Args:
            apihub_resource_name: `projects/…/locations/…/apis/…`, with `/versions/…` and
                `/specs/…` to choose; otherwise an API's newest version and its first document.
            access_token: A token for API Hub; without it and a key, this machine's credentials.
            service_account_json: A service account's key for API Hub.
            auth_scheme: How to sign in to the API itself; without it, as its document says.
            auth_credential: The credential for the API itself.
            apihub_client: A client to use instead of making one.
            timeout: Seconds for finding the document in API Hub, further tries included.
            required: Raise when the document cannot be had, instead of having no tools.
            tool_filter: Names to keep, or a predicate.
            tool_name_prefix: Put before every tool's name.
            openapi_settings: Further settings of `OpenAPIToolset`.
        """
        super().__init__()
        self._name = _checked(apihub_resource_name)
        self._token = access_token
        self._credentials = GoogleCredentialsConfig(service_account_json=service_account_json)
        self._client = apihub_client
        self._timeout = timeout
        self._required = required
        self._settings: dict[str, Any] = {
            "auth_scheme": auth_scheme,
            "auth_credential": auth_credential,
            "tool_filter": tool_filter,
            "tool_name_prefix": tool_name_prefix,
            "name": self._name,
            **openapi_settings,
        }
        self._api: OpenAPIToolset | None = None
        self._opened = Once(self._open_in_time)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """A tool for each operation of the registered API."""
        ask = partial(self._list, readonly_context)
        tools = await listed_tools(f"API Hub's {self._name!r}", ask, required=self._required)
        self._is_away = tools is None
        return tools or []

    async def _list(self, context: ReadonlyContext | None) -> list[Tool]:
        if self._api is None:
            self._api = await self._opened.get()
        return await self._api.list_tools(context)

    def get_tool(self, name: str) -> RestApiTool:
        """The tool of one operation, by its name with or without the prefix."""
        if self._api is None:
            self._api = self._open()
        return self._api.get_tool(name)

    async def close(self) -> None:
        """Close the connections to the API."""
        if self._api is not None:
            await self._api.close()

    async def _open_in_time(self) -> OpenAPIToolset:
        try:
            return await in_time(self._timeout, self._find)
        except ToolError as error:
            raise ToolError(f"API Hub was asked for {self._name!r}. {error}") from error

    def _open(self) -> OpenAPIToolset:
        try:
            return telling(self._find)()
        except ToolError as error:
            raise UsageError(f"API Hub refused {self._name!r}: {error}") from error

    def _find(self) -> OpenAPIToolset:
        client = self._client or apihub_v1.ApiHubClient(credentials=self._sign_in())
        deadline = Deadline(self._timeout)
        name = _spec_name(client, self._name, deadline)
        text = client.get_spec_contents(name=name, retry=deadline, timeout=None).contents.decode()
        kind = "json" if text.lstrip().startswith("{") else "yaml"
        with from_outside():
            return _RegisteredApi(spec_str=text, spec_str_type=kind, **self._settings)

    def _sign_in(self) -> Any:
        return Credentials(self._token) if self._token else self._credentials.load()


def _checked(name: str) -> str:
    if not _NAME.match(name):
        raise UsageError(
            "apihub_resource_name must be like projects/P/locations/L/apis/A, optionally with "
            f"/versions/V and /specs/S; got {name!r}."
        )
    return name


def _created(version: Any) -> float:
    return version.create_time.timestamp() if version.create_time else 0.0


def _spec_name(client: apihub_v1.ApiHubClient, name: str, deadline: Deadline) -> str:
    """The document a name stands for: the named one, or the first of the newest version."""
    if "/versions/" not in name:
        versions = list(client.list_versions(parent=name, retry=deadline, timeout=None))
        if not versions:
            raise ToolError(f"{name!r} has no versions in API Hub.")
        name = max(versions, key=_created).name
    if "/specs/" not in name:
        specs = client.list_specs(parent=name, retry=deadline, timeout=None)
        spec = next(iter(specs), None)
        if spec is None:
            raise ToolError(f"{name!r} has no OpenAPI document in API Hub.")
        name = spec.name
    return name
