"""Write the statements of `docs/statements.tsv` into `docs/coverage.md`: run it after a change of them."""

import csv
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGE", "Statement", "page_with", "read_statements"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"
_HEADING = "## Statement by statement\n"
_SOURCES = {
    "000": ("adk-deepagents", "adk-deepagents"),
    "001": ("The Agent Development Kit's page on tools", "adk"),
    "002": ("The Go agent", "go-agent"),
    "003": ("nFactorial", "nfactorial"),
    "004": ("The Agent Development Kit's reference", "adk"),
}


class Statement(NamedTuple):
    """One thing that one of the five documents says."""

    id: str
    statement: str
    difference: str
    """What is different here, and why; empty where it holds as it stands."""
    test: str
    """The test that tries it, as `file::name`."""


def read_statements() -> list[Statement]:
    """All of them, in the order of the documents."""
    with (ROOT / "docs" / "statements.tsv").open(encoding="utf-8", newline="") as file:
        first, *others = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        assert tuple(first) == Statement._fields
        return [Statement(*row) for row in others]


def page_with(statements: list[Statement], page: str) -> str:
    """The page with these statements at its end, in place of those that are there."""
    differing = sum(bool(one.difference) for one in statements)
    text = [
        page.partition(_HEADING)[0] + _HEADING,
        f"The five documents make {len(statements)} statements. {len(statements) - differing} hold as "
        f"they stand; {differing} are different here on purpose, with the reason beside them and on "
        "the migration page. Each is tried by a test that names it; against what the cloud toolsets are "
        "tried, their [guide](guides/cloud.md#what-was-tried-against-what) says.\n",
    ]
    for number, (title, migration) in _SOURCES.items():
        text += [f"### {title}\n", f"Differences: [migration](migration/{migration}.md).\n"]
        text += ["| id | statement | here | test |", "|---|---|---|---|"]
        text += [_line(one) for one in statements if one.id.startswith(number)]
        text.append("")
    return "\n".join(text).rstrip() + "\n"


def _line(one: Statement) -> str:
    here = f"differs: {one.difference}" if one.difference else "holds"
    cells = (one.id, one.statement, here, one.test)
    shown = [cell.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*") for cell in cells]
    return f"| {' | '.join(shown[:3])} | `{one.test}` |"


if __name__ == "__main__":
    PAGE.write_text(
        page_with(read_statements(), PAGE.read_text(encoding="utf-8")), encoding="utf-8"
    )
