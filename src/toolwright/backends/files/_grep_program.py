"""Try a regular expression on texts as a program of its own, which can be ended.

It imports nothing of this library. Python's `re` works in one go, holding the interpreter, and some
expressions take longer than anybody can wait: nothing else would run until they are done.
"""

import io
import json
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any


def _limit(seconds: int) -> None:
    """Whoever has started this may be gone before it is done."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _lines(text: str) -> Iterator[str]:
    """Lines up to a zero byte; only `\\n` ends one."""
    for line in io.StringIO(text.partition("\0")[0], newline="\n"):
        yield line.removesuffix("\n").removesuffix("\r")


def _found(pattern: re.Pattern[str], text: str, most: int, first_only: bool) -> Any:
    """How many lines match, and the numbers of the first of them."""
    count, numbers = 0, list[int]()
    for number, line in enumerate(_lines(text), start=1):
        if pattern.search(line):
            count += 1
            numbers += [number] if count <= most else []
            if first_only:
                break
    return [count, numbers]


def _say(answer: Any) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """The expression comes first; then texts, each behind a line with its size and what is asked."""
    asked = json.loads(sys.stdin.buffer.readline())
    _limit(asked["seconds"])
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        _say(str(error))
        return
    _say(None)
    while header := sys.stdin.buffer.readline():
        size, most, first_only = json.loads(header)
        text = sys.stdin.buffer.read(size).decode("utf-8")
        _limit(asked["seconds"])
        found = _found(pattern, text, most, first_only)
        _limit(0)
        _say(found)


if __name__ == "__main__":
    main()
