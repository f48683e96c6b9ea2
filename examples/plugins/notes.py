#!/usr/bin/env python3
"""A plugin in Python, without any library: notes that last as long as the plugin runs.

It knows everything that version 2 of the protocol adds: several calls at once, progress, cancel
and log lines.
"""

import json
import sys
import threading
from typing import Any

TOOLS = [
    {
        "name": "add_note",
        "description": "Remember a note.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
    {
        "name": "list_notes",
        "description": "All notes, oldest first.",
        "parameters": {"type": "object", "properties": {}},
    },
    {
        "name": "count_down",
        "description": "Count down to zero, a step every tenth of a second.",
        "parameters": {
            "type": "object",
            "properties": {"start": {"type": "integer", "minimum": 1, "maximum": 1000}},
            "required": ["start"],
        },
    },
]

notes: list[str] = []
cancelled: dict[str, threading.Event] = {}
writing = threading.Lock()


def say(message: dict[str, Any]) -> None:
    with writing:
        print(json.dumps(message), flush=True)


def run(call_id: str, name: str, params: dict[str, Any]) -> str:
    if name == "add_note":
        notes.append(params["text"])
        return f"Noted; there are {len(notes)} notes now."
    if name == "list_notes":
        return "\n".join(notes) or "There are no notes."
    if name == "count_down":
        return count_down(call_id, params["start"])
    raise ValueError(f"there is no tool {name!r}")


def count_down(call_id: str, start: int) -> str:
    for number in range(start, 0, -1):
        say({"type": "progress", "call_id": call_id, "text": f"{number} to go"})
        if cancelled[call_id].wait(0.1):
            raise InterruptedError("the count-down was called off")
    return "Lift-off."


def answer(message: dict[str, Any]) -> None:
    call_id = message["call_id"]
    try:
        text, failed = run(call_id, message["name"], message.get("params") or {}), False
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is told to the model
        text, failed = f"{type(error).__name__}: {error}", True
    cancelled.pop(call_id, None)
    content = [{"type": "text", "text": text}]
    say({"type": "result", "call_id": call_id, "content": content, "is_error": failed})


def main() -> None:
    for line in filter(str.strip, sys.stdin):
        message = json.loads(line)
        if message["type"] == "init":
            features = ["parallel", "progress", "cancel", "log"]
            say({"type": "init", "tools": TOOLS, "version": 2, "features": features})
            say({"type": "log", "level": "info", "text": "ready"})
        elif message["type"] == "call":
            cancelled[message["call_id"]] = threading.Event()
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        elif message["type"] == "cancel" and message["call_id"] in cancelled:
            cancelled[message["call_id"]].set()


if __name__ == "__main__":
    main()
