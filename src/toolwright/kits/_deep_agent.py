"""Ready-made agents for long work: they plan, keep files, run commands and delegate."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from toolwright._settings import explained
from toolwright.agent import Agent, BaseAgent, Compaction, Limits
from toolwright.backends import Executor
from toolwright.backends._own_paths import unless_refused
from toolwright.backends.files import Files, StateBackend
from toolwright.builtin import Skill, SkillToolset, file_tools, todo_tools
from toolwright.builtin.files import Backend, backend_for
from toolwright.errors import UsageError
from toolwright.kits._delegation import task_tool
from toolwright.kits._execution import (
    Execution,
    execution_tools,
    executor_of,
    open_toolset,
)
from toolwright.kits._large_results import with_results_in_files
from toolwright.kits._notes import MemoryFiles
from toolwright.kits._prompt import deep_prompt
from toolwright.models import Model
from toolwright.tools import BaseTool, RequestShaper, Require, ToolContext, Toolset, as_tool

__all__ = ["SubAgentSpec", "create_deep_agent", "create_deep_agent_async"]

GENERAL_PURPOSE = "general_purpose"
_BIG_RESULT = 20_000
_COMPACT_AT = 120_000


class SubAgentSpec(TypedDict, total=False):
    """What a sub-agent is made from; `name` and `description` are required."""

    name: str
    description: str
    system_prompt: str
    tools: Sequence[Any]
    model: Model | str
    skills: Sequence[str]
    interrupt_on: Mapping[str, Require]


@unless_refused()
@explained(rest=Agent)
def create_deep_agent(
    name: str = "deep_agent",
    model: Model | str | None = None,
    *,
    tools: Sequence[Any] = (),
    instructions: str = "",
    description: str = "",
    subagents: Sequence[SubAgentSpec | BaseAgent] = (),
    execution: Execution = None,
    backend: Backend | None = None,
    work_dir: str | Path = ".",
    skills: Sequence[str | Path | Skill] = (),
    interrupt_on: Mapping[str, Require] | None = None,
    memory: Sequence[str] = (),
    limits: Limits | None = None,
    compaction: Compaction | None = None,
    **settings: Any,
) -> Agent:
    """An agent with todos, files, delegation and, if wanted, execution and skills.

    Files are in the session's state unless a `backend` is given. `memory` names files in it whose
    text is put before the model each turn. Scripts of `skills` run where `execution` runs commands,
    if it does so itself and is not an MCP server. `interrupt_on` says which tools a person must confirm;
    it holds for sub-agents too, as `policy` and `hooks` do. The other settings are `Agent`'s.
    """
    files = backend_for(backend or _in_state)
    core = _core_tools(backend or _in_state, files)
    own = [_in_files(thing, files) for thing in tools]
    running = [_in_files(thing, files) for thing in execution_tools(execution, work_dir)]
    executor = executor_of(execution, work_dir)
    helpers = _sub_agents(subagents, [*core, *running, *own], executor)
    learned = _skills(skills, executor)
    given = [*core, *running, *own, task_tool(helpers), *learned, *_notes(memory, files)]
    agent = Agent(
        name=name,
        model=model,
        description=description,
        instructions=deep_prompt(instructions, execution=bool(running), delegation=True),
        tools=given,
        interrupt_on=interrupt_on,
        limits=limits or Limits(depth=3),
        compaction=compaction or Compaction(max_tokens=_COMPACT_AT, keep_messages=20),
        **settings,
    )
    for helper in helpers.values():
        helper.parent = helper.parent or agent
    return agent


@explained(rest=create_deep_agent)
async def create_deep_agent_async(
    name: str = "deep_agent", model: Model | str | None = None, **settings: Any
) -> tuple[Agent, Callable[[], Awaitable[None]]]:
    """`create_deep_agent`, and what closes the servers and sandboxes it started.

    Sandboxes and servers are opened here, so one that cannot start fails now and not in a run.
    """
    agent = create_deep_agent(name, model, **settings)
    try:
        for toolset in agent.shelf.toolsets:
            await open_toolset(toolset)
    except BaseException:
        await agent.close()
        raise
    return agent, agent.close


def _in_state(ctx: ToolContext) -> Files:
    return StateBackend(ctx.state)


def _core_tools(backend: Backend, files: Callable[[ToolContext], Files]) -> list[Any]:
    reading = {"read_file"}  # its pages are bounded already
    made = [t if t.name in reading else _in_files(t, files) for t in file_tools(backend)]
    return [*todo_tools(), *made]


def _in_files(thing: Any, files: Callable[[ToolContext], Files]) -> Any:
    # What shapes requests must stay what it is, and toolsets are opened and signed in to themselves.
    is_tool = isinstance(thing, BaseTool) or callable(thing)
    if isinstance(thing, (Toolset, RequestShaper)) or not is_tool:
        return thing
    return with_results_in_files(as_tool(thing), files, _BIG_RESULT)


def _sub_agents(
    specs: Sequence[SubAgentSpec | BaseAgent], inherited: Sequence[Any], executor: Executor | None
) -> dict[str, BaseAgent]:
    """The sub-agents by name; a general one is always among them."""
    made: dict[str, BaseAgent] = {}
    general = SubAgentSpec(
        name=GENERAL_PURPOSE, description="Does any piece of work, with the same tools as you."
    )
    named = {spec.name if isinstance(spec, BaseAgent) else spec.get("name") for spec in specs}
    for spec in specs if GENERAL_PURPOSE in named else [general, *specs]:
        agent = spec if isinstance(spec, BaseAgent) else _sub_agent(spec, inherited, executor)
        if agent.name in made:
            raise UsageError(f"Two sub-agents are named {agent.name!r}; rename one.")
        made[agent.name] = agent
    return made


def _sub_agent(spec: SubAgentSpec, inherited: Sequence[Any], executor: Executor | None) -> Agent:
    missing = [key for key in ("name", "description") if not spec.get(key)]
    if missing:
        raise UsageError(f"A sub-agent needs {' and '.join(missing)}; got {dict(spec)!r}.")
    unknown = spec.keys() - SubAgentSpec.__annotations__.keys()
    if unknown:
        raise UsageError(
            f"Sub-agent {spec['name']!r} has unknown settings {sorted(unknown)}; "
            f"it takes {', '.join(SubAgentSpec.__annotations__)}."
        )
    tools = spec.get("tools", inherited)
    # One with tools of its own has been given all it may do; running scripts is not among them.
    runs_scripts = executor if "tools" not in spec else None
    return Agent(
        name=spec["name"],
        description=spec["description"],
        model=spec.get("model"),
        instructions=deep_prompt(spec.get("system_prompt", ""), execution=False, delegation=False),
        tools=[*tools, *_skills(spec.get("skills", ()), runs_scripts)],
        interrupt_on=spec.get("interrupt_on"),
        disallow_transfer_to_parent=True,
        disallow_transfer_to_peers=True,
    )


def _skills(skills: Sequence[str | Path | Skill], executor: Executor | None) -> list[Toolset]:
    if not skills:
        return []
    loaded = [s if isinstance(s, Skill) else Skill.from_directory(s) for s in skills]
    return [SkillToolset(loaded, code_executor=executor)]


def _notes(paths: Sequence[str], files: Callable[[ToolContext], Files]) -> list[MemoryFiles]:
    return [MemoryFiles(tuple(paths), files)] if paths else []
