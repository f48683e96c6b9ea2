"""The tools with which a model finds, reads and uses skills."""

import mimetypes
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from toolwright._settings import near_names
from toolwright.backends import Executor
from toolwright.builtin._readable import readable
from toolwright.builtin.skills._registry import SkillRegistry
from toolwright.builtin.skills._scripts import ScriptRunner
from toolwright.builtin.skills._skill import Skill
from toolwright.concurrency import close_all, in_io_thread
from toolwright.errors import ToolError, UsageError
from toolwright.messages import visible
from toolwright.tools import (
    PINNED,
    Args,
    Decision,
    FunctionTool,
    Output,
    ReadonlyContext,
    SessionInfo,
    Tool,
    ToolContext,
    ToolFilter,
    ToolLike,
    Toolset,
    as_tool,
    digest_of,
    each_by_name,
    files_seen,
)

__all__ = ["SkillToolset"]

_MOST_LISTED = 50
_MOST_JUDGED = 1000


class SkillToolset(Toolset):
    """`list_skills`, `load_skill`, `load_skill_resource`, and more where they are of use.

    With a `registry` there is also `search_skills`, with a `code_executor` also
    `run_skill_script`. Loading a skill unlocks those of the `additional_tools` that its
    `allowed-tools` names, or all of them when it names none.
    """

    cache_listing = False

    def __init__(
        self,
        skills: Sequence[Skill] = (),
        *,
        registry: SkillRegistry | None = None,
        code_executor: Executor | None = None,
        script_timeout: float = 300,
        additional_tools: Sequence[ToolLike | Toolset] | None = None,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._static = _by_name(skills)
        self._registry = registry
        self._scripts = ScriptRunner(code_executor, script_timeout) if code_executor else None
        more = additional_tools or ()
        self._toolsets = [thing for thing in more if isinstance(thing, Toolset)]
        self._additional = [as_tool(t) for t in more if not isinstance(t, Toolset)]
        self._tools = self._own_tools()
        self._judged: OrderedDict[tuple[str, str], dict[str, str]] = OrderedDict()
        """How a skill was when a call for it was judged; it may change before the call runs."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """The tools for skills, and what the loaded ones have unlocked."""
        if readonly_context is None:
            return self._tools
        loaded = readonly_context.state.get(_loaded_key(readonly_context), {})
        return [*self._tools, *await self._unlocked(loaded, readonly_context)]

    async def warnings(self) -> list[str]:
        """The skills that break a rule of their format, and those that were left out for it."""
        skills = dict(self._static)
        refused: list[str] = []
        if self._registry is not None:
            skills = {**await in_io_thread(self._registry.skills), **skills}
            refused = [problem.reason for problem in self._registry.problems()]
        broken = [f"skill {s.name!r}: {text}" for s in skills.values() for text in s.warnings]
        return [*(f"a skill is left out: {reason}" for reason in refused), *broken]

    async def all_tools(self, context: ReadonlyContext | None = None) -> list[Tool] | None:
        """The tools for skills, and all that a skill may unlock."""
        found = [await toolset.all_tools(context) for toolset in self._toolsets]
        if any(listed is None for listed in found):
            return None
        unlocked = [tool for listed in found for tool in listed or ()]
        return self._shaped([*self._tools, *self._additional, *unlocked], context)

    async def hidden_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """All that a skill may unlock."""
        listed = [tool for toolset in self._toolsets for tool in await toolset.list_tools(context)]
        hidden = [tool for inner in self._toolsets for tool in await inner.hidden_tools(context)]
        return [*self._additional, *listed, *hidden]

    async def file_digests(self) -> dict[str, dict[str, str]]:
        """The digests of all files of each skill, of its instructions, and of what it may unlock."""
        skills = await self._all()
        found = {f"skill:{name}": await in_io_thread(_digests, s) for name, s in skills.items()}
        more = [await toolset.file_digests() for toolset in self._toolsets]
        return dict(each_by_name(pair for digests in (found, *more) for pair in digests.items()))

    async def close(self) -> None:
        """Close the toolsets among the additional tools; the executor is its owner's."""
        await close_all([toolset.close for toolset in self._toolsets])

    async def end_session(self, session: SessionInfo) -> None:
        """Tell the toolsets among the additional tools."""
        await close_all([partial(toolset.end_session, session) for toolset in self._toolsets])

    # -- the tools --------------------------------------------------------------------------

    async def _list_skills(self) -> str:
        """List the skills there are, with what each is for."""
        skills = await self._all()
        if not skills:
            return "There are no skills."
        lines = [_listed(skill) for skill in skills.values()]
        more = len(lines) - _MOST_LISTED
        if more > 0:
            lines[_MOST_LISTED:] = [f"({more} more; find them with search_skills.)"]
        return "\n".join(lines)

    async def _search_skills(self, query: str) -> str:
        """Find skills for a piece of work.

        Args:
            query: What the skill should help with, in a few words.
        """
        assert self._registry is not None
        found = await in_io_thread(self._registry.search, query)
        if not found:
            return f"No skill fits {query!r}; try other words."
        return "\n".join(map(_listed, found))

    async def _load_skill(self, skill_name: str, tool_context: ToolContext) -> str:
        """Read the instructions of a skill. Do this before the work the skill is for.

        Args:
            skill_name: The skill's name, as it was listed.
        """
        skill = await self._find(skill_name)
        await self._contents(skill, tool_context)
        names = {skill.name: list(skill.frontmatter.allowed_tools)}
        unlocked = await self._unlocked(names, tool_context)
        key = _loaded_key(tool_context)
        tool_context.state.note(key, {**tool_context.run.table.values.get(key, {}), **names})
        files = await in_io_thread(skill.files)
        sections = [skill.instructions]
        if files:
            sections.append("Files of this skill: " + ", ".join(files))
        if unlocked:
            told = ", ".join(tool.name for tool in unlocked)
            sections.append(f"Tools you can call from your next turn on: {told}")
        return "\n\n".join(sections)

    async def _load_skill_resource(
        self, skill_name: str, file_path: str, tool_context: ToolContext
    ) -> Output:
        """Read a file that belongs to a skill.

        Args:
            skill_name: The skill's name.
            file_path: The file's path inside the skill, such as `references/guide.md`.
        """
        skill = await self._find(skill_name)
        files = await self._contents(skill, tool_context)
        path = PurePosixPath(file_path).as_posix()
        if path not in files:
            await in_io_thread(skill.read, file_path)  # Says why not.
            raise ToolError(f"{file_path!r} is not among the files of skill {skill.name!r}.")
        data = files[path]
        media_type = mimetypes.guess_type(file_path)[0] or "text/plain"
        return Output(parts=readable(file_path, media_type, data))

    async def _run_skill_script(
        self,
        skill_name: str,
        script_path: str,
        tool_context: ToolContext,
        args: list[str] | None = None,
    ) -> dict[str, Any]:
        """Run a script that belongs to a skill.

        Args:
            skill_name: The skill's name.
            script_path: The script's path inside the skill, such as `scripts/convert.py`.
            args: Its command-line arguments; paths start at the workspace.
        """
        assert self._scripts is not None
        skill = await self._find(skill_name)
        files = await self._contents(skill, tool_context)
        return await self._scripts.run(skill, files, script_path, args or [])

    # -- inside -----------------------------------------------------------------------------

    def _own_tools(self) -> list[Tool]:
        def reads(func: Any, name: str) -> Tool:
            return FunctionTool(func, name=name, effects="read", idempotent=True)

        def pinned(tool: Tool) -> Tool:
            return tool.replace(confirm=(self._as_it_was,))

        tools = [
            reads(self._list_skills, "list_skills"),
            pinned(reads(self._load_skill, "load_skill")),
            pinned(reads(self._load_skill_resource, "load_skill_resource")),
        ]
        if self._registry is not None:
            tools.append(reads(self._search_skills, "search_skills"))
        if self._scripts is not None:
            runs = FunctionTool(
                self._run_skill_script, name="run_skill_script", is_failure=_went_wrong
            )
            tools.append(pinned(runs))
        return tools

    async def _as_it_was(self, args: Args, ctx: ToolContext) -> Decision:
        """Ask about a skill whose files are not as they were when this session used or saw it."""
        skill = (await self._all()).get(args["skill_name"])
        if skill is None:
            return Decision(verdict="allow")
        now = self._judged[_call_of(ctx)] = await in_io_thread(skill.digests)
        if len(self._judged) > _MOST_JUDGED:
            self._judged.popitem(last=False)
        rule, about = "the session's pinned skills", digest_of(skill.name, now)
        if (said := _what_moved(skill, now, ctx)) is None:
            return Decision(verdict="allow", rule=rule, about=about)
        reason = (
            f"Skill {skill.name!r} is not as it was when this session {said}. Use it as it is now?"
        )
        return Decision(verdict="ask", reason=reason, rule=rule, about=about)

    async def _contents(self, skill: Skill, ctx: ToolContext) -> dict[str, bytes]:
        """The skill's files as they were when the call was judged; the session knows them by now."""
        files = await in_io_thread(skill.contents)
        now = skill.digests(files)
        if self._judged.pop(_call_of(ctx), now) != now:
            raise ToolError(
                f"Skill {skill.name!r} has changed since this call was judged; call it again."
            )
        if ctx.run.table.values.get(_pin_key(skill)) != now:
            ctx.state.note(_pin_key(skill), now)
        return files

    async def _all(self) -> dict[str, Skill]:
        if self._registry is None:
            return self._static
        return {**await in_io_thread(self._registry.skills), **self._static}

    async def _find(self, name: str) -> Skill:
        skills = await self._all()
        if name in skills:
            return skills[name]
        near = near_names(name, skills, most=3, cutoff=0.5) or list(skills)[:20]
        raise ToolError(f"There is no skill {name!r}. Skills: {', '.join(near) or 'none'}.")

    async def _unlocked(
        self, loaded: Mapping[str, Sequence[str]], ctx: ReadonlyContext
    ) -> list[Tool]:
        """What these skills unlock, by the names that each had when it was loaded and has still."""
        if not loaded or not (self._additional or self._toolsets):
            return []
        skills = await self._all()
        wanted = [
            (then, skills[name].frontmatter.allowed_tools)
            for name, then in loaded.items()
            if name in skills
        ]
        listed = [tool for toolset in self._toolsets for tool in await toolset.list_tools(ctx)]
        return [tool for tool in (*self._additional, *listed) if _allowed(tool, wanted)]


def _digests(skill: Skill) -> dict[str, str]:
    """Of a skill that is too large to be used as well: it is no reason not to know the others."""
    try:
        return skill.digests()
    except ToolError as error:
        return {**skill.digests({}), "files": str(error)}


def _listed(skill: Skill) -> str:
    """Its line in a list: whatever it says of itself makes no second one."""
    return visible(f"- {skill.name}: {' '.join(skill.description.split())}", lines=False)


def _what_moved(skill: Skill, now: dict[str, str], ctx: ToolContext) -> str | None:
    """Since when a skill is another one, and in what, as far as the session knows; else None."""
    values = ctx.run.table.values
    used = values.get(_pin_key(skill))
    if used is not None:
        changed = sorted(path for path in used.keys() | now if used.get(path) != now.get(path))
        return f"used it; changed: {', '.join(changed)}" if changed else None
    marks = files_seen(values).get(f"skill:{skill.name}")
    return "first saw it" if marks and digest_of(now) not in marks else None


def _pin_key(skill: Skill) -> str:
    return f"{PINNED}skill:{skill.name}"


def _call_of(ctx: ToolContext) -> tuple[str, str]:
    return ctx.invocation_id, ctx.function_call_id


def _loaded_key(ctx: ReadonlyContext) -> str:
    """The key of what an agent has loaded, and which tools that named. Only the framework writes it."""
    return f"{PINNED}loaded:{ctx.agent_name}"


def _allowed(tool: Tool, wanted: Sequence[tuple[Sequence[str], Sequence[str]]]) -> bool:
    return any(all(not names or tool.name in names for names in both) for both in wanted)


def _by_name(skills: Sequence[Skill]) -> dict[str, Skill]:
    by_name: dict[str, Skill] = {}
    for skill in skills:
        if not isinstance(skill, Skill):
            raise UsageError(f"{skill!r} is not a skill; read one with Skill.from_directory(path).")
        if skill.name in by_name:
            raise UsageError(f"There are two skills named {skill.name!r}; rename one.")
        by_name[skill.name] = skill
    return by_name


def _went_wrong(told: dict[str, Any]) -> bool:
    return told["exit_code"] != 0 or "stopped" in told
