"""Run a skill's script where an executor runs commands."""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from toolwright.backends import Executor, Limits
from toolwright.backends.files import version_of
from toolwright.builtin.skills._skill import Skill
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError, UsageError

__all__ = ["ScriptRunner"]

_INTERPRETERS = {
    ".py": "python3",
    ".sh": "bash",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".rb": "ruby",
    ".pl": "perl",
}
_MOST_BYTES = 50 * 1024 * 1024


class ScriptRunner:
    """Puts a skill's files below `.skills/<name>` in the executor's workspace and runs them there.

    Scripts start in the workspace, where the files of the task are; `SKILL_DIR` says where the
    skill's own files are.
    """

    def __init__(self, executor: Executor, timeout: float) -> None:
        if not isinstance(executor, Executor):
            raise UsageError(f"code_executor is an executor, such as a sandbox; got {executor!r}.")
        if timeout <= 0:
            raise UsageError(f"script_timeout is a number of seconds above 0; got {timeout!r}.")
        self._executor = executor
        self._limits = Limits(timeout=timeout)
        self._copied: dict[str, dict[str, str]] = {}

    async def run(self, skill: Skill, script: str, args: Sequence[str]) -> dict[str, Any]:
        """How the script ended, and what it wrote."""
        home = f".skills/{skill.name}"
        script = PurePosixPath(script).as_posix()
        interpreter = _interpreter(skill, script)
        await self._copy(skill, home)
        # Joined to the workspace by the shell, because only it knows where that is.
        words = shlex.join([f"{home}/{script}", *args])
        command = f'SKILL_DIR="$PWD/{home}" exec {interpreter} {words}'
        done = await self._executor.run(command, limits=self._limits)
        told = {"exit_code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr}
        if done.ended != "exited":
            told["stopped"] = f"killed: {done.ended} (limit {self._limits.timeout:g} s)"
        return told

    async def _copy(self, skill: Skill, home: str) -> None:
        """Bring the files there that are new or have changed since the last time."""
        files = await in_io_thread(_contents, skill)
        known = self._copied.setdefault(skill.name, {})
        for path, data in files.items():
            version = version_of(data)
            if known.get(path) != version:
                await self._executor.write_file(f"{home}/{path}", data)
                known[path] = version


def _interpreter(skill: Skill, script: str) -> str:
    scripts = [name for name in skill.files() if name.startswith("scripts/")]
    if script not in scripts:
        known = ", ".join(scripts) or "none"
        raise ToolError(f"Skill {skill.name!r} has no script {script!r}. Its scripts: {known}.")
    interpreter = _INTERPRETERS.get(PurePosixPath(script).suffix)
    if interpreter is None:
        raise ToolError(
            f"{script!r} cannot be run: only {', '.join(_INTERPRETERS)} files are scripts here."
        )
    return interpreter


def _contents(skill: Skill) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    size = 0
    for path in skill.files():
        files[path] = skill.read(path)
        size += len(files[path])
        if size > _MOST_BYTES:
            raise ToolError(f"Skill {skill.name!r} has more than {_MOST_BYTES} bytes of files.")
    return files
