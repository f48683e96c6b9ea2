"""Tools by the name of a preset."""

from pathlib import Path
from typing import Any, get_args

import pytest

from toolwright.errors import UsageError
from toolwright.kits import PRESETS, Preset, preset_tools


@pytest.mark.row("002-01", "002-03", "002-04", "002-05", "002-07")
@pytest.mark.parametrize("preset", get_args(Preset))
def test_a_preset_has_its_tools_in_order(preset: Preset, tmp_path: Path) -> None:
    assert tuple(tool.name for tool in preset_tools(preset, tmp_path)) == PRESETS[preset]


@pytest.mark.row("002-06")
def test_all_is_all_of_the_others() -> None:
    others = {name for preset in ("coding", "readonly", "web") for name in PRESETS[preset]}
    assert set(PRESETS["all"]) == others


def test_readonly_changes_nothing(tmp_path: Path) -> None:
    assert {tool.effects for tool in preset_tools("readonly", tmp_path)} == {"read"}


def test_an_unknown_preset_is_a_usage_error(tmp_path: Path) -> None:
    unknown: Any = "codign"
    with pytest.raises(UsageError, match="there are: coding, readonly, web, all, none"):
        preset_tools(unknown, tmp_path)


def test_a_missing_directory_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a directory"):
        preset_tools("coding", tmp_path / "nothing")
