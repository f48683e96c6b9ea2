"""A Temporal server for the tests: the development server, from a wheel."""

import os
import socket
import subprocess
import sysconfig
from pathlib import Path

import anyio
from temporalio.client import Client
from temporalio.service import RPCError

__all__ = ["TEMPORAL", "TemporalServer"]

TEMPORAL = Path(sysconfig.get_path("scripts")) / "temporal"
_SETTINGS = {
    # It would ask a server on the internet whether it is the newest.
    "frontend.enableServerVersionCheck": "false",
    # After so many events a history is continued as a new one; usually after thousands.
    "limit.historyCount.suggestContinueAsNew": "60",
}


class TemporalServer:
    """A server that keeps what it knows in memory, or in a file, to be stopped and started again."""

    def __init__(self, directory: Path, *, file: bool = False) -> None:
        self._home = directory
        self._kept = [f"--db-filename={directory / 'temporal.db'}"] if file else []
        self._log = directory / "temporal.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.target = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, store: str) -> str:
        """The address of tasks that are kept in that store."""
        return f"temporal://{self.target}/default?store={store}"

    async def start(self) -> None:
        """Return when it answers."""
        self._process = self._spawn()
        with anyio.fail_after(90):
            while not await self._answers():
                assert self._process.poll() is None, self._log.read_text()
                await anyio.sleep(0.1)

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = [f"--dynamic-config-value={name}={value}" for name, value in _SETTINGS.items()]
        attributes = [f"--search-attribute=Toolwright{name}=Keyword" for name in ("Agent", "Owner")]
        command = [
            TEMPORAL, "server", "start-dev", "--headless", "--ip=127.0.0.1", f"--port={self._port}",
            "--log-level=never", *self._kept, *settings, *attributes,
        ]  # fmt: skip
        settled = {"TEMPORAL_VERSION_CHECK_DISABLED": "1", "HOME": str(self._home)}
        # Half of its time would be for the garbage collector.
        settled |= {"GOGC": "800", "GOMAXPROCS": "2"}
        with self._log.open("ab") as log:
            return subprocess.Popen(command, env={**os.environ, **settled}, stdout=log, stderr=log)

    async def _answers(self) -> bool:
        try:
            client = await Client.connect(self.target)
            await client.count_workflows("WorkflowType = 'toolwright.task'")
        except (RPCError, RuntimeError):
            return False
        return True

    def stop(self) -> None:
        """End it; what it knows is in its file."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None
