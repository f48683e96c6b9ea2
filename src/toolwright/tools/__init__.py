"""The centre: tools, toolsets, their context and their wrappers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.tools._arguments import Args, args_parser
from toolwright.tools._confirmation import (
    Policy,
    PolicyWish,
    Require,
    decide,
    with_approval,
    with_confirmation,
)
from toolwright.tools._context import (
    Context,
    ExecutionContext,
    NodeInfo,
    Origin,
    ReadonlyContext,
    RunInside,
    SessionInfo,
    ToolConfirmation,
    ToolContext,
)
from toolwright.tools._copies import Kept, copied, kept, lent
from toolwright.tools._decision import Decision, Verdict, Wish, stricter
from toolwright.tools._exact import Exact, exact
from toolwright.tools._fingerprint import ONCE, digest_of, digest_of_arguments
from toolwright.tools._function import FunctionTool, function_tool, tool
from toolwright.tools._judgement import (
    decided,
    named,
    refuse_questions,
    until_denied,
    wishes_of,
)
from toolwright.tools._output import to_output
from toolwright.tools._services import Artifacts, AuthFlows, Credentials, Memory, Services
from toolwright.tools._signature import plain_schema
from toolwright.tools._state import (
    APPROVED,
    PINNED,
    RESERVED,
    SEAL,
    SharedWrites,
    State,
    StateTable,
    checked_state,
    files_seen,
    pinned_files,
)
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
    each_by_name,
    filtered,
    nearest,
    prefixed,
    renamed,
    reshaped,
    without_clashes,
)
from toolwright.tools._wrappers import (
    with_failure,
    with_name,
    with_retries,
    with_timeout,
    with_trust,
)

if TYPE_CHECKING:
    from toolwright.tools._answers import (
        accept_answer,
        answer_from_text,
        with_defaults,
    )
    from toolwright.tools._authenticated import AuthenticatedFunctionTool, with_credential
    from toolwright.tools._base import BaseTool
    from toolwright.tools._careful import careful
    from toolwright.tools._difference import difference
    from toolwright.tools._edits import apply_edit, differences, read_again, says, writable
    from toolwright.tools._json_schema import checked_parser, schema_parser
    from toolwright.tools._patterns import Named
    from toolwright.tools._policy import NameKind, Rule, Rules, guarded, interrupting, rules
    from toolwright.tools._ranking import Ranking
    from toolwright.tools._schema_check import SchemaCheck, TooMuchWork
    from toolwright.tools._search import SearchableToolset, searchable
    from toolwright.tools._sign_in import ask_to_sign_in
    from toolwright.tools._waiting import (
        LongRunningFunctionTool,
        deferred_tool,
        with_deferral,
        with_later_update,
    )
    from toolwright.tools._yes_or_no import Spelling, is_decision, read_decision

_LAZY = {
    "accept_answer": "_answers",
    "answer_from_text": "_answers",
    "with_defaults": "_answers",
    "AuthenticatedFunctionTool": "_authenticated",
    "ask_to_sign_in": "_sign_in",
    "with_credential": "_authenticated",
    "BaseTool": "_base",
    "difference": "_difference",
    "apply_edit": "_edits",
    "differences": "_edits",
    "read_again": "_edits",
    "says": "_edits",
    "writable": "_edits",
    "checked_parser": "_json_schema",
    "schema_parser": "_json_schema",
    "SchemaCheck": "_schema_check",
    "TooMuchWork": "_schema_check",
    "Named": "_patterns",
    "NameKind": "_policy",
    "Rule": "_policy",
    "Rules": "_policy",
    "digest_of_policy": "_policy",
    "careful": "_careful",
    "guarded": "_policy",
    "interrupting": "_policy",
    "rules": "_policy",
    "Ranking": "_ranking",
    "SearchableToolset": "_search",
    "searchable": "_search",
    "LongRunningFunctionTool": "_waiting",
    "deferred_tool": "_waiting",
    "with_deferral": "_waiting",
    "with_later_update": "_waiting",
    "Spelling": "_yes_or_no",
    "is_decision": "_yes_or_no",
    "read_decision": "_yes_or_no",
}
"""Names that most agents do not need, and the file each is in."""

__all__ = [
    "APPROVED",
    "ONCE",
    "PINNED",
    "RESERVED",
    "SEAL",
    "Args",
    "Artifacts",
    "AuthFlows",
    "AuthenticatedFunctionTool",
    "BaseTool",
    "BaseToolset",
    "Context",
    "Credentials",
    "Decision",
    "Exact",
    "ExecutionContext",
    "FunctionTool",
    "Handler",
    "IsEnabled",
    "Kept",
    "LongRunningFunctionTool",
    "MaxOutput",
    "Memory",
    "NameKind",
    "Named",
    "NodeInfo",
    "Origin",
    "Output",
    "Policy",
    "PolicyWish",
    "Ranking",
    "ReadonlyContext",
    "RequestShaper",
    "Require",
    "Rule",
    "Rules",
    "RunInside",
    "SchemaCheck",
    "SearchableToolset",
    "Services",
    "SessionInfo",
    "SharedWrites",
    "Spelling",
    "State",
    "StateTable",
    "TooMuchWork",
    "Tool",
    "ToolConfirmation",
    "ToolContext",
    "ToolFilter",
    "ToolLike",
    "ToolPredicate",
    "Toolset",
    "Verdict",
    "Wish",
    "accept_answer",
    "answer_from_text",
    "apply_edit",
    "args_parser",
    "as_tool",
    "ask_to_sign_in",
    "careful",
    "checked_parser",
    "checked_state",
    "combined",
    "copied",
    "decide",
    "decided",
    "deferred_tool",
    "difference",
    "differences",
    "digest_of",
    "digest_of_arguments",
    "digest_of_policy",
    "each_by_name",
    "exact",
    "files_seen",
    "filtered",
    "function_tool",
    "guarded",
    "interrupting",
    "is_decision",
    "kept",
    "lent",
    "named",
    "nearest",
    "pinned_files",
    "plain_schema",
    "prefixed",
    "read_again",
    "read_decision",
    "refuse_questions",
    "renamed",
    "reshaped",
    "rules",
    "says",
    "schema_parser",
    "searchable",
    "stricter",
    "to_output",
    "tool",
    "until_denied",
    "wishes_of",
    "with_approval",
    "with_confirmation",
    "with_credential",
    "with_defaults",
    "with_deferral",
    "with_failure",
    "with_later_update",
    "with_name",
    "with_retries",
    "with_timeout",
    "with_trust",
    "without_clashes",
    "writable",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
