"""The shell example asks before it runs, and refuses what its policy does not allow."""

import pytest

from examples import shell_demo


@pytest.mark.row("004-B14")
def test_the_files_are_listed_and_nothing_is_removed() -> None:
    result = shell_demo.main()
    assert result.text == "The workspace holds readme.txt."
    listed, refused = [r.text for m in result.history if m.kind == "tool" for r in m.results]
    assert '"stdout": "readme.txt\\n"' in listed
    assert "operator ';' is not allowed" in refused
