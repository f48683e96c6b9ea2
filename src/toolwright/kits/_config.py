"""Make an agent of an `agent.yaml`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from toolwright import builtin, sources

# By unit, not by name: each source loads only when a file asks for it.
from toolwright._private import demand_own_way, make_parents
from toolwright.agent import Agent, Limits
from toolwright.backends import sqlite_address, sqlite_path
from toolwright.backends._own_paths import unless_refused
from toolwright.errors import UsageError
from toolwright.kits._config_schema import (
    AgentFile,
    ApprovalSettings,
    McpServer,
    OpenApiDocument,
    Plugin,
)
from toolwright.kits._import import import_object
from toolwright.kits._presets import preset_tools
from toolwright.kits._state import store_of
from toolwright.kits._yaml import Document, read_yaml
from toolwright.models import Model, check_model_name
from toolwright.tools import Policy, Rule, Rules, Toolset

__all__ = [
    "AgentFile",
    "LoadedAgent",
    "default_agent",
    "load_agent_file",
    "openapi_addresses",
    "read_agent_file",
]


DEFAULT_FILE = "agent.yaml"
_MOST_OF_A_DOCUMENT = 20_000_000
"""Bytes: it is read before anybody has said that the file may be trusted, and the same one after."""


_Part = tuple[tuple[str | int, ...], Any]
"""A tool or toolset, and the setting that it is from."""


class LoadedAgent:
    """A file's settings and the agent made of them."""

    def __init__(self, path: Path, settings: AgentFile, agent: Agent) -> None:
        self.path = path
        self.settings = settings
        self.agent = agent

    @property
    def store_address(self) -> str:
        """The address of the store; a relative SQLite file is beside the agent's file.

        Without one, it is in the state directory of the person: what lies beside the agent's file is
        in the workspace of its commands, who could write answers of people into it.
        """
        if self.settings.store is None:
            return store_of("agents", self.path.parent.resolve())
        file = sqlite_path(self.settings.store)
        if file is None or file.is_absolute():
            return self.settings.store
        beside = self.path.parent / file
        try:
            demand_own_way(beside)  # As it is written: where its links lead may be one's own.
        except OSError as error:
            raise UsageError(f"{self.path}: the store is not used: {error}.") from error
        return sqlite_address(beside.resolve())

    @property
    def store(self) -> str:
        """The address of the store, with the directory of its file made."""
        if (file := sqlite_path(self.store_address)) is not None:
            make_parents(file)
        return self.store_address


@unless_refused()
def load_agent_file(path: str | Path, model: Model | str | None = None) -> LoadedAgent:
    """Make the agent of an `agent.yaml`; mistakes are told with their line."""
    document = read_yaml(Path(path))
    settings = _settings(document)
    return LoadedAgent(document.path, settings, _agent(document, settings, model))


def read_agent_file(path: str | Path) -> AgentFile:
    """What an `agent.yaml` says; nothing that it names is imported, started or connected to."""
    return _settings(read_yaml(Path(path)))


def _settings(document: Document) -> AgentFile:
    settings = _checked(document)
    if settings.model is not None and settings.model != "me":
        with _at(document, "model"):
            check_model_name(settings.model)
    return settings


def default_agent(model: Model | str | None = None) -> Agent:
    """The agent that an empty file describes, in the current directory."""
    return _agent(Document(Path(DEFAULT_FILE), {}, {}), AgentFile(), model)


def _checked(document: Document) -> AgentFile:
    try:
        return AgentFile.model_validate(_without_empty_parts(document.value))
    except ValidationError as error:
        lines = [
            f"{document.where(_place(detail))}: {'.'.join(map(str, detail['loc'])) or 'file'}: "
            f"{_plain(detail['type'], detail['msg'])}"
            for detail in error.errors(include_url=False)
        ]
        raise UsageError("\n".join(lines)) from None


def _place(detail: ErrorDetails) -> tuple[int | str, ...]:
    key = detail.get("ctx", {}).get("key")
    return detail["loc"] if key is None else (*detail["loc"], key)


def _without_empty_parts(value: Any) -> Any:
    """A part with nothing below it, such as `tools:`, is as if it were not there."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return value
    return {key: part for key, part in value.items() if part is not None}


def _plain(kind: str, message: str) -> str:
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return "settings are wanted here, as `name: value`"
    if kind == "extra_forbidden":
        return "there is no such setting; `toolwright config schema` lists all"
    message = message.removeprefix("Value error, ")
    return message[0].lower() + message[1:]


def _agent(document: Document, settings: AgentFile, model: Model | str | None) -> Agent:
    parts = _tools(document, settings)
    try:
        return Agent(
            name=settings.name,
            model=model or settings.model,
            description=settings.description,
            instructions=settings.instructions,
            tools=[tool for _, tool in parts],
            policy=_policy(document, settings.approvals),
            limits=Limits(**settings.limits.model_dump()),
            settings=settings.settings,
        )
    except UsageError:
        _find_mistake(document, settings.name, parts)
        raise


def _find_mistake(document: Document, name: str, parts: Sequence[_Part]) -> None:
    """Raise with the line of the first part that makes no agent with those before it."""
    for number in range(len(parts) + 1):
        place = parts[number - 1][0] if number else ("name",)
        with _at(document, *place):
            Agent(name=name, tools=[tool for _, tool in parts[:number]])


@contextmanager
def _at(document: Document, *place: str | int) -> Iterator[None]:
    """Say where in the file the mistake stands that is found inside."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{document.where(place)}: {error}") from error


