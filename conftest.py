"""Shared by all tests: one event loop backend, no clocks, and a list of what was skipped and why."""

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

# How long an example takes says more about the machine than about the code.
_CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("calm", _CALM)
settings.register_profile("thorough", _CALM, max_examples=2000)
settings.load_profile("calm")


class GroupOrFileScheduling(LoadGroupScheduling):
    """A group's tests go to one worker, and so do a file's: what they share is started once."""

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).split("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> GroupOrFileScheduling | None:
    by_group = config.getvalue("dist") == "loadgroup"
    return GroupOrFileScheduling(config, log) if by_group else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests with packages from npm the time to fetch them, which the first run has to."""
    for item in items:
        if item.get_closest_marker("npm") or item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section(f"skipped ({len(skipped)})")
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.line(f"{report.nodeid}: {reason}")
