"""The program: run a command, and tell what went wrong in one message."""

import atexit
import gc
import os
import sys
import traceback

from toolwright.cli import _exit as exits
from toolwright.cli._log import innermost, log_warnings
from toolwright.cli._streams import OutputError, discard, open_streams
from toolwright.cli._table import overview
from toolwright.errors import ToolwrightError, UsageError

__all__ = ["main"]


_YOUNG = 50_000
"""Objects between two looks at them. A program loads modules first of all, which are never garbage:
as often as Python looks by itself, that is a fifth of the time until the first request."""


def main() -> None:
    """Run a command; mistakes are told in one message, without a traceback."""
    gc.set_threshold(_YOUNG)
    # The interpreter would look for garbage several times while it ends, which takes as long again.
    atexit.register(gc.freeze)
    open_streams()
    log_warnings()
    try:
        code = _run(_with_stdin(_arguments()))
        sys.stdout.flush()
    except SystemExit as ended:
        # The printer of the help says so when its reader has left.
        left = isinstance(ended.__context__, BrokenPipeError)
        code = exits.BROKEN_PIPE if left else ended.code
        if isinstance(code, str):
            _tell(code)
            code = exits.FAILED
    except (Exception, KeyboardInterrupt, BaseExceptionGroup) as error:  # noqa: BLE001 - sorted below
        code = _failed(innermost(error))
    raise SystemExit(code if isinstance(code, int) else exits.DONE)


def _arguments() -> list[str]:
    """The words of the command line as text, also where the locale knows ASCII only."""
    try:
        return [os.fsencode(word).decode() for word in sys.argv[1:]]
    except UnicodeDecodeError as error:
        raise UsageError(f"The command line is not text in UTF-8: {error}.") from error


def _run(words: list[str]) -> object:
    if words in ([], ["--help"], ["-h"]):
        sys.stdout.write(f"{overview()}\n")
        return exits.DONE
    from toolwright.cli._app import make_app  # noqa: PLC0415 - slow to load

    return make_app()(words, result_action="return_value")


def _with_stdin(words: list[str]) -> list[str]:
    """`run -` with the dash where it is taken for a word and not for an option."""
    if words[:1] != ["run"] or "-" not in words or "--" in words:
        return words
    place = words.index("-")
    return [*words[:place], *words[place + 1 :], "--", "-"]


def _failed(error: BaseException) -> int:
    """Say what went wrong, with a traceback only if it is our mistake, and give the exit code."""
    match error:
        case KeyboardInterrupt() | EOFError():
            return exits.CANCELLED
        case BrokenPipeError():
            discard(sys.stdout)
            return exits.BROKEN_PIPE
        case UsageError():
            _tell(str(error))
            return exits.USAGE
        case ImportError():
            _tell(_missing(error))
            return exits.USAGE
        case FileNotFoundError() if _is_nowhere():
            _tell("The current directory is gone; change to one that is there.")
            return exits.USAGE
        case OutputError():
            discard(sys.stdout)
            _tell(str(error))
            return exits.FAILED
        case ToolwrightError():
            _tell(str(error))
            return exits.FAILED
        case _:
            _tell("".join(traceback.format_exception(error)).rstrip())
            return exits.FAILED


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _missing(error: ImportError) -> str:
    """What to install, in the words of the file that needs it; the parser puts its own above them."""
    told = [str(error)]
    while isinstance(cause := error.__cause__, ImportError):
        error = cause
        told.append(str(error))
    return next((text for text in told if "pip install" in text), told[-1])


def _tell(text: str) -> None:
    if not sys.stderr.isatty():
        sys.stderr.write(f"{_visible(text)}\n")
        return
    from toolwright.cli._terminal import Terminal  # noqa: PLC0415 - slow to load, and seldom needed

    Terminal(stderr=True).say(text, style="red")


def _visible(text: str) -> str:
    from toolwright.messages import visible  # noqa: PLC0415 - slow to load, and seldom needed

    return visible(text)
