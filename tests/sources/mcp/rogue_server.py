"""A bare MCP server over stdio that does one thing wrong, named on its command line."""

import json
import os
import sys
import time
from typing import Any

how = sys.argv[1]
grown = False


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}}


def page(cursor: str | None) -> dict[str, Any]:
    if how == "endless":
        return {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}
    if how == "dielisting":
        os._exit(1)
    if how == "names":
        return {"tools": [tool("files/read.text")]}
    if how == "pages" and cursor != "3":
        number = int(cursor or 0) + 1
        return {"tools": [tool(f"go{number}")], "nextCursor": str(number)}
    return {"tools": [tool("go"), *([tool("grown")] if grown else [])]}


def first_start() -> bool:
    with open("starts", "a+") as starts:
        starts.write("x")
        return starts.tell() == 1


def call() -> dict[str, Any]:
    global grown
    if how == "die" and fresh:
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(1)
    if how == "flood":
        for _ in range(20_000):
            print("noise " * 20, file=sys.stderr)
    if how == "huge" and fresh:
        sys.stdout.write("x" * 100_000_000)
        sys.stdout.flush()
        time.sleep(60)
    if how in ("dense", "deep") and fresh:
        print("[" + "[]," * 200_001 + "[]]" if how == "dense" else "[" * 5000, flush=True)
        time.sleep(60)
    if how == "silent":
        time.sleep(60)
    if how == "chatty":
        print("this is not JSON", flush=True)
        print("[1, 2, 3]", flush=True)
    if how == "log":
        say({"method": "notifications/message", "params": {"level": "error", "data": "disk full"}})
    if how == "grow":
        grown = True
        say({"method": "notifications/tools/list_changed"})
    if how == "nonsense":
        return {"content": "should have been a list"}
    return {"content": [{"type": "text", "text": "fine"}]}


if how == "hang":
    time.sleep(60)
if how == "exit":
    sys.exit("no licence found")
if how == "garbage":
    for _ in range(1000):
        print("welcome to my server", flush=True)
    time.sleep(60)
fresh = first_start()
for line in sys.stdin:
    request = json.loads(line)
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "rogue", "version": "1"},
            }
        case "tools/list":
            result = page(params.get("cursor"))
        case "tools/call":
            result = call()
        case method if "id" in request:
            say({"id": request["id"], "error": {"code": -32601, "message": f"no {method}"}})
            continue
        case _:
            continue
    say({"id": request["id"], "result": result})
