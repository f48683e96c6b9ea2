#!/usr/bin/env python3
"""An MCP server, or with the argument `plugin` a plugin, that tries what it is asked to try."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def environment() -> str:
    return json.dumps(dict(os.environ))


def request(url: str, header: str, value: str) -> str:
    """Send a request with one header; the answer's headers and text, or why there was none."""
    asked = urllib.request.Request(url, headers={header: os.path.expandvars(value)})
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return f"{dict(answer.headers)} {answer.read().decode()}"
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except OSError as error:
        return f"failed: {error}"


def search(backwards: str) -> str:
    """All places where a text is found, which is given backwards so that it is not in this process."""
    wanted = backwards.encode()[::-1]
    found, looked = [], 0
    for place in places():
        try:
            data = place.read_bytes()[:2_000_000]
        except OSError:
            continue
        looked += 1
        if wanted in data:
            found.append(str(place))
    return json.dumps({"looked": looked, "found": found})


def places() -> Iterator[Path]:
    """What belongs to processes, and all files but those of the system and of Python."""
    yield from Path("/proc").glob("[0-9]*/environ")
    yield from Path("/proc").glob("[0-9]*/cmdline")
    tops = [path for path in Path("/").iterdir() if not path.is_symlink()]
    for top in (path for path in tops if path.name not in ("proc", "sys", "usr", "dev")):
        for folder, folders, names in os.walk(top):
            if Path(folder) in (Path(sys.base_prefix), Path("/etc/ssl/certs")):
                folders.clear()
                continue
            yield from (Path(folder) / name for name in names)


def linger(mark: str) -> str:
    """Leave a process behind that is in no group of ours."""
    subprocess.Popen(["setsid", "sleep", mark], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    return "started"


def run(code: str) -> str:
    """Run a program and give its output."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


TOOLS: dict[str, Callable[..., str]] = {
    f.__name__: f for f in (environment, request, search, linger, run)
}


def listed(schema: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": "", schema: {"type": "object", "properties": {}}}
        for name in TOOLS
    ]


def write(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def text_of(name: str, arguments: dict[str, Any]) -> list[dict[str, str]]:
    return [{"type": "text", "text": TOOLS[name](**arguments)}]


def serve_mcp() -> None:
    """As much of MCP as it takes: the SDK would take longer to start than all attempts."""
    for line in sys.stdin:
        asked = json.loads(line)
        parameters = asked.get("params") or {}
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.get("id")}
        match asked["method"]:
            case "initialize":
                answer["result"] = {
                    "protocolVersion": parameters["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "walled", "version": "1"},
                }
            case "tools/list":
                answer["result"] = {"tools": listed("inputSchema")}
            case "tools/call":
                answer["result"] = {"content": text_of(parameters["name"], parameters["arguments"])}
            case _:
                answer["error"] = {"code": -32601, "message": "unknown method"}
        if "id" in asked:
            write(answer)


def serve_plugin() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["type"] == "init":
            write({"type": "init", "tools": listed("parameters")})
        if asked["type"] == "call":
            content = text_of(asked["name"], asked["params"])
            write({"type": "result", "call_id": asked["call_id"], "content": content})


if __name__ == "__main__":
    serve_plugin() if "plugin" in sys.argv else serve_mcp()
    if "STUBBORN" in os.environ:
        signal.pause()
