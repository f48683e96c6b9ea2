"""Programs whose arguments are a command: where in them it begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolwright.builtin.bash._words import Refused, Word

__all__ = ["find_commands", "inner_command", "is_wrapper"]


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """The options a wrapper has, and how many plain arguments stand before the command."""

    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    """Options that take a value, behind them or joined to them."""
    before: int = 0
    adds_arguments: bool = False
    """Whether the command gets arguments that are not known here."""


def _wrapper(flags: str = "", values: str = "", **more: int) -> _Wrapper:
    return _Wrapper(frozenset(flags.split()), frozenset(values.split()), more.get("before", 0),
                    bool(more.get("adds_arguments", 0)))  # fmt: skip


_WRAPPERS = {
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "chronic": _wrapper(),
    "command": _wrapper("-p -v -V"),
    "env": _wrapper("-i --ignore-environment -0 --null -v --debug", "-u --unset -C --chdir"),
    "exec": _wrapper("-c -l", "-a"),
    "ionice": _wrapper("-t --ignore", "-c --class -n --classdata"),
    "nice": _wrapper(" ".join(f"-{n}" for n in range(20)), "-n --adjustment"),
    "nohup": _wrapper(),
    "setsid": _wrapper("-c --ctty -f --fork -w --wait"),
    "stdbuf": _wrapper("", "-i --input -o --output -e --error"),
    "time": _wrapper("-p -v"),
    "timeout": _wrapper("--foreground --preserve-status -v --verbose", "-k --kill-after -s --signal",
                        before=1),
    "xargs": _wrapper("-0 --null -r --no-run-if-empty -t --verbose -x --exit -o --open-tty",
                      "-n --max-args -L --max-lines -P --max-procs -d --delimiter -E -s --max-chars "
                      "-I --replace -a --arg-file", adds_arguments=1),
}  # fmt: skip
_EXEC = ("-exec", "-execdir", "-ok", "-okdir")


def is_wrapper(name: str) -> bool:
    """Whether the program's arguments hold a command."""
    return name in _WRAPPERS


def inner_command(name: str, words: Sequence[Word]) -> tuple[int, bool]:
    """Where the command begins, and whether it gets more arguments; the end when there is none."""
    wrapper = _WRAPPERS[name]
    position = _after_options(name, wrapper, words)
    if name == "env" and position < len(words) and "=" in (words[position].text or ""):
        raise Refused(f"the assignment {words[position].source!r} could change what a program does")
    start = min(position + wrapper.before, len(words))
    if name == "xargs":
        _refuse_replacement(words[1:start], words[start:])
    return start, wrapper.adds_arguments


def _refuse_replacement(options: Sequence[Word], command: Sequence[Word]) -> None:
    """What `xargs -I mark` puts in place of a mark must not become the program."""
    texts = [word.text or "" for word in options]
    following = [*texts[1:], ""]
    marks = [text.partition("=")[2] for text in texts if text.startswith("--replace")]
    for text, value in zip(texts, following, strict=False):
        if text.startswith("-I"):
            marks.append(text[2:] or value)
    if any(mark != "{}" for mark in marks):
        raise Refused("xargs may only replace '{}'")
    if marks and command and "{}" in (command[0].text or ""):
        raise Refused("the program that xargs runs is not named plainly")


def _after_options(name: str, wrapper: _Wrapper, words: Sequence[Word]) -> int:
    position = 1
    while position < len(words):
        text = words[position].text
        if text is None:
            raise Refused(f"the arguments of {name!r} are not named plainly")
        if text == "--":
            return position + 1
        if not text.startswith("-") or text == "-":
            return position
        option, joined, _ = text.partition("=")
        if text in wrapper.flags:
            position += 1
        elif option in wrapper.values:
            position += 1 if joined else 2
        elif text[:2] in wrapper.values and not text.startswith("--"):
            position += 1
        else:
            raise Refused(f"the option {text!r} of {name!r} is not known here")
    return position


def find_commands(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Where the commands of `find -exec … ;` begin and end."""
    spans: list[tuple[int, int]] = []
    position = 1
    while position < len(words):
        if words[position].text in _EXEC:
            end = position + 1
            while end < len(words) and words[end].text not in (";", "+"):
                end += 1
            if end == len(words) or end == position + 1:
                raise Refused(
                    f"{words[position].source!r} has no command that ends with ';' or '+'"
                )
            spans.append((position + 1, end))
            position = end
        elif (words[position].text or "").startswith(("-fprint", "-fls", "-delete")):
            raise Refused(f"find {words[position].source!r} changes files")
        position += 1
    return spans
