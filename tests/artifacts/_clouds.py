"""Object stores on this machine: S3 from moto, Azure from azurite."""

import base64
import hashlib
import hmac
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

from tests._npm import npm_program
from tests._venvs import find_uv

__all__ = ["azure", "s3"]

_AZURE_ACCOUNT = "devstoreaccount1"
_AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The emulator's published key, the same on every machine."""


@contextmanager
def s3() -> Iterator[dict[str, Any]]:
    """Options of an S3 server, with one bucket."""
    port = _free_port()
    isolated = [
        find_uv(),
        "run",
        "--no-project",
        "--isolated",
        "--quiet",
        "--python",
        sys.executable,
    ]
    packages = ["--with", "moto[s3]==5.2.5", "--with", "flask", "--with", "flask-cors"]
    with _running([*isolated, *packages, "moto_server", "-H", "127.0.0.1", "-p", str(port)], port):
        address = f"http://127.0.0.1:{port}"
        bucket = f"bucket-{uuid.uuid4().hex[:8]}"
        urllib.request.urlopen(urllib.request.Request(f"{address}/{bucket}", method="PUT"))
        yield {
            "url": f"s3://{bucket}",
            "endpoint": address,
            "access_key_id": "test",
            "secret_access_key": "test",
            "region": "us-east-1",
        }


@contextmanager
def azure() -> Iterator[dict[str, Any]]:
    """Options of an Azure Blob Storage server, with one container."""
    port = _free_port()
    program = npm_program("azurite", "3.34.0", "azurite-blob")
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent"]
    with _running([*program, "--blobPort", str(port), *options], port):
        endpoint = f"http://127.0.0.1:{port}/{_AZURE_ACCOUNT}"
        _make_container(endpoint, "container")
        yield {
            "url": "az://container",
            "endpoint": endpoint,
            "account_name": _AZURE_ACCOUNT,
            "account_key": _AZURE_KEY,
        }


def _make_container(endpoint: str, name: str) -> None:
    """Ask for it in a request signed with the account's key."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed_headers = "".join(f"{key}:{value}\n" for key, value in headers.items())
    resource = f"/{_AZURE_ACCOUNT}/{_AZURE_ACCOUNT}/{name}\nrestype:container"
    message = "PUT" + "\n" * 12 + signed_headers + resource
    digest = hmac.digest(base64.b64decode(_AZURE_KEY), message.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {_AZURE_ACCOUNT}:{base64.b64encode(digest).decode()}"
    url = f"{endpoint}/{name}?restype=container"
    urllib.request.urlopen(urllib.request.Request(url, headers=headers, method="PUT"))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, cwd=directory)
        try:
            _wait_for(process, port, log)
            yield
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} did not start: {log.read_text()[-2000:]}")
