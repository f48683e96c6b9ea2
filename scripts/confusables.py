"""Write the tables of letters and signs that look like ASCII ones, for the terminal and the page.

The data are Unicode's (UTS 39), as the package `confusable-homoglyphs` brings them:
`uv run --with confusable-homoglyphs python scripts/confusables.py`.
"""

import json
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "src" / "toolwright" / "messages" / "_confusables.py"
PAGE = ROOT / "web" / "src" / "confusables.ts"
SEPARATORS = "/\\.:;@?#%&=|-~*"
"""Signs that divide addresses, paths and commands, or begin a part of them."""
ORDINARY = 0x24F
"""Up to here Latin letters are those of living languages: a Turkish word is not a trick."""


def tables() -> tuple[list[int], list[int]]:
    """The letters and digits, and the separators."""
    found = json.loads((files("confusable_homoglyphs") / "confusables.json").read_text("utf-8"))
    letters, signs = [], []
    for char, others in found.items():
        if len(char) != 1 or ord(char) <= ORDINARY or unicodedata.normalize("NFKC", char).isascii():
            continue
        targets = {other["c"] for other in others}
        is_letter = unicodedata.category(char)[0] in "LN"
        if is_letter and any(len(t) == 1 and t.isascii() and t.isalnum() for t in targets):
            letters.append(ord(char))
            continue
        looks = SEPARATORS if is_letter else f"{SEPARATORS}l"  # In the table a bar is an l.
        if any(target in looks for target in targets if len(target) == 1):
            signs.append(ord(char))
    return sorted(letters), sorted(signs)


def ranges(points: Iterable[int], spell: Callable[[int], str]) -> str:
    """The points as what stands between the brackets of a regular expression."""
    runs: list[list[int]] = []
    for point in points:
        if runs and runs[-1][1] == point - 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join("-".join(spell(end) for end in dict.fromkeys(run)) for run in runs)


def in_python(point: int) -> str:
    """As a Python string spells it."""
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def on_page(point: int) -> str:
    """As a JavaScript pattern spells it."""
    return f"\\u{{{point:x}}}"


def wrapped(text: str) -> Iterator[str]:
    """The text in lines, none of which ends inside an escape."""
    lines = textwrap.wrap(text.replace("\\", " \\"), 85)
    return (line.replace(" ", "") for line in lines)


def main() -> None:
    """Write both files."""
    letters, signs = tables()
    about = "that look like plain ones, for regular expressions; from scripts/confusables.py."
    lines = [f'"""Letters and signs {about}"""\n\n__all__ = ["LETTERS", "SIGNS"]\n']
    for name, points in {"LETTERS": letters, "SIGNS": signs}.items():
        body = "\n".join(f'    "{line}"' for line in wrapped(ranges(points, in_python)))
        lines.append(f"{name} = (\n{body}\n)")
    PYTHON.write_text("\n".join(lines) + "\n")
    named = {"LETTERS": ranges(letters, on_page), "SIGNS": ranges(signs, on_page)}
    PAGE.write_text(
        f"// Letters and signs {about}\n"
        + "".join(f"export const {name} = /[{found}]/u;\n" for name, found in named.items())
    )


if __name__ == "__main__":
    main()
