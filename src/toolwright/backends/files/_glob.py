"""Match paths against a glob: `*`, `?`, `[…]`, `**` for any number of directories, `{a,b}`."""

import re
from copy import copy
from typing import Any

from toolwright.errors import ToolError

try:
    from wcmatch import glob as wcglob
except ImportError as error:
    raise ImportError("Searching files needs an extra: pip install 'toolwright[files]'") from error

__all__ = ["Glob"]

_FLAGS = wcglob.BRACE | wcglob.GLOBSTAR | wcglob.DOTGLOB | wcglob.FORCEUNIX
_SPECIAL = "*?[]{}\\"
_SIMPLE_NAME = re.compile(r"[\w.*?-]+(\{[\w.-]+(,[\w.-]+)+\}[\w.*?-]*)?")


class Glob:
    """A glob, compiled. It is matched against paths relative to where a search starts.

    With `anywhere`, a pattern without `/` is matched against the file's name alone, in any
    directory; this is how a search is limited to `*.py`.
    """

    def __init__(self, pattern: str, *, anywhere: bool = False) -> None:
        self.pattern = pattern
        self.anywhere = anywhere
        self._below = ""
        cleaned = pattern.removeprefix("./").lstrip("/")
        if not cleaned or "\0" in cleaned:
            raise ToolError(f"{pattern!r} is not a glob; write one such as '**/*.py'.")
        flags = _FLAGS | wcglob.MATCHBASE if anywhere else _FLAGS
        try:
            self._matcher: Any = wcglob.compile(cleaned, flags=flags)
        except Exception as error:
            # wcmatch does not export the class it raises for too many braces.
            raise ToolError(f"The glob {pattern!r} cannot be used: {error}.") from error
        self._ending = cleaned[max(cleaned.rfind(char) for char in _SPECIAL) + 1 :]
        self._is_everything = cleaned == "**"
        name = cleaned.removeprefix("**/")
        only_name = (anywhere or name != cleaned) and "**" not in name
        self.simple_name = name if only_name and _SIMPLE_NAME.fullmatch(name) else None
        """A glob of file names that means the same as this one, and the same to ripgrep."""

    def matches(self, relative: str) -> bool:
        """Whether a path, without a `/` in front, fits the pattern."""
        if self._is_everything:
            return True
        # Most globs end in an extension; comparing that first spares most paths the rest.
        return relative.endswith(self._ending) and self._matcher.match(self._below + relative)

    def below(self, directory: str) -> "Glob":
        """The same glob for paths that are relative to `directory` (`docs/`) of the start."""
        other = copy(self)
        other._below = self._below + directory
        return other
