"""The funds transfer with its web routes runs for real."""

import pytest
from examples.funds_transfer_web import main


@pytest.mark.row("003-N10d")
@pytest.mark.parametrize("link", ["Approve", "Reject"])
def test_whichever_link_is_followed_first_brings_the_result(link: str) -> None:
    task, said = main(link)
    assert (task.status, task.text) == ("COMPLETED", "I have passed your decision on.")
    assert said[0] == "accepted"
    assert said[1] in ("duplicate", "finished")
