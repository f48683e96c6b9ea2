"""The security page: every promise names tests, and they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_every_promise_names_the_tests_that_try_to_break_it() -> None:
    promises = PAGE.partition("## What holds by default")[2].partition("What does **not**")[0]
    named: set[str] = set()
    for promise in re.split(r"^- ", promises, flags=re.MULTILINE)[1:]:
        tests = re.findall(r"`(tests/[^`]+)`", promise.partition("*Tried in*")[2])
        assert tests, promise[:60]
        named.update(tests)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert missing == []


def test_its_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)[)#]", PAGE)
    assert [target for target in targets if not (ROOT / "docs" / target).exists()] == []
