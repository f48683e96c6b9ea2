"""What is measured of the bare loop and of us is the same work, with the same result."""

import pytest
from bench._functions import helpers
from bench._measure import check, play
from bench._peers import BARE, OURS, Measured
from bench._rows import ROWS, Size
from bench._script import Script, calls
from bench._table import table
from bench.peers import bare, toolwright

pytestmark = pytest.mark.anyio

SMALL = Size(repeats=1, most=20)
SCRIPTS = {"sequential": calls(4), "parallel": calls(2, each=5), "nothing to do": calls(0)}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_the_bare_loop_and_we_make_all_calls_and_say_the_same(
    script: Script, sync: bool
) -> None:
    for peer in (bare, toolwright):
        # Raises unless all calls were made and the final text is the script's.
        _, cursor = await play(peer.build(helpers(sync=sync), script), script)
        assert cursor.turn == len(script.turns) + 1


def test_work_that_was_left_out_is_noticed() -> None:
    with pytest.raises(RuntimeError, match="wanted 'done' after 3 calls, got 'done' after 2"):
        check("done", 2, 3)


NOT_IN_BARE_PYTHON = {"schemas", "turns-200-rules"}


@pytest.mark.parametrize("row", ROWS)
async def test_every_row_gives_the_same_numbers_to_fill_in_for_both(
    row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench._measure.ENOUGH_SECONDS", 0)  # Once is enough to see the numbers.
    ours, theirs = await ROWS[row]("toolwright", SMALL), await ROWS[row]("bare", SMALL)
    assert ours
    assert row in NOT_IN_BARE_PYTHON or ours.keys() == theirs.keys()


def test_the_table_shows_each_number_with_its_ratios_and_what_went_wrong() -> None:
    found = {
        BARE: Measured("", {"a turn: µs": 2.0}),
        OURS: Measured("1.0", {"a turn: µs": 5.0}),
        "peer": Measured("9.9", problems={"all rows": "peer could not be installed"}),
    }
    lines = [line.split() for line in table(found).splitlines()]
    assert lines[2] == ["a", "turn:", "µs", "2", "5", "–"]
    assert lines[3] == ["to", "bare", "loop", "1×", "2.50×", "–"]
    assert lines[4] == ["to", "toolwright", "0.40×", "1×", "–"]
    assert lines[5] == ["peer,", "all", "rows:", "peer", "could", "not", "be", "installed"]
