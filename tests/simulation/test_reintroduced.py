"""The simulator finds every defect that is put back."""

import re

import pytest
from tests.simulation.reintroduced import DEFECTS, Defect

from toolwright.testing.simulation import run_seed


@pytest.mark.parametrize("defect", [pytest.param(d, id=d.name.replace(" ", "-")) for d in DEFECTS])
def test_a_defect_that_is_put_back_is_found(defect: Defect) -> None:
    with defect.patch():
        seeds = (defect.seed, *range(defect.within))
        problems = (run_seed(defect.scenario, seed).problem for seed in seeds)
        assert any(re.search(defect.shows, problem) for problem in problems)
