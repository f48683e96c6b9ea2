"""An npm registry and a Python package index on loopback, with one package each: the walled server."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

__all__ = ["PACKAGE", "registries"]

PACKAGE = "walled-server"
_SERVER = Path(__file__).with_name("_walled_server.py").read_bytes()
_WHEEL = "walled_server-1.0-py3-none-any.whl"


def _wheel() -> bytes:
    info = "walled_server-1.0.dist-info"
    files = {
        "walled_server.py": _SERVER,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: walled-server\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": b"[console_scripts]\nwalled-server = walled_server:serve_mcp\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _tarball() -> bytes:
    described = {"name": PACKAGE, "version": "1.0.0", "bin": {PACKAGE: "server.py"}}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        files = (("package.json", json.dumps(described).encode()), ("server.py", _SERVER))
        for name, content in files:
            member = tarfile.TarInfo(f"package/{name}")
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _described(tarball: bytes, host: str) -> bytes:
    digest = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    version = {
        "name": PACKAGE,
        "version": "1.0.0",
        "bin": {PACKAGE: "server.py"},
        "dist": {"tarball": f"http://{host}/{PACKAGE}.tgz", "integrity": f"sha512-{digest}"},
    }
    document = {"name": PACKAGE, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    return json.dumps(document).encode()


class _Registries(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        tarball, host = _tarball_once, self.headers["Host"]
        pages = {
            f"/{PACKAGE}": ("application/json", _described(tarball, host)),
            f"/{PACKAGE}.tgz": ("application/octet-stream", tarball),
            f"/wheels/{PACKAGE}/": ("text/html", f'<a href="/{_WHEEL}">{_WHEEL}</a>'.encode()),
            f"/{_WHEEL}": ("application/octet-stream", _wheel_once),
        }
        kind, content = pages.get(self.path, ("text/plain", b""))
        self.send_response(200 if content else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return


_tarball_once, _wheel_once = _tarball(), _wheel()


@contextmanager
def registries() -> Iterator[int]:
    """The port of both."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Registries)
    thread = Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield httpd.server_address[1]
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
