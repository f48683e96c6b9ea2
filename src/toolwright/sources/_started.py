"""What a program outside the walls is started from: looked up once, and held from then on."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from toolwright.backends._own_paths import (
    hold_program,
    searched_for_modules,
    unless_refused,
    without_guests,
)

__all__ = ["hold_started", "safe_path"]

_LOOK_AROUND = ("npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "uvx", "uv", "deno", "make")
"""Programs that take settings, or other programs, from the directory they are started in."""
_CODE = (
    ".py", ".pyz", ".pyc", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".wasm",
    ".sh", ".rb", ".pl", ".php", ".lua", ".jar", ".class",
)  # fmt: skip
_UNNAMED = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
"""Endings that those who start Node need not write."""
_LOADED_BY = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "UV_PROJECT", "UV_WORKING_DIR",
    "NODE_PATH", "NODE_OPTIONS", "NPM_CONFIG_PREFIX", "npm_config_prefix", "RUBYLIB", "RUBYOPT",
    "PERL5LIB", "PERL5OPT", "CLASSPATH", "JAVA_TOOL_OPTIONS", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "BASH_ENV", "ENV",
)  # fmt: skip
"""Variables that say where programs load code from."""
_TAKES_MODULE = re.compile(r"-[A-Za-z]{0,8}m")
_TAKES_TEXT = re.compile(r"-[A-Za-z]{0,8}[ce]")
_IN_LISTS = re.compile(r"[=:;,@]")
_IN_TEXTS = re.compile(r"[\s'\"`;&|()<>=:,]+")


@unless_refused()
def hold_started(
    command: str,
    args: Sequence[str],
    cwd: str | Path | None,
    env: Mapping[str, str] | None = None,
) -> str | None:
    """Where a program is; commands in sandboxes change nothing that it is started from.

    That is the program, and every file and directory that its arguments name, whatever option they
    stand behind. None where there is no such program. Raises `UsageError` where a sandbox that is open
    could not hold them.
    """
    if (found := _found(command, cwd)) is not None:
        hold_program(found)
    here = os.path.abspath(cwd or ".")
    folders = {here: None}
    for name in _LOADED_BY:
        for piece in _IN_TEXTS.split((env or {}).get(name, "")) if env else ():
            _hold(piece, folders)
    options = [word for word in args if _TAKES_MODULE.match(word) or _TAKES_TEXT.fullmatch(word)]
    if Path(command).name in _LOOK_AROUND or options:
        searched_for_modules(here)
    before = ""
    for word in args:
        for module in _modules(word, before):
            for folder in tuple(folders):
                _hold(os.path.join(folder, *module.split(".")), {}, is_module=True)
        for piece in _pieces(word, before):
            _hold(piece, folders)
        before = word
    return found


def safe_path(path: str, cwd: str | Path | None) -> str:
    """A PATH without the directories that commands can write to."""
    return os.pathsep.join(without_guests(path.split(os.pathsep), cwd or "."))


def _hold(piece: str, folders: dict[str, None], *, is_module: bool = False) -> None:
    """Hold what a piece of an argument names from any of these directories, if it is there."""
    places = [os.path.normpath(os.path.join(folder, piece)) for folder in folders or (piece,)]
    for path in places if piece else ():
        endings = ("", ".py", ".pyc") if is_module else ("", *_UNNAMED)
        for file in filter(os.path.isfile, (f"{path}{end}" for end in endings)):
            hold_program(file, alone=not _is_code(file))
        if os.path.isdir(path):
            hold_program(path)
            # Programs that change their directory first name files from there.
            if folders:
                folders[path] = None


def _pieces(word: str, before: str) -> dict[str, None]:
    """What of an argument may be a path: all of it, and the parts of `x=PATH`, `-xPATH` and lists."""
    attached = word[2:] if re.match(r"-[A-Za-z].", word) else ""
    pieces = {word: None, attached: None, **dict.fromkeys(_IN_LISTS.split(word))}
    if _TAKES_TEXT.fullmatch(before):
        pieces.update(dict.fromkeys(_IN_TEXTS.split(word)))
    return pieces


def _modules(word: str, before: str) -> Iterator[str]:
    """Modules that an argument may name: `-m x`, `-um x`, `-mx`."""
    if _TAKES_MODULE.fullmatch(before):
        yield word
    if re.match(r"-[A-Za-z]", word):
        yield from (word[at.end() :] for at in re.finditer("m", word) if word[at.end() :])


def _is_code(path: str) -> bool:
    is_named = path.endswith(_CODE) or not os.path.splitext(path)[1]
    return is_named or os.access(path, os.X_OK)


def _found(command: str, cwd: str | Path | None) -> str | None:
    # A path is one from where the program starts, as it would be in a shell there.
    beside = cwd is not None and os.path.dirname(command) != ""
    name = os.path.join(cwd or "", command) if beside else command
    found = shutil.which(name, path=safe_path(os.environ.get("PATH", os.defpath), cwd))
    return None if found is None else os.path.abspath(found)
