"""Tools of a plugin: an executable in any language that speaks JSON, line by line."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from toolwright._private import read_plain_file
from toolwright.backends._own_paths import unless_refused
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.concurrency import in_io_thread
from toolwright.errors import UsageError
from toolwright.messages import ToolSpec, Trust
from toolwright.sources._as_listed import refuse_changed
from toolwright.sources._child import ChildCommand
from toolwright.sources._reopening import Reopening
from toolwright.sources._secret_names import digest_of_plain
from toolwright.sources._usable import listed_tools, usable_tools
from toolwright.sources.plugin._session import NotSent, PluginSession, running_plugin
from toolwright.tools import (
    Args,
    Output,
    ReadonlyContext,
    Tool,
    ToolContext,
    ToolFilter,
    Toolset,
    checked_parser,
    digest_of,
)

__all__ = ["PluginToolset"]

_MOST_BYTES = 1_000_000_000


class PluginToolset(Toolset):
    """The tools of one plugin executable, which is started once and kept for the session.

    A plugin that dies or breaks the protocol gives its calls in flight an error result and is
    started again at the next use. While it cannot be started its tools are missing from the list,
    and the log says why; with `required=True`, listing raises instead.
    """

    def __init__(
        self,
        path: str | Path,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        *,
        cwd: str | Path | None = None,
        sandbox: ServerSandbox | None = None,
        handshake_timeout: float = 10.0,
        call_timeout: float = 120.0,
        max_line: int = 16 * 1024 * 1024,
        required: bool = False,
        tool_filter: ToolFilter | None = None,
        tool_name_prefix: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        """Take the plugin at `path`; nothing is started before its tools are asked for.

        Of our environment the plugin sees only the usual few variables, and `env`. Without a
        `sandbox` it has this program's rights.
        """
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix, trust=trust)
        self.name = Path(path).name
        self._path = _executable(path)
        self._variant = f"#{digest_of(str(path), list(args))[:16]}{digest_of_plain(env or {})}"
        self._call_timeout = call_timeout
        self._required = required
        with unless_refused():
            command = ChildCommand(
                command=self._path,
                args=tuple(args),
                env=dict(env or {}),
                cwd=cwd,
                name=f"Plugin {self.name!r}",
                max_line=max_line,
                sandbox=sandbox,
            )
            self._plugin: Reopening[PluginSession] = Reopening(
                partial(running_plugin, command, handshake_timeout),
                command.name,
                timeout=handshake_timeout + 5,
            )
        self._made: tuple[tuple[ToolSpec, ...], list[Tool]] = ((), [])

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """What the plugin said it can do."""
        whose = f"Plugin {self.name!r}"
        tools = await listed_tools(whose, self._list, required=self._required)
        self._is_away = tools is None
        return tools or []

    async def _list(self) -> list[Tool]:
        session = await self._plugin.get()
        self.cache_listing = True
        if self._made[0] is not session.tools:
            made = usable_tools(f"Plugin {self.name!r}", session.tools, self._make_tool)
            self._made = (session.tools, made)
        return self._made[1]

    def _listed_as(self, tool: Tool) -> str:
        """By the path and arguments that it was given, and what else may change its tools."""
        return f"{tool.source}{self._variant}"

    async def file_digests(self) -> dict[str, dict[str, str]]:
        """The digest of the executable."""
        data = await in_io_thread(read_plain_file, self._path, _MOST_BYTES)
        return {f"plugin:{self.name}": {self.name: hashlib.sha256(data).hexdigest()}}

    async def close(self) -> None:
        """Stop the plugin."""
        await self._plugin.close()

    def _make_tool(self, spec: ToolSpec) -> Tool:
        name = spec.name  # What the plugin calls it; the model may know it by a prefixed name.

        async def run(args: Args, ctx: ToolContext) -> Output:
            while True:
                session = await self._plugin.get()
                now = next((one for one in session.tools if one.name == name), None)
                self.cache_listing = False
                refuse_changed(name, f"Plugin {self.name!r}", spec, now)
                self.cache_listing = True
                try:
                    return await session.call(name, args, self._call_timeout, ctx.progress)
                except NotSent:
                    continue  # It broke while this call waited for its turn.

        parse = checked_parser(name, spec.parameters)
        return Tool(spec=spec, parse=parse, run=run, source=f"plugin:{self.name}")


def _executable(path: str | Path) -> str:
    found = Path(path).expanduser().absolute()
    if not found.exists():
        raise UsageError(f"There is no plugin at {str(path)!r}; give the path of an executable.")
    if not found.is_file() or not found.stat().st_mode & 0o111:
        raise UsageError(f"{str(path)!r} is not an executable file; try chmod +x {str(path)!r}.")
    return str(found)
