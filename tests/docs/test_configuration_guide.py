"""What the page on configuration shows, works."""

import pytest
from tests.docs._snippets import ROOT, results_of, run_snippet

from toolwright.kits import AgentFile

PAGE = "configuration"


@pytest.mark.row("002-02", "002-71", "002-72")
def test_the_file_of_the_page_makes_an_agent() -> None:
    found = run_snippet(PAGE, "load")
    assert [r.text for r in results_of(found["result"])] == ["5"]
    assert found["loaded"].settings.approvals.deny == ["bash"]


def test_the_page_names_every_setting() -> None:
    page = (ROOT / "docs" / "guides" / "configuration.md").read_text()
    settings = [*AgentFile.model_fields, *AgentFile().tools.__class__.model_fields]
    assert [name for name in settings if name not in page] == []
