"""One table of everything measured, with how many times the bare loop and us each number is."""

from collections.abc import Iterable, Mapping

from bench._peers import BARE, OURS, Measured

__all__ = ["table"]

LABEL, WIDTH = 50, 14


def table(found: Mapping[str, Measured]) -> str:
    """Three lines per number: the number, the ratio to the bare loop, the ratio to us."""
    labels = list(dict.fromkeys(label for one in found.values() for label in one.numbers))
    lines = [_line("", found), _line("", [one.version for one in found.values()])]
    for label in labels:
        numbers = {name: one.numbers.get(label) for name, one in found.items()}
        lines.append(_line(label, map(_number, numbers.values())))
        lines += [line for base in (BARE, OURS) for line in _ratios(base, numbers)]
    return "\n".join(lines + _problems(found))


def _line(label: str, cells: Iterable[str]) -> str:
    return f"{label:{LABEL}}" + "".join(f"{cell:>{WIDTH}}" for cell in cells)


def _ratios(base: str, numbers: Mapping[str, float | None]) -> list[str]:
    of = numbers.get(base)
    if not of:
        return []
    shown = ["–" if n is None else f"{_number(n / of)}×" for n in numbers.values()]
    return [_line(f"    to {base}", shown)]


def _number(number: float | None) -> str:
    if number is None:
        return "–"
    digits = 0 if number >= 100 or number == int(number) else 1 if number >= 10 else 2
    return f"{number:,.{digits}f}"


def _problems(found: Mapping[str, Measured]) -> list[str]:
    return [
        f"{name}, {row}: {why}" for name, one in found.items() for row, why in one.problems.items()
    ]
