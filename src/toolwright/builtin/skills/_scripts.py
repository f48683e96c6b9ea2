"""Run a skill's script where an executor runs commands."""

import io
import secrets
import shlex
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

import anyio

from toolwright.backends import Executor, Limits
from toolwright.builtin.skills._skill import Skill
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError, ToolwrightError, UsageError

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


_PLACES = '"${TMPDIR:-/tmp}" "/tmp" "/var/tmp"'
_RUN = """\
w=$(pwd -P) d=
for t in {places}; do
  t=$(cd "$t" 2>/dev/null && pwd -P) || continue
  case "$t/" in "${{w%/}}/"*) continue;; esac
  p="$t/{name}"
  mkdir "$p" 2>/dev/null && chmod 700 "$p" && d=$p && break
done
if [ -z "$d" ]; then
  echo "No place for the skill's files: each temporary directory is missing, read-only or inside the \
workspace. Set TMPDIR to a directory outside it." >&2
  exit 126
fi
trap 'rm -rf "$d"' EXIT
trap 'exit 143' HUP INT TERM
tar -xf - -C "$d" || exit 126
SKILL_DIR="$d" {interpreter} "$d"/{words} </dev/null
"""
_TIDY = 'for t in {places}; do rm -rf "$t/{name}"; done'
_TIDY_SECONDS = 10.0
_SIGNALLED = 128
"""From here on a shell's exit codes are signals."""


class ScriptRunner:
    """Runs a skill's scripts from a copy that is made for the run and goes with it.

    The copy comes in through standard input and lies outside the workspace, wherever `TMPDIR` is: no
    file tool reaches it, and nothing of an earlier run is in it. Scripts start in the workspace, where
    the files of the task are; `SKILL_DIR` says where the skill's own files are.
    """

    def __init__(self, executor: Executor, timeout: float) -> None:
        if not isinstance(executor, Executor):
            raise UsageError(f"code_executor is an executor, such as a sandbox; got {executor!r}.")
        if timeout <= 0:
            raise UsageError(f"script_timeout is a number of seconds above 0; got {timeout!r}.")
        self._executor = executor
        self._limits = Limits(timeout=timeout)

    async def run(
        self, skill: Skill, files: Mapping[str, bytes], script: str, args: Sequence[str]
    ) -> dict[str, Any]:
        """How the script of these files ended, and what it wrote."""
        script = PurePosixPath(script).as_posix()
        interpreter = _interpreter(skill, files, script)
        name = f"toolwright-skill-{secrets.token_hex(16)}"
        words = shlex.join([script, *args])
        command = _RUN.format(places=_PLACES, name=name, interpreter=interpreter, words=words)
        archive = await in_io_thread(_packed, files)
        tidied = False
        try:
            done = await self._executor.run(command, stdin=archive, limits=self._limits)
            tidied = done.ended == "exited" and 0 <= done.exit_code < _SIGNALLED
        finally:
            if not tidied:
                # The shell that removes its copy may have been killed before it could.
                await self._tidy(name)
        told = {"exit_code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr}
        if done.ended != "exited":
            told["stopped"] = f"killed: {done.ended} (limit {self._limits.timeout:g} s)"
        return told

    async def _tidy(self, name: str) -> None:
        # Where nothing can be run any more, there is nothing to say either.
        with anyio.CancelScope(shield=True), suppress(ToolwrightError, OSError):
            command = _TIDY.format(places=_PLACES, name=name)
            await self._executor.run(command, limits=Limits(timeout=_TIDY_SECONDS))


def _packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o700
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _interpreter(skill: Skill, files: Iterable[str], script: str) -> str:
    scripts = [name for name in files if name.startswith("scripts/")]
    if script not in scripts:
        known = ", ".join(scripts) or "none"
        raise ToolError(f"Skill {skill.name!r} has no script {script!r}. Its scripts: {known}.")
    interpreter = _INTERPRETERS.get(PurePosixPath(script).suffix)
    if interpreter is None:
        raise ToolError(
            f"{script!r} cannot be run: only {', '.join(_INTERPRETERS)} files are scripts here."
        )
    return interpreter
