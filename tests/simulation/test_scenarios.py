"""Whatever fails, and whenever: nothing is lost, nothing happens twice, nothing is stuck."""

import pytest
from tests.simulation.scenarios import SCENARIOS

from toolwright.testing.simulation import simulate

SEEDS = 3_000
_CHEAP = (
    "busy_holder",
    "group_commit",
    "parallel_payments",
    "payments_by_sub_agents",
    "rival_runs",
    "state_writes",
)
_OF_COSTLY = 50
_COSTLIEST = {"begun_anew": 15, "pruned_while_answered": 15}


def seeds_of(name: str) -> int:
    """Durable tasks and long sessions cost several times as much, so the others get the rest."""
    if name not in _CHEAP:
        return _COSTLIEST.get(name, _OF_COSTLY)
    costly = sum(seeds_of(other) for other in SCENARIOS if other not in _CHEAP)
    return -(-(SEEDS - costly) // len(_CHEAP))


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
