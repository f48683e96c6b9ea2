"""With all extras installed, as for these tests, every public name loads."""

from importlib import import_module

import pytest
from tests._units import UNITS

import toolwright
from toolwright._stand_in import is_stand_in

# Tools of other frameworks, which are installed in environments of their own.
FOREIGN = ("from_", "to_")


@pytest.mark.parametrize("unit", UNITS)
def test_every_public_name_of_a_unit_loads(unit: str) -> None:
    module = import_module(f"toolwright.{unit}")
    for name in module.__all__:
        if not (unit == "sources" and name.startswith(FOREIGN)):
            assert not is_stand_in(getattr(module, name))


def test_the_top_offers_what_its_units_offer() -> None:
    for name in toolwright.__all__:
        if not name.startswith(FOREIGN):
            assert not is_stand_in(getattr(toolwright, name))


def test_a_name_that_is_not_there_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = toolwright.nonsense  # type: ignore[attr-defined]
