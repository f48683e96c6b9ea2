"""What all command-line tests share: a place of their own for what the program keeps,
and a directory that is trusted."""

from pathlib import Path

import pytest
from tests.cli.program import TRUST


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's state directory."""
    directory = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    monkeypatch.setenv(TRUST, str(tmp_path))
    return directory
