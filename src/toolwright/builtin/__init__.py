"""Built-in toolsets: files, workspace, shell, web, todos and more."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.builtin._artifacts import load_artifacts
    from toolwright.builtin._examples import Example, ExampleProvider, ExampleTool
    from toolwright.builtin._execute_bash import ExecuteBashTool
    from toolwright.builtin._human import ask_user, ask_user_for, get_user_choice
    from toolwright.builtin._memory import PreloadMemory, load_memory, preload_memory
    from toolwright.builtin._sandbox_tools import (
        SandboxToolset,
        open_sandbox_tools,
        sandbox_tools,
    )
    from toolwright.builtin._todos import Todo, read_todos, todo_tools, write_todos
    from toolwright.builtin.bash import BashToolPolicy, BashVerdict
    from toolwright.builtin.codemode import code_mode
    from toolwright.builtin.files import file_tools
    from toolwright.builtin.shell import (
        BestExecutor,
        ShellToolset,
        bash_tool,
        create_local_execute_tool,
    )
    from toolwright.builtin.skills import (
        Skill,
        SkillFrontmatter,
        SkillProblem,
        SkillRegistry,
        SkillToolset,
    )
    from toolwright.builtin.web import DuckDuckGo, SearchEngine, SearchResult, web_tools
    from toolwright.builtin.workspace import workspace_tools

_LAZY = {
    "Skill": "skills",
    "SkillFrontmatter": "skills",
    "SkillProblem": "skills",
    "SkillRegistry": "skills",
    "SkillToolset": "skills",
    "ask_user": "_human",
    "ask_user_for": "_human",
    "get_user_choice": "_human",
    "Example": "_examples",
    "ExampleProvider": "_examples",
    "ExampleTool": "_examples",
    "PreloadMemory": "_memory",
    "load_memory": "_memory",
    "preload_memory": "_memory",
    "load_artifacts": "_artifacts",
    "DuckDuckGo": "web",
    "SearchEngine": "web",
    "SearchResult": "web",
    "BashToolPolicy": "bash",
    "BestExecutor": "shell",
    "BashVerdict": "bash",
    "ExecuteBashTool": "_execute_bash",
    "SandboxToolset": "_sandbox_tools",
    "code_mode": "codemode",
    "open_sandbox_tools": "_sandbox_tools",
    "sandbox_tools": "_sandbox_tools",
    "ShellToolset": "shell",
    "Todo": "_todos",
    "bash_tool": "shell",
    "create_local_execute_tool": "shell",
    "file_tools": "files",
    "read_todos": "_todos",
    "todo_tools": "_todos",
    "web_tools": "web",
    "workspace_tools": "workspace",
    "write_todos": "_todos",
}
"""Each name and the file it is in; loaded on first use."""

__all__ = [
    "BashToolPolicy",
    "BashVerdict",
    "BestExecutor",
    "DuckDuckGo",
    "Example",
    "ExampleProvider",
    "ExampleTool",
    "ExecuteBashTool",
    "PreloadMemory",
    "SandboxToolset",
    "SearchEngine",
    "SearchResult",
    "ShellToolset",
    "Skill",
    "SkillFrontmatter",
    "SkillProblem",
    "SkillRegistry",
    "SkillToolset",
    "Todo",
    "ask_user",
    "ask_user_for",
    "bash_tool",
    "code_mode",
    "create_local_execute_tool",
    "file_tools",
    "get_user_choice",
    "load_artifacts",
    "load_memory",
    "open_sandbox_tools",
    "preload_memory",
    "read_todos",
    "sandbox_tools",
    "todo_tools",
    "web_tools",
    "workspace_tools",
    "write_todos",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
