"""A server of 2025-06-18 over stdio that asks several questions at once; it notes each reply in LOG."""

import json
import sys
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[1])
TEXT = {"type": "string"}
TOOLS = {
    "ask": {"questions": {"type": "array", "items": TEXT}},
    "wait": {},
    "fail": {},
}
calls: dict[Any, dict[str, Any]] = {}
"""The calls that wait for replies, by request id."""
asked: dict[str, tuple[Any, str]] = {}
"""Which call each question is for, and which of its questions it is."""


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def note(what: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{what}\n")


def end(request: Any, text: str, *, failed: bool = False) -> None:
    content = [{"type": "text", "text": text}]
    send(id=request, result={"content": content, "isError": failed})


def ask(request: Any, questions: list[str]) -> None:
    calls[request] = {"waits": list(questions), "replies": {}}
    for number, question in enumerate(questions):
        asked[f"q{request}-{number}"] = (request, question)
        schema = {"type": "object", "properties": {"answer": TEXT}, "required": ["answer"]}
        params = {"message": question, "requestedSchema": schema}
        send(id=f"q{request}-{number}", method="elicitation/create", params=params)


def take(reply: dict[str, Any]) -> None:
    request, question = asked.pop(reply["id"])
    result = reply.get("result", {})
    note(f"{question}: {result.get('action', 'error')}")
    call = calls[request]
    call["waits"].remove(question)
    said = result.get("content", {}).get("answer", result.get("action"))
    call["replies"][question] = reply.get("error", {}).get("message") or said
    if call["waits"]:
        return
    end(request, json.dumps(call["replies"], sort_keys=True), failed="error" in reply)


def call_tool(request: Any, name: str, arguments: dict[str, Any]) -> None:
    note(f"called {name}")
    if name == "ask":
        ask(request, arguments["questions"])
    else:
        end(request, "it is broken" if name == "fail" else "waited", failed=name == "fail")


def listed() -> list[dict[str, Any]]:
    return [
        {"name": name, "inputSchema": {"type": "object", "properties": fields}}
        for name, fields in TOOLS.items()
    ]


for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params", {})
    match message.get("method"):
        case None:
            take(message)
        case "initialize":
            send(
                id=message["id"],
                result={
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "asking", "version": "1"},
                },
            )
        case "tools/list":
            send(id=message["id"], result={"tools": listed()})
        case "tools/call":
            call_tool(message["id"], params["name"], params.get("arguments", {}))
        case "ping":
            send(id=message["id"], result={})
        case _ if "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "Method not found"})
