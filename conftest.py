"""Shared by all tests: one event loop backend, no clocks, nothing left running, a list of skips."""

import gc
import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests._loopback import stay_on_loopback
from tests._reaper import start_reaper
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

# How long an example takes says more about the machine than about the code.
_CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("calm", _CALM)
settings.register_profile("thorough", _CALM, max_examples=2000)
settings.load_profile("calm")


# Before anything is started: only what comes later can be told from other processes.
start_reaper()
stay_on_loopback()


# Python's own (700, 10, 10) take a fifteenth of the tests' time.
_YOUNG = (5_000, 20, 10)

# Few tests that take seconds each: what begins last should end soon, or workers wait for one.
_LONG = (
    "packaging",
    "simulated-",
    "tasks",
    "temporal",
    "workbench",
    "tests/docs/test_embedding_guide.py",
    "tests/execution/test_escapes.py",
    "tests/pending/test_nested.py",
    "tests/serve/test_mcp_server_",
    "tests/serve/test_serve_openapi.py",
    "tests/serve/test_web_sources.py",
    "tests/simulation/",
    "tests/sources/frameworks/",
    "tests/sources/openapi/test_openapi_round_trip.py",
    "tests/stores/test_forks.py",
    "tests/stores/test_store_processes.py",
)


class _LongFirst(OrderedDict[str, dict[str, bool]]):
    """What is left to do, of which the scheduler takes the first."""

    def popitem(self, last: bool = True) -> tuple[str, dict[str, bool]]:
        longest = max(self, key=lambda scope: (scope.startswith(_LONG), len(self[scope])))
        return longest, self.pop(longest)


class GroupOrFileScheduling(LoadGroupScheduling):
    """A group's tests go to one worker, and so do a file's: what they share is started once."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self.workqueue = _LongFirst()

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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector's rounds, which find nothing: all that is loaded stays to
    the end, and is taken out of later rounds too, of which there are fewer. And keep the files that
    pytest rewrites: there are hundreds, which it would rewrite each time and in each worker."""
    writes_no_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    gc.disable()
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = writes_no_bytecode
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_YOUNG)
        gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def _leave_nothing() -> Iterator[None]:
    """Where modules are found is as it was, once a file is done: agent files add their folders. Runs
    and workers without an end show no life any more: their databases go away, and simulations have
    the process to themselves."""
    found_in = [*sys.path]
    yield
    sys.path[:] = found_in
    for thread in threading.enumerate():
        if thread.name == "toolwright-heartbeat":
            heartbeat = getattr(getattr(thread, "_target", None), "__self__", None)
            if heartbeat is not None:
                heartbeat.stop()


@pytest.fixture(autouse=True)
def _keep_nothing() -> Iterator[None]:
    """What one test started or kept counts for no sandbox of the next."""
    yield
    if (own_paths := sys.modules.get("toolwright.backends._own_paths")) is not None:
        own_paths.forget_all()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was skipped and why: a line for each test, with how many examples of it."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section(f"skipped ({len(skipped)})")
    for (test, reason), times in Counter(map(_skip, skipped)).items():
        terminalreporter.line(f"{test} ({times}×): {reason}")


def _skip(report: pytest.TestReport) -> tuple[str, str]:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return report.nodeid.partition("[")[0], reason
