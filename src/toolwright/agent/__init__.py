"""Agents: the loop, the dispatcher, sub-agents, and the runner that keeps their sessions."""

from toolwright.agent._agent import Agent, BaseAgent, LlmAgent
from toolwright.agent._agent_tool import AgentTool, run_inside
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Compaction, Limits
from toolwright.agent._result import Outcome, Result
from toolwright.agent._runner import Runner
from toolwright.agent._transfer import TransferToAgentTool

__all__ = [
    "Agent",
    "AgentTool",
    "BaseAgent",
    "Compaction",
    "Hooks",
    "Limits",
    "LlmAgent",
    "Outcome",
    "Result",
    "Runner",
    "TransferToAgentTool",
    "run_inside",
]
