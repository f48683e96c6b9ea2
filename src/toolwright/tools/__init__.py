"""The centre: tools, toolsets, their context and their wrappers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.tools._arguments import Args
from toolwright.tools._confirmation import (
    Decision,
    Policy,
    Require,
    remembered_key,
    with_approval,
    with_confirmation,
)
from toolwright.tools._context import (
    Context,
    ExecutionContext,
    NodeInfo,
    ReadonlyContext,
    RunInside,
    SessionInfo,
    ToolConfirmation,
    ToolContext,
)
from toolwright.tools._function import FunctionTool, function_tool, tool
from toolwright.tools._output import to_output
from toolwright.tools._services import Artifacts, AuthFlows, Credentials, Memory, Services
from toolwright.tools._signature import plain_schema
from toolwright.tools._state import State, StateTable
from toolwright.tools._tool import Handler, IsEnabled, MaxOutput, Output, Tool
from toolwright.tools._toolset import (
    BaseToolset,
    RequestShaper,
    ToolFilter,
    ToolLike,
    ToolPredicate,
    Toolset,
    as_tool,
    combined,
    filtered,
    prefixed,
    renamed,
    reshaped,
)
from toolwright.tools._wrappers import with_name, with_retries, with_timeout

if TYPE_CHECKING:
    from toolwright.tools._answers import check_answer
    from toolwright.tools._authenticated import AuthenticatedFunctionTool, with_credential
    from toolwright.tools._base import BaseTool
    from toolwright.tools._json_schema import schema_parser
    from toolwright.tools._policy import Rule, Verdict, guarded, rules
    from toolwright.tools._ranking import Ranking
    from toolwright.tools._search import SearchableToolset, searchable
    from toolwright.tools._waiting import LongRunningFunctionTool, deferred_tool, with_deferral

_LAZY = {
    "check_answer": "_answers",
    "AuthenticatedFunctionTool": "_authenticated",
    "with_credential": "_authenticated",
    "BaseTool": "_base",
    "schema_parser": "_json_schema",
    "Rule": "_policy",
    "Verdict": "_policy",
    "guarded": "_policy",
    "rules": "_policy",
    "Ranking": "_ranking",
    "SearchableToolset": "_search",
    "searchable": "_search",
    "LongRunningFunctionTool": "_waiting",
    "deferred_tool": "_waiting",
    "with_deferral": "_waiting",
}
"""Names that most agents do not need, and the file each is in."""

__all__ = [
    "Args",
    "Artifacts",
    "AuthFlows",
    "AuthenticatedFunctionTool",
    "BaseTool",
    "BaseToolset",
    "Context",
    "Credentials",
    "Decision",
    "ExecutionContext",
    "FunctionTool",
    "Handler",
    "IsEnabled",
    "LongRunningFunctionTool",
    "MaxOutput",
    "Memory",
    "NodeInfo",
    "Output",
    "Policy",
    "Ranking",
    "ReadonlyContext",
    "RequestShaper",
    "Require",
    "Rule",
    "RunInside",
    "SearchableToolset",
    "Services",
    "SessionInfo",
    "State",
    "StateTable",
    "Tool",
    "ToolConfirmation",
    "ToolContext",
    "ToolFilter",
    "ToolLike",
    "ToolPredicate",
    "Toolset",
    "Verdict",
    "as_tool",
    "check_answer",
    "combined",
    "deferred_tool",
    "filtered",
    "function_tool",
    "guarded",
    "plain_schema",
    "prefixed",
    "remembered_key",
    "renamed",
    "reshaped",
    "rules",
    "schema_parser",
    "searchable",
    "to_output",
    "tool",
    "with_approval",
    "with_confirmation",
    "with_credential",
    "with_deferral",
    "with_name",
    "with_retries",
    "with_timeout",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
