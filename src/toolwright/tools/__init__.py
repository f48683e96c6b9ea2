"""The centre: tools, toolsets, their context and their wrappers."""

from toolwright.tools._context import (
    NodeInfo,
    ReadonlyContext,
    RunInside,
    SessionInfo,
    ToolConfirmation,
    ToolContext,
)
from toolwright.tools._services import Artifacts, AuthFlows, Credentials, Memory, Services
from toolwright.tools._state import SCOPES, State, StateTable
from toolwright.tools._tool import Args, Handler, IsEnabled, MaxOutput, Output, Tool

__all__ = [
    "SCOPES",
    "Args",
    "Artifacts",
    "AuthFlows",
    "Credentials",
    "Handler",
    "IsEnabled",
    "MaxOutput",
    "Memory",
    "NodeInfo",
    "Output",
    "ReadonlyContext",
    "RunInside",
    "Services",
    "SessionInfo",
    "State",
    "StateTable",
    "Tool",
    "ToolConfirmation",
    "ToolContext",
]
