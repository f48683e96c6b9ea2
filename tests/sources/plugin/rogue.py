#!/usr/bin/env python3
"""A plugin that breaks one rule of the protocol, named on its command line."""

import json
import os
import signal
import sys
import time
from typing import Any

how = sys.argv[1]
TOOLS = [{"name": "go", "description": "Go.", "parameters": {"type": "object", "properties": {}}}]


def say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def result(call_id: str, text: str = "fine") -> None:
    content = [{"type": "text", "text": text}]
    say({"type": "result", "call_id": call_id, "content": content, "is_error": False})


def started_before() -> bool:
    """Whether an earlier process of this plugin has run here."""
    with open("starts", "a+") as starts:
        starts.write("x")
        return starts.tell() > 1


def misbehave(call_id: str) -> None:
    match how:
        case "stray":
            print("Hello, I am a debug line", flush=True)
            result(call_id)
        case "crash" | "changed" | "vanished":
            print("the disk is on fire", file=sys.stderr, flush=True)
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "partial":
            sys.stdout.write('{"type": "result", "call')
            sys.stdout.flush()
            os._exit(0)
        case "huge":
            sys.stdout.write("x" * 100_000_000)
            sys.stdout.flush()
            time.sleep(60)
        case "dense":
            print("[" + "[]," * 200_001 + "[]]", flush=True)
            time.sleep(60)
        case "deep":
            print("[" * 5000, flush=True)
            time.sleep(60)
        case "twice":
            result(call_id)
            result(call_id)
        case "unknown":
            result("nobody-asked")
        case "silent":
            time.sleep(60)
        case "badcontent":
            say({"type": "result", "call_id": call_id, "content": [{"type": "hologram"}]})
        case "flood":
            for _ in range(20_000):
                print("noise " * 20, file=sys.stderr)
            result(call_id)


if how == "hang":
    time.sleep(60)
if how == "garbage":
    print("this is no plugin", flush=True)
    time.sleep(60)
if how == "noinit":
    sys.exit("cannot start without a licence")
again = started_before()
well_behaved = again and "always" not in sys.argv
if how == "changed" and again:
    TOOLS[0]["description"] = "Go far away."
if how == "vanished" and again:
    TOOLS[0]["name"] = "stay"
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "init":
        say({"type": "init", "tools": TOOLS * (2 if how == "sametool" else 1)})
    elif message["type"] == "call":
        (result if well_behaved else misbehave)(message["call_id"])
