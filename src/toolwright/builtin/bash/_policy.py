"""Which commands an agent may run, judged on what they would do rather than how they are spelled."""

import shlex
from dataclasses import dataclass, field

from toolwright._sealed import sealed
from toolwright.backends import Limits
from toolwright.builtin.bash._judge import Judge, Terms
from toolwright.builtin.bash._words import Refused
from toolwright.errors import UsageError

__all__ = ["BashToolPolicy", "BashVerdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BashVerdict:
    """What a policy thinks of a command; nothing was run."""

    allowed: bool
    reason: str = ""
    """Why not."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Every simple command found, with its arguments, as far as the reading got."""
    read_only: bool = False
    """Whether all of them are known to change nothing."""
    checked: str = ""
    """The command as it will be run: what was judged, every word quoted."""


@sealed
@dataclass(frozen=True)
class BashToolPolicy:
    """What `ExecuteBashTool` runs, and within which limits.

    A prefix is one or more whole words: `"git"` allows neither `git-annex` nor `/tmp/git`, and
    `"git log"` allows no other git command. With prefixes, every program that a command could
    start must be allowed; what cannot be understood is refused.
    """

    allowed_command_prefixes: tuple[str, ...] = ("*",)
    """`"*"` allows everything."""
    blocked_operators: tuple[str, ...] = ()
    """Shell operators that are refused, such as `";"`, `"&&"`, `"|"`, `"$("`, `">"`."""
    timeout_seconds: int | None = 30
    max_memory_bytes: int | None = None
    max_file_size_bytes: int | None = None
    max_child_processes: int | None = None
    max_cpu_seconds: int | None = None
    max_open_files: int | None = None
    max_output_bytes: int = 1024 * 1024
    confirm_read_only: bool = True
    """Whether commands that change nothing need a person's consent as well."""
    allow_redirects: bool = False
    """With prefixes: whether output may be redirected to files below the working directory."""
    _prefixes: tuple[tuple[str, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.allowed_command_prefixes, str) or isinstance(
            self.blocked_operators, str
        ):
            raise UsageError("Give prefixes and operators as tuples, like ('git', 'ls').")
        prefixes = tuple(tuple(shlex.split(text)) for text in self.allowed_command_prefixes)
        if not all(prefixes):
            raise UsageError(
                f"An empty prefix in {self.allowed_command_prefixes!r} allows nothing."
            )
        object.__setattr__(self, "_prefixes", prefixes)
        _ = (
            self.limits
        )  # Raises for limits that make no sense, now rather than at the first command.

    @property
    def limits(self) -> Limits:
        """The limits, as an executor takes them."""
        return Limits(
            timeout=self.timeout_seconds,
            memory=self.max_memory_bytes,
            file_size=self.max_file_size_bytes,
            processes=self.max_child_processes,
            cpu_seconds=self.max_cpu_seconds,
            open_files=self.max_open_files,
            output=self.max_output_bytes,
        )

    @property
    def allows_all(self) -> bool:
        """Whether every program is allowed."""
        return ("*",) in self._prefixes

    def check(self, command: str, *, sandboxed: bool = False) -> BashVerdict:
        """Judge a command without running it.

        `sandboxed` says that it will run where any code may run; only there are interpreters and
        build tools allowed, however they are listed.
        """
        judge = Judge(
            Terms(
                prefixes=self._prefixes,
                blocked=self.blocked_operators,
                allow_redirects=self.allow_redirects,
                sandboxed=sandboxed,
            )
        )
        try:
            checked = judge.command_line(command)
        except Refused as refused:
            return self._not_understood(command, str(refused), judge)
        except Exception as error:  # noqa: BLE001  (a mistake in the judge must not become a yes)
            return self._not_understood(command, f"it could not be judged: {error!r}", judge)
        found = tuple(judge.found)
        # What nobody is asked about runs as it was understood, even where everything is allowed.
        text = command if self.allows_all and not judge.read_only else checked
        return BashVerdict(allowed=True, commands=found, read_only=judge.read_only, checked=text)

    def _not_understood(self, command: str, reason: str, judge: Judge) -> BashVerdict:
        found = tuple(judge.found)
        if self.allows_all and not self.blocked_operators:
            return BashVerdict(allowed=True, commands=found, checked=command)
        return BashVerdict(allowed=False, reason=reason, commands=found)
