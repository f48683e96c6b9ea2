"""What the migration pages say is here, is here."""

from pathlib import Path

import pytest
from tests.docs._snippets import ROOT
from tests.docs._tables import check_code, code_in, rows

PAGES = sorted((ROOT / "docs" / "migration").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_on_our_side_exists_with_its_arguments(page: Path) -> None:
    found = [code for row in rows(page) for code in code_in(row["here"])]
    assert found
    for code in found:
        check_code(code)
