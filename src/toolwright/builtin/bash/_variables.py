"""Variables that may be set for one command: those known to change how it shows things, and nothing else.

A locale is one whose letters are UTF-8 or one byte each: in others the second byte of a letter can be
a backslash or a quote, and a program would read its script differently from how it was judged.
"""

import re

__all__ = ["is_harmless", "refusal_of"]

_SWITCH = r"|[01]|true|false|yes|no|on|off|always|never|auto"
_QUIET = r"|cat"
_NO_EDITOR = r"true|:|cat"
_TEXT = r"[^\0\n]*"
_VALUES = {
    r"LANG|LC_[A-Z]+": r"|C|POSIX|C\.(utf8|UTF-8)|[a-z]{2,3}(_[A-Z]{2})?\.(utf-?8|UTF-?8)",
    r"LANGUAGE": r"([A-Za-z]+(_[A-Z]{2})?:?)*",
    r"TZ": r"|(?!.*\.\.)[A-Za-z][\w+/,.-]*",
    r"NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|PY_COLORS|CARGO_TERM_COLOR": rf"{_SWITCH}|[23]",
    r"COLUMNS|LINES|SOURCE_DATE_EPOCH": r"[0-9]*",
    r"TERM": r"dumb|ansi|linux|vt100|xterm|xterm-256color|screen|screen-256color",
    r"TIME_STYLE": r"|full-iso|long-iso|iso|locale",
    r"PAGER|MANPAGER|GIT_PAGER|SYSTEMD_PAGER": _QUIET,
    r"EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR": _NO_EDITOR,
    r"GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS": r"0",
    r"GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)": _TEXT,
    r"PYTHON(UNBUFFERED|DONTWRITEBYTECODE|UTF8|NOUSERSITE|SAFEPATH|FAULTHANDLER|DEVMODE)": _SWITCH,
    r"PYTHONHASHSEED": r"random|[0-9]+",
    r"PYTHONIOENCODING": r"utf-?8",
    r"PYTHONWARNINGS": r"|default|error|always|module|once|ignore",
    r"PIP_(DISABLE_PIP_VERSION_CHECK|NO_INPUT|NO_COLOR|QUIET)": _SWITCH,
    r"PIP_PROGRESS_BAR": r"on|off",
    r"PIP_ROOT_USER_ACTION": r"ignore|warn",
    r"CI|DEBUG|VERBOSE": _SWITCH,
    r"NODE_ENV": r"|development|production|test",
    r"RUST_BACKTRACE": r"0|1|full",
    r"DEBIAN_FRONTEND": r"noninteractive",
}  # fmt: skip
"""Names, and the values that are understood: what is read from a file or run is not among them."""
_KNOWN = [(re.compile(names), re.compile(values)) for names, values in _VALUES.items()]


def is_harmless(name: str, value: str) -> bool:
    """Whether a program does the same with the variable as without, but for how it shows it."""
    return any(
        names.fullmatch(name) is not None and values.fullmatch(value) is not None
        for names, values in _KNOWN
    )


def refusal_of(assignment: str) -> str:
    """Why a variable is refused, and what to do instead."""
    return (
        f"the assignment {assignment!r} could change what a program does; leave it out, or have it "
        "listed with the program"
    )