def _tools(document: Document, settings: AgentFile) -> list[_Part]:
    wanted, base = settings.tools, document.path.parent
    with _at(document, "tools", "work_dir"):
        preset = preset_tools(wanted.preset, base / wanted.work_dir)
    found: list[_Part] = [(("tools", "preset"), tool) for tool in preset]
    makers: dict[str, Callable[[Any], list[Any]]] = {
        "functions": lambda name: _functions(base, name),
        "plugins": lambda plugin: [_plugin(base, plugin)],
        "mcp": lambda server: [_mcp(base, server)],
        "mcp_files": lambda file: sources.mcp_toolsets(base / file),
        "openapi": lambda api: [_openapi(base, api)],
    }
    for key, make in makers.items():
        for index, given in enumerate(getattr(wanted, key)):
            with _at(document, "tools", key, index):
                found += [(("tools", key, index), tool) for tool in make(given)]
    skills = _skills(document, wanted.skills)
    return [*found, *((("tools", "skills"), toolset) for toolset in skills)]


def _functions(base: Path, name: str) -> list[Any]:
    found = import_object(name, base)
    if isinstance(found, Sequence) and not isinstance(found, str):
        return list(found)
    return [found]


def _plugin(base: Path, plugin: Plugin) -> Toolset:
    given = plugin.model_dump(exclude={"path"})
    return sources.PluginToolset(_beside(base, plugin.path), cwd=base.absolute(), **given)


def _openapi(base: Path, api: OpenApiDocument) -> Toolset:
    given = api.model_dump(exclude={"source"})
    return sources.OpenAPIToolset(
        _beside(base, api.source), max_document_bytes=_MOST_OF_A_DOCUMENT, **given
    )


def openapi_addresses(base: Path, api: OpenApiDocument) -> list[str] | None:
    """Where the tools of a document beside an agent's file would call; None for one on the web."""
    source = _beside(base, api.source)
    if urlsplit(source).scheme in ("http", "https"):
        return None
    toolset = sources.OpenAPIToolset(
        source, server_url=api.server_url, max_document_bytes=_MOST_OF_A_DOCUMENT
    )
    return toolset.addresses()


def _skills(document: Document, folders: Sequence[str]) -> list[Toolset]:
    skills = []
    for index, folder in enumerate(folders):
        with _at(document, "tools", "skills", index):
            skills.append(builtin.Skill.from_directory(document.path.parent / folder))
    return [builtin.SkillToolset(skills)] if skills else []


def _beside(base: Path, source: str) -> str:
    return source if "://" in source or source.startswith("/") else str(base / source)


def _mcp(base: Path, server: McpServer) -> Toolset:
    names = {
        "tool_filter": server.tool_filter,
        "tool_name_prefix": server.tool_name_prefix,
        "trust": server.trust,
    }
    if server.url is not None:
        remote = sources.StreamableHTTPConnectionParams(url=server.url, headers=server.headers)
        return sources.McpToolset(remote, **names)
    command = sources.StdioServerParameters(
        command=server.command or "",
        args=server.args,
        env=server.env or None,
        cwd=base.absolute(),
    )
    return sources.McpToolset(sources.StdioConnectionParams(server_params=command), **names)


def _policy(document: Document, approvals: ApprovalSettings) -> Policy:
    ordered: list[Rule] = []
    written: dict[str, str] = {}
    makers: dict[str, Callable[[str], Rule]] = {
        "deny": lambda name: Rule.deny(name, reason="the agent's file does not allow it"),
        "ask": Rule.ask,
        "allow": Rule.allow,
    }
    for key, make in makers.items():
        for index, name in enumerate(getattr(approvals, key)):
            place = ("approvals", key, index)
            with _at(document, *place):
                ordered.append(make(name))
            written.setdefault(name, document.where(place))
        if key == "deny" and approvals.from_untrusted != "allow":
            about_values = Rule.ask if approvals.from_untrusted == "ask" else Rule.deny
            ordered.append(about_values(from_untrusted=True))
    if approvals.otherwise == "by_effects":
        return Rules([*ordered, Rule.allow(effects="read")], "ask", written)
    return Rules(ordered, approvals.otherwise, written)
