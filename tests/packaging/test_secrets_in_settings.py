"""A wrong value of a setting that may hold a secret is named in the error, and not shown."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from toolwright import Agent, McpToolset, OpenAPIToolset, Runner
from toolwright._expected import shown_address_of, shown_value
from toolwright.backends import (
    LocalExecutor,
    open_artifacts,
    open_credentials,
    open_memory,
    open_store,
)
from toolwright.backends.auth import SqliteCredentials
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.errors import UsageError
from toolwright.kits import create_deep_agent
from toolwright.messages import AuthCredential, HttpAuth, HttpCredentials, Redactor
from toolwright.models import AnthropicModel, OpenAIModel
from toolwright.serve import ServeSettings
from toolwright.sources import (
    GoogleCredentialsConfig,
    PluginToolset,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
    ToolboxToolset,
)
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel

SECRET = "s3cr3t"
URL = "http://127.0.0.1/"


class Telling:
    def __repr__(self) -> str:
        return SECRET


VALUES: list[Any] = [
    SECRET,
    SECRET.encode(),
    [SECRET],
    {SECRET},
    {"Authorization": f"Bearer {SECRET}"},
    {"env": {"TOKEN": SECRET}},
    Telling(),
    partial(print, SECRET),
    AuthCredential(
        auth_type="http",
        http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token=SECRET)),
    ),
]
SETTINGS: dict[str, Callable[[Any], Any]] = {
    "headers": lambda value: StreamableHTTPConnectionParams(URL, headers=value),
    "headers, SSE": lambda value: SseConnectionParams(URL, headers=value),
    "url": lambda value: StreamableHTTPConnectionParams(url=value),
    "server": lambda value: StdioConnectionParams(value),
    "connection": McpToolset,
    "auth": lambda value: McpToolset(URL, auth=value),
    "auth_scheme": lambda value: McpToolset(URL, auth_scheme=value),
    "credential_key": lambda value: McpToolset(URL, credential_key=value),
    "auth_credential": lambda value: OpenAPIToolset(spec_dict={}, auth_credential=value),
    "header_provider": lambda value: OpenAPIToolset(spec_dict={}, header_provider=value),
    "server_variables": lambda value: OpenAPIToolset(spec_dict={}, server_variables=value),
    "env of a plugin": lambda value: PluginToolset(__file__, env=value),
    "args of a plugin": lambda value: PluginToolset(__file__, args=value),
    "env of commands": lambda value: LocalExecutor(".", env=value),
    "secrets of a sandbox": lambda value: ServerSandbox(secrets=value),
    "api_key": lambda value: AnthropicModel("m", api_key=value),
    "base_url": lambda value: OpenAIModel("m", base_url=value),
    "token": lambda value: ServeSettings(token=value),
    "keys": lambda value: SqliteCredentials("c.db", keys=value),
    "secrets": Redactor,
    "service account": lambda value: GoogleCredentialsConfig(service_account_json=value),
    "toolbox": lambda value: ToolboxToolset(URL, additional_headers=value),
    "bound": lambda value: ToolboxToolset(URL, bound_params=value),
    "store": lambda value: Runner(Agent(name="a", model=ScriptedModel()), store=value),
    "execution": lambda value: create_deep_agent(model=ScriptedModel(), execution=value),
    "without a name": lambda value: AnthropicModel("m", value),  # type: ignore[call-arg, misc]
}


@pytest.mark.parametrize("what", SETTINGS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_wrong_value_is_not_shown(what: str, value: Any) -> None:
    told = ""
    try:
        SETTINGS[what](value)
    except Exception as error:
        told = str(error)
    # As an address, a text without any mark of a secret is shown.
    if not (isinstance(value, str) and what in ("connection", "store", "execution")):
        assert SECRET not in told


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_said_of_a_value_names_its_type(value: Any) -> None:
    told = shown_value("headers", value)
    assert SECRET not in told
    assert type(value).__name__ in told or told in ("text (not shown)",)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("timeout", "soon", "'soon'"),
        ("headers", 5, "5"),
        ("auth", None, "None"),
        ("tools", [1, "two", {"three": 3}], "[1, 'two', {'three': …}]"),
        ("tools", ("one",) * 9, "('one', 'one', 'one', 'one', 'one', 'one', …)"),
        ("tools", {"env": SECRET}, "{'env': …}"),
        ("tools", dict.fromkeys("abcdefgh"), "{'a': …, 'b': …, 'c': …, 'd': …, 'e': …, 'f': …, …}"),
        ("tools", Agent(name="ada", model=ScriptedModel()), "<Agent 'ada'>"),
        ("tools", print, "<builtin_function_or_method print>"),
        ("model", str, "<class 'str'>"),
    ],
)
def test_what_is_harmless_is_shown(name: str, value: Any, told: str) -> None:
    assert shown_value(name, value) == told


ADDRESSES = [
    f"postgresql:/ada:{SECRET}@db.example/x",
    f"mysql://ada:{SECRET}@db.example/x",
    f"ada:{SECRET}@db.example",
    f"redis://{SECRET}@h/?x",
    f"nothing://h/?token={SECRET}",
    f"nothing://h/#{SECRET}",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "opened", [open_store, open_artifacts, open_memory, open_credentials, Orchestrator, McpToolset]
)
def test_an_address_of_the_wrong_kind_is_shown_without_its_password(
    opened: Callable[[str], Any], address: str
) -> None:
    assert SECRET not in shown_address_of(address)
    with pytest.raises(UsageError) as caught:
        opened(address)
    assert SECRET not in str(caught.value)
