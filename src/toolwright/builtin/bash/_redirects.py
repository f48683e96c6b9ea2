"""Where the output of commands may be redirected: to files below the directory they start in.

What is written is opened by its real path, found out right before it is opened: neither `cd` nor a
link in the way leads outside.
"""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from toolwright.builtin.bash._script import Redirect
from toolwright.builtin.bash._words import Refused, Word

__all__ = ["Redirects"]

_STREAMS = ("/dev/null", "/dev/stdout", "/dev/stderr")
_ROOT = "TOOLWRIGHT_ROOT"


class Redirects:
    """The redirections of one command line."""

    def __init__(self, *, allowed: bool, anywhere: bool) -> None:
        self._allowed = allowed
        self._anywhere = anywhere
        self._entered: list[Word] = []
        self._targets: list[str] = []

    @property
    def write(self) -> bool:
        """Whether a file is written."""
        return bool(self._targets)

    def enter(self, directories: Sequence[Word]) -> None:
        """Remember where `cd` leads."""
        self._entered += directories

    def rendered(self, redirect: Redirect) -> str:
        """The redirection as it will run; raises `Refused` when it may not."""
        target = redirect.target
        if target is None or target in _STREAMS:
            return redirect.rendered
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            raise Refused(f"the redirection to {target!r} opens a network connection")
        if not redirect.writes:
            return redirect.rendered
        self._targets.append(target)
        if self._anywhere:
            return redirect.rendered
        if not self._allowed or not _is_below(target):
            raise Refused(f"output may not be redirected to the file {target!r}")
        return f"{redirect.before} {_real_path(target)}{redirect.after}"

    def refuse(self, reason: str) -> None:
        """Raise `Refused` if anything is written to a file below the directory."""
        if self._targets and not self._anywhere:
            raise Refused(f"output may not be redirected to the file {self._targets[0]!r} {reason}")

    def prepared(self, command: str) -> str:
        """The command line, remembering where it starts if that matters."""
        if not self._targets or self._anywhere:
            return command
        if not all(word.text is not None and _is_below(word.text) for word in self._entered):
            self.refuse("behind a 'cd' that leads elsewhere")
        return f'cd -P . && export {_ROOT}="$PWD" && {{ {command} ; }}'


def _is_below(path: str) -> bool:
    parts = PurePosixPath(path)
    hidden = any(part.startswith(".") for part in parts.parts)
    return (
        not parts.is_absolute()
        and not hidden
        and not path.startswith(("~", "&", "-"))
        and "\n" not in path
    )


def _real_path(target: str) -> str:
    """An expansion that is the real path of the target, or nothing when that lies outside."""
    path = PurePosixPath(target)
    parent, name = shlex.quote(f"./{path.parent}"), shlex.quote(path.name)
    return (
        f'"$( cd -P {parent} && case "$PWD/" in "${{{_ROOT}:?}}"/*) [ -L {name} ] || '
        f'printf %s "$PWD/"{name} ;; esac )"'
    )
