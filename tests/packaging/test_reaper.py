"""What tests start is gone when they have ended, also when they were killed."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests._reaper import RUN

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("workbench"),
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="processes are watched on Linux only"),
]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
STARTS = """
import os, subprocess, sys
from tests._browser import browser
from tests._postgres import new_database
from tests._reaper import RUN

def test_starts_everything_and_hangs():
    new_database()
    # A server in a session of its own, whose own child does not even know the run.
    child = "import subprocess; subprocess.run(['sleep', '600'], env={})"
    subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
    with browser():
        print(f"run {os.environ[RUN]}", flush=True)
        %s
"""


def left(run: str) -> dict[int, str]:
    """The processes of a run, with their commands; found by what they inherit or by their parents."""
    found: dict[int, str] = {}
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            number, environment = int(folder.name), (folder / "environ").read_bytes()
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            names[number] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        parents[number] = int(fields[1])
        if f"{RUN}={run}".encode() in environment and fields[0] != "Z":
            found[number] = names[number]
    for number, parent in parents.items():
        if parent in found and number in names:
            found[number] = names[number]
    return found


@pytest.fixture
def pytest_run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "test_everything.py").write_text(STARTS % request.param)
    environment = {name: value for name, value in os.environ.items() if name != RUN}
    environment["PYTHONPATH"] = str(ROOT)
    options = ["-s", "-p", "conftest", "-p", "no:cacheprovider", "-n", "0", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", "-q", *options, "--rootdir", str(tmp_path)]
    with subprocess.Popen(
        [*command, "test_everything.py"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        yield running
        running.kill()


def wait_for_the_end(processes: Iterable[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(process)
            try:
                assert select.select([handle], [], [], PATIENCE)[0], f"{process} is still running"
            finally:
                os.close(handle)


@pytest.mark.parametrize(
    ("pytest_run", "kill"),
    [("__import__('time').sleep(600)", True), ("pass", False)],
    indirect=["pytest_run"],
    ids=["killed", "ended"],
)
def test_databases_browsers_and_servers_end_with_the_run(
    pytest_run: subprocess.Popen[str], kill: bool
) -> None:
    assert pytest_run.stdout is not None
    run = next(line.split()[-1] for line in pytest_run.stdout if "run " in line)
    if kill:
        commands = " ".join(left(run).values())
        assert all(name in commands for name in ("postgres", "chrom", "sleep 600"))
        pytest_run.send_signal(signal.SIGKILL)
    pytest_run.wait(PATIENCE)
    # The reaper is one of them, and the last.
    wait_for_the_end(left(run))
    assert left(run) == {}
    assert list(Path(tempfile.gettempdir()).glob(f"tw{run}-*")) == []
