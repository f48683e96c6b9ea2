"""The command line of the launcher, which ends everything that a command has started."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from toolwright.backends._own_paths import own_program
from toolwright.backends.executors._executor import Limits

__all__ = ["launcher_command"]

_LAUNCHER = Path(__file__).with_name("_launch.py").read_text(encoding="utf-8")
_NUMBERS = tuple(f.name for f in fields(Limits) if f.name != "output")


def launcher_command(argv: Sequence[str], control: int, limits: Limits) -> list[str]:
    """What to start instead of `argv`, so that nothing of it stays when it ends.

    `control` is the inherited descriptor of a socket; when the other end is shut down or its holder
    dies, everything ends.
    """
    settings = ",".join(
        f"{name}={getattr(limits, name)}" for name in _NUMBERS if getattr(limits, name) is not None
    )
    return own_program(_LAUNCHER, str(control), settings, *argv)
