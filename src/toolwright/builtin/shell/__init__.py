"""Shell commands as tools."""

from toolwright.builtin.shell._background import ProcessTools
from toolwright.builtin.shell._bash import bash_tool
from toolwright.builtin.shell._best_executor import BestExecutor
from toolwright.builtin.shell._execute import create_local_execute_tool
from toolwright.builtin.shell._outputs import OutputFolder
from toolwright.builtin.shell._run import described_place, run_command
from toolwright.builtin.shell._toolset import ShellToolset

__all__ = [
    "BestExecutor",
    "OutputFolder",
    "ProcessTools",
    "ShellToolset",
    "bash_tool",
    "create_local_execute_tool",
    "described_place",
    "run_command",
]
