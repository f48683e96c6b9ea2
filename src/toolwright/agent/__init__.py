"""Agents: the loop, the dispatcher, sub-agents, and the runner that keeps their sessions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.agent._agent import Agent, BaseAgent, LlmAgent
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Compaction, Limits
from toolwright.agent._result import Outcome, Result

if TYPE_CHECKING:
    from toolwright.agent._agent_tool import AgentTool, run_inside
    from toolwright.agent._graph import START, Edge, Workflow
    from toolwright.agent._runner import Runner
    from toolwright.agent._transfer import TransferToAgentTool, transfer_to_agent
    from toolwright.agent._workflows import LoopAgent, ParallelAgent, SequentialAgent, exit_loop

_LAZY = {
    "AgentTool": "_agent_tool",
    "run_inside": "_agent_tool",
    "START": "_graph",
    "Edge": "_graph",
    "Workflow": "_graph",
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
    "START",
    "Agent",
    "AgentTool",
    "BaseAgent",
    "Compaction",
    "Edge",
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
    "exit_loop",
    "run_inside",
    "transfer_to_agent",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
