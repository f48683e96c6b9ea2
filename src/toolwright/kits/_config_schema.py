"""What may stand in an `agent.yaml`."""

from dataclasses import fields
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from toolwright.backends import open_store
from toolwright.backends._own_paths import only_tried
from toolwright.errors import UsageError
from toolwright.kits._presets import PRESETS, Preset
from toolwright.messages import Trust
from toolwright.models import ModelSettings

__all__ = [
    "AgentFile",
    "ApprovalSettings",
    "McpServer",
    "OpenApiDocument",
    "Plugin",
    "ToolSettings",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Plugin(_Strict):
    """A plugin executable."""

    path: str
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    tool_name_prefix: str | None = None


class McpServer(_Strict):
    """An MCP server: a command to start, or a URL to connect to."""

    command: str | None = Field(None, min_length=1)
    url: str | None = Field(None, pattern=r"^https?://[^\s/]")
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    tool_filter: list[str] | None = None
    tool_name_prefix: str | None = None
    trust: Trust | None = None
    """What it answers is `untrusted` unless this says otherwise."""

    @field_validator("args", "env")
    @classmethod
    def _is_started(cls, given: Any, info: ValidationInfo) -> Any:
        if info.data.get("url") is not None:
            raise ValueError("it is for a server with a `command`; one with a `url` is not started")
        return given

    @field_validator("headers")
    @classmethod
    def _is_asked(cls, given: Any, info: ValidationInfo) -> Any:
        if info.data.get("command") is not None:
            raise ValueError("it is for a server with a `url`; one with a `command` takes `env`")
        return given

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "McpServer":
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server needs either a command or a url, and not both")
        return self


class OpenApiDocument(_Strict):
    """An OpenAPI document, by path or web address."""

    source: str
    tool_filter: list[str] | None = None
    tool_name_prefix: str | None = None
    trust: Trust | None = None
    server_url: str | None = None
    allow_private: list[str] = Field(default_factory=list)


class ToolSettings(_Strict):
    """Where the agent's tools come from."""

    preset: Preset = "coding"
    work_dir: str = "."
    """The directory of the file tools; relative to the file this stands in."""
    functions: list[str] = Field(default_factory=list)
    """Python functions, tools or toolsets, as `package.module:name`."""
    plugins: list[Plugin] = Field(default_factory=list)
    mcp: list[McpServer] = Field(default_factory=list)
    mcp_files: list[str] = Field(default_factory=list)
    """`mcp.json` files as other clients use them."""
    openapi: list[OpenApiDocument] = Field(default_factory=list)
    skills: list[str] = Field(default_factory=list)
    """Folders with a SKILL.md."""

    @field_validator("work_dir")
    @classmethod
    def _has_file_tools(cls, given: str, info: ValidationInfo) -> str:
        preset = info.data.get("preset")
        if preset is not None and "read" not in PRESETS[preset]:
            raise ValueError(f"it is for file tools, and the preset {preset!r} has none")
        return given


class ApprovalSettings(_Strict):
    """Which calls run, are asked about, or are refused; names may have `*`."""

    allow: list[str] = Field(default_factory=list)
    ask: list[str] = Field(default_factory=list)
    deny: list[str] = Field(default_factory=list)
    otherwise: Literal["allow", "ask", "deny", "by_effects"] = "by_effects"
    """`by_effects` allows what only reads and asks about the rest."""
    from_untrusted: Literal["allow", "ask", "deny"] = "allow"
    """Calls with values from untrusted results that the person has not named; comes after `deny`."""


class LimitSettings(_Strict):
    """How far one run may go."""

    turns: int | None = Field(100, gt=0)
    tool_calls: int | None = Field(None, ge=0)
    tokens: int | None = Field(None, gt=0)
    cost: float | None = Field(None, gt=0)
    seconds: float | None = Field(None, gt=0)
    concurrency: int = Field(32, gt=0)


class AgentFile(_Strict):
    """An agent, as a file describes it."""

    name: str = "agent"
    model: str | None = None
    """Such as `openai:gpt-5-mini`; the command line and TOOLWRIGHT_MODEL come first."""
    description: str = ""
    instructions: str = ""
    tools: ToolSettings = Field(default_factory=ToolSettings)
    approvals: ApprovalSettings = Field(default_factory=ApprovalSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    store: str | None = None
    """Such as `sqlite:///sessions.db`, beside this file; otherwise a file in the state directory."""
    settings: ModelSettings = Field(default_factory=ModelSettings)
    """`ModelSettings` by name: temperature, max_tokens, reasoning and so on."""

    @field_validator("store")
    @classmethod
    def _is_a_store(cls, given: str | None) -> str | None:
        if given is None:
            return None
        try:
            with only_tried():  # Connects on first use, so to nothing.
                open_store(given)
        except UsageError as error:
            raise ValueError(str(error)) from None
        return given

    @field_validator("settings")
    @classmethod
    def _makes_sense(cls, given: ModelSettings) -> ModelSettings:
        for name in ("max_tokens", "timeout"):
            value = getattr(given, name)
            if value is not None and not value > 0:
                raise _at(name, f"`{name}` must be more than 0, not {value}")
        return given

    @field_validator("settings", mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        known = [field.name for field in fields(ModelSettings)]
        unknown = [name for name in given if name not in known] if isinstance(given, dict) else []
        if unknown:
            raise _at(unknown[0], f"there is no {unknown[0]!r}; there are: {', '.join(known)}")
        return given


def _at(key: str, told: str) -> PydanticCustomError:
    """What is wrong with one key of a part that is checked as a whole."""
    return PydanticCustomError("at_key", "{told}", {"told": told, "key": key})
