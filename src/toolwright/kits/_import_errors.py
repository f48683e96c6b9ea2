"""Say where in a person's own code an import went wrong, without the steps that led there."""

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from toolwright.errors import UsageError

__all__ = ["import_error"]

_STARTS = (("agent", "_sync.py"), ("asyncio", "runners.py"), ("_core", "_eventloop.py"))
"""Where an event loop is started, which cannot be within one."""
_OURS = Path(__file__).parents[1]
_PYTHON = Path(sysconfig.get_path("stdlib"))
_INSTALLED = {"site-packages", "dist-packages"}


def import_error(name: str, error: BaseException) -> UsageError:
    """What to tell the person whose `name` could not be imported because of `error`."""
    told = f"{name!r} cannot be imported: "
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename)]
    if own and (runs := _what_it_does(error, frames)):
        line = own[0]
        return UsageError(
            f"{told}line {line.lineno} of {line.filename} {runs} right away ({line.line}). Put it "
            "below `if __name__ == '__main__':`, so that the file can be read without running it."
        )
    steps = [*(_step(f.filename, f.lineno, f.line) for f in own), *_unreadable_line(error)]
    what = error.msg if isinstance(error, SyntaxError) else str(error)
    # What we and the importer say is told in words already.
    kind = "" if isinstance(error, UsageError | ImportError) else f"{type(error).__name__}: "
    return UsageError("\n  ".join([f"{told}{kind}{what.removesuffix('.')}.", *steps]))


def _is_own(filename: str) -> bool:
    """Whether a file is the person's: neither Python's, nor ours, nor installed."""
    path = Path(filename)
    if filename.startswith("<") or _OURS in path.parents or _INSTALLED & set(path.parts):
        return False
    return _PYTHON not in path.parents


def _what_it_does(error: BaseException, frames: traceback.StackSummary) -> str:
    if isinstance(error, SystemExit):
        return "ends the program"
    is_late = isinstance(error, UsageError | RuntimeError) and any(
        Path(frame.filename).parts[-2:] in _STARTS for frame in frames
    )
    return "runs something" if is_late else ""


def _unreadable_line(error: BaseException) -> Iterator[str]:
    """Of a file that Python cannot read, its line: it has not run, so it is no step."""
    if isinstance(error, SyntaxError) and error.filename:
        yield _step(error.filename, error.lineno, (error.text or "").strip())


def _step(filename: str, line: int | None, code: str | None) -> str:
    return f"{filename}:{line or 1}" + (f": {code}" if code else "")
