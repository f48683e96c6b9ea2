"""Pauses inside nested agents, through crashes, in every order of answers."""

import json
import subprocess
import sys
from pathlib import Path

from tests._oauth import Provider


def test_nested_agents_end_the_same_in_whatever_order_they_are_answered(
    provider: Provider, tmp_path: Path
) -> None:
    story = subprocess.run(
        [sys.executable, "-m", "tests.pending._nested_story", provider.address, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert story.returncode == 0, story.stderr
    ends = [json.loads(line) for line in story.stdout.splitlines()]

    assert len({(tuple(end["order"]), end["resumes"]) for end in ends}) == 7
    for end in ends:
        assert end["status"] == "done", end
        assert end["text"] == "transferred 500 + listed 2 + wiped staging", end
        assert end["ran"] == ["listed 2", "transferred 500", "wiped staging"], end
