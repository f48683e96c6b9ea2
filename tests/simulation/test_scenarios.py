"""Whatever fails, and whenever: nothing is lost, nothing happens twice, nothing is stuck."""

import pytest
from tests.simulation.scenarios import SCENARIOS

from toolwright.testing.simulation import simulate

SEEDS = 3_000
_COSTLY = (
    "budget_over_resumes",
    "cancelled_parent",
    "cancelled_while_answered",
    "child_tasks",
    "credential_race",
    "deferred_answers",
    "deferred_death",
    "held_session",
    "restarted_workers",
    "steering_and_cancel",
    "stopped_worker",
    "tasks_on_workers",
    "told_once",
    "two_questions",
    "workflow_nodes",
    "workflow_tasks",
)
_SHARE = SEEDS // len(SCENARIOS)
_EXTRA = len(_COSTLY) * (_SHARE // 2) // (len(SCENARIOS) - len(_COSTLY)) + 4


def seeds_of(name: str) -> int:
    """Durable tasks and long sessions cost several times as much, so they get half as many."""
    return _SHARE // 2 if name in _COSTLY else _SHARE + _EXTRA


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.xdist_group(f"simulated-{name}"),
        )
        for name in SCENARIOS
    ],
)
def test_nothing_is_lost_and_nothing_happens_twice(name: str) -> None:
    simulate(SCENARIOS[name], seeds=seeds_of(name))


def test_there_are_three_thousand_seeds_over_at_least_ten_scenarios() -> None:
    assert len(SCENARIOS) >= 10
    assert sum(seeds_of(name) for name in SCENARIOS) >= SEEDS
