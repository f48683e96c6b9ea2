"""Agents: the loop, the dispatcher, sub-agents, and the runner that keeps their sessions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.agent._agent import Agent, BaseAgent, LlmAgent
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Compaction, Limits
from toolwright.agent._node import AgentNode
from toolwright.agent._result import Outcome, Result
from toolwright.agent._rule_names import agents_inside
from toolwright.agent._rules import ABOVE_ALL, Above

if TYPE_CHECKING:
    from toolwright.agent._agent_tool import AgentTool, run_inside
    from toolwright.agent._explain import Explanation
    from toolwright.agent._graph import START, Edge, Workflow
    from toolwright.agent._lock import lock_of, moved_since
    from toolwright.agent._log import RETRY_SECONDS
    from toolwright.agent._reviewer import reviewed_by
    from toolwright.agent._runner import Runner
    from toolwright.agent._transfer import TransferToAgentTool, transfer_to_agent
    from toolwright.agent._workflows import LoopAgent, ParallelAgent, SequentialAgent, exit_loop

_LAZY = {
    "AgentTool": "_agent_tool",
    "run_inside": "_agent_tool",
    "Explanation": "_explain",
    "START": "_graph",
    "Edge": "_graph",
    "Workflow": "_graph",
    "lock_of": "_lock",
    "moved_since": "_lock",
    "RETRY_SECONDS": "_log",
    "reviewed_by": "_reviewer",
    "Runner": "_runner",
    "TransferToAgentTool": "_transfer",
    "transfer_to_agent": "_transfer",
    "LoopAgent": "_workflows",
    "ParallelAgent": "_workflows",
    "SequentialAgent": "_workflows",
    "exit_loop": "_workflows",
}
"""Names that a single agent does not need, and the file each is in."""

__all__ = [
    "ABOVE_ALL",
    "RETRY_SECONDS",
    "START",
    "Above",
    "Agent",
    "AgentNode",
    "AgentTool",
    "BaseAgent",
    "Compaction",
    "Edge",
    "Explanation",
    "Hooks",
    "Limits",
    "LlmAgent",
    "LoopAgent",
    "Outcome",
    "ParallelAgent",
    "Result",
    "Runner",
    "SequentialAgent",
    "TransferToAgentTool",
    "Workflow",
    "agents_inside",
    "exit_loop",
    "lock_of",
    "moved_since",
    "reviewed_by",
    "run_inside",
    "transfer_to_agent",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
