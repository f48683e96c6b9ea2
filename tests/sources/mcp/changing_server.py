"""A server of 2025-06-18 over stdio whose tools are those in FOLDER/tools.json, and may be changed.

It notes each call in FOLDER/calls. `change` puts other tools in place and says so; `die` ends it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tools() -> list[dict[str, Any]]:
    told = {"inputSchema": {"type": "object"}}
    said = json.loads((FOLDER / "tools.json").read_text())
    return [{"name": name, **told, **more} for name, more in said.items()]


def resources() -> list[dict[str, Any]]:
    return [{"uri": "plan://secret", "name": "The plans", "description": "All of them."}]


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with (FOLDER / "calls").open("a") as calls:
        calls.write(f"{name}\n")
    if name == "die":
        os._exit(1)
    if name == "change":
        (FOLDER / "tools.json").write_text(json.dumps(arguments["tools"]))
        send(method="notifications/tools/list_changed")
    return {"content": [{"type": "text", "text": "done"}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}, "resources": {}},
                "serverInfo": {"name": "changing", "version": "1"},
            }
        case "tools/list":
            return {"tools": tools()}
        case "resources/list":
            return {"resources": resources()}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "resources/read":
            call("read", params)
            return {"contents": [{"uri": params["uri"], "text": "THE PLANS"}]}
        case "tools/call":
            return call(params["name"], params.get("arguments", {}))
        case "ping":
            return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    found = answer(message["method"], message.get("params", {}))
    if found is None:
        send(id=message["id"], error={"code": -32601, "message": "Method not found"})
    else:
        send(id=message["id"], result=found)
