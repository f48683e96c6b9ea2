"""Secrets do not show: not in events, histories, logs, traces, exceptions, reprs or files."""

import json
import subprocess
import sys
from pathlib import Path

from tests._oauth import Provider


def test_no_secret_shows_anywhere(provider: Provider, tmp_path: Path) -> None:
    story = subprocess.run(
        [sys.executable, "-m", "tests.auth._canary_story", provider.address, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert story.returncode == 0, story.stderr

    secrets = json.loads((tmp_path / "secrets.json").read_text())
    places = {"output": story.stdout + story.stderr, "seen": (tmp_path / "seen.txt").read_text()}
    for database in tmp_path.glob("*.db*"):
        places[database.name] = database.read_bytes().decode("latin-1")

    assert len(secrets) >= 9
    assert {"sessions.db", "credentials.db"} <= places.keys()
    assert "[redacted]" in places["seen"]
    leaks = [(place, line) for place, text in places.items() for line in text.splitlines()
             if any(secret in line for secret in secrets)]  # fmt: skip
    assert leaks == []
