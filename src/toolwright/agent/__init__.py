"""Agents: the loop, the dispatcher, sub-agents, and the runner that keeps their sessions."""

from toolwright.agent._agent import Agent, BaseAgent, LlmAgent
from toolwright.agent._agent_tool import AgentTool, run_inside
from toolwright.agent._graph import START, Edge, Workflow
from toolwright.agent._hooks import Hooks
from toolwright.agent._limits import Compaction, Limits
from toolwright.agent._result import Outcome, Result
from toolwright.agent._runner import Runner
from toolwright.agent._transfer import TransferToAgentTool
from toolwright.agent._workflows import LoopAgent, ParallelAgent, SequentialAgent, exit_loop

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
]
