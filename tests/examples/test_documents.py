"""The examples with artifacts and memory run and do what they say."""

import pytest

from examples import document_analysis, export_report
from toolwright.messages import ToolMessage


@pytest.mark.row("001-42", "001-43", "001-44", "001-45")
def test_the_analysis_uses_the_document_and_the_memory_and_is_stored() -> None:
    assert document_analysis.main().splitlines() == [
        "About projections:",
        "Projections for the third quarter assume two new harbours.",
        "Known from before:",
        "Last year's projections were too hopeful.",
    ]


@pytest.mark.row("004-R1")
def test_reports_get_versions_and_the_tool_has_the_last_word() -> None:
    first, second, third = export_report.main()
    assert first.text == '{"filename":"report.csv","version":0}'
    assert second.text == '{"filename":"report.csv","version":1}'
    assert third.text == "There is report.csv, in two versions."
    [answers] = [m for m in list(third.history)[-3:] if isinstance(m, ToolMessage)]
    assert [answer.text for answer in answers.results] == [
        '{"version":1,"size":34,"made_by":{"generated_by":"export_report"}}',
        '{"error":"no report found"}',
        '["report.csv"]',
    ]
