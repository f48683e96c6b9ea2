"""The examples that wait for people, jobs and sign-ins run and do what they say."""

import pytest
from tests._oauth import started_provider

from examples import (
    calendar_events,
    export_job,
    funds_transfer,
    product_search,
    report_job,
    wipe_database,
)
from toolwright import Result


def tool_results(result: Result) -> list[tuple[str, str]]:
    return [(r.status, r.text) for m in result.history if m.kind == "tool" for r in m.results]


def test_only_the_approved_database_is_wiped() -> None:
    wipe_database.wiped.clear()
    approved, refused = wipe_database.main()
    assert approved.text == "Staging is empty."
    assert wipe_database.wiped == ["staging"]
    status, text = tool_results(refused)[-1]
    assert status == "denied"
    assert "not on a Friday" in text


@pytest.mark.parametrize(("link", "status"), [("Approve", "approved"), ("Reject", "rejected")])
def test_a_link_brings_the_decision_once(link: str, status: str) -> None:
    result, said = funds_transfer.main(link)
    assert said == [f"accepted: {status}", f"duplicate: {status}"]
    assert tool_results(result) == [("ok", f'{{"status":"{status}"}}')]
    assert result.text == "I have passed your decision on."


@pytest.mark.row("004-L1d")
def test_a_report_is_queued_asked_about_and_done() -> None:
    started, asked, told = report_job.main()
    assert started.text == "Your report is queued."
    assert tool_results(asked)[-1] == ("ok", '{"status":"pending"}')
    assert told.text == "Your report is ready: gs://reports/job-1.pdf"
    assert "gs://reports/job-1.pdf" in [m for m in told.history if m.kind == "user"][-1].text


@pytest.mark.row("004-L3")
def test_an_export_shows_its_progress_and_its_end() -> None:
    _, asked, told = export_job.main()
    texts = [text for _, text in tool_results(asked)]
    assert texts[-2:] == ['{"status":"pending","pct":50}', '{"error":"There is no job \'x\'."}']
    assert told.text.endswith("/exp-ships-csv")


@pytest.mark.row("004-A1")
def test_the_search_uses_a_key_that_the_model_never_sees() -> None:
    result = product_search.main()
    found, refused = tool_results(result)
    assert found == ("ok", '{"products":["desk lamp","floor lamp"]}')
    assert refused[0] == "error"
    assert product_search.API_KEY not in repr(result)


def test_the_calendar_is_read_after_signing_in() -> None:
    with started_provider() as provider:
        result = calendar_events.main(
            provider.oidc(), f"{provider.address}/calendar", provider.sign_in
        )
    assert tool_results(result) == [("ok", '{"events":["Stand-up","Lunch with Grace"]}')]
    assert result.text == "You have lunch with Grace."
