"""A bare MCP server over stdio that does one thing wrong, named on its command line."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

how = sys.argv[1]
OBJECT = {"type": "object"}
RETURNS: dict[str, tuple[dict[str, Any], Any]] = {
    "returns_other": (OBJECT | {"properties": {"x": {"type": "string"}}}, {"x": 1}),
    "returns_nothing": (OBJECT, ...),
    "returns_slow": (
        OBJECT | {"properties": {"x": {"pattern": "^(a+)+$"}}},
        {"x": "a" * 5000 + "b"},
    ),
    "returns_looking": (
        OBJECT | {"properties": {"x": {"pattern": "(?=(a+))\\1b"}}},
        {"x": "a" * 90_000},
    ),
    "returns_many": (
        OBJECT
        | {
            "$defs": {"n": {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/n"}}}] * 2}},
            "$ref": "#/$defs/n",
        },
        json.loads('{"x":' * 40 + "1" + "}" * 40),
    ),
}
grown = False


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}}


def hostile_tools() -> list[dict[str, Any]]:
    from tests.sources.hostile_schemas import HOSTILE_SCHEMAS

    good = {"type": "object", "properties": {}}
    return [
        *({"name": name, "inputSchema": schema} for name, (schema, _) in HOSTILE_SCHEMAS.items()),
        *(
            {
                "name": f"{name}_out",
                "inputSchema": good,
                "outputSchema": {"type": "object"} | schema,
            }
            for name, (schema, _) in HOSTILE_SCHEMAS.items()
        ),
    ]


UNFIT: dict[str, tuple[str, list[Any], Any]] = {
    "tools/list": (
        "tools",
        [
            {"name": "unschemed"},
            {"name": "odd\n", "inputSchema": "none"},
            {"name": 7, "inputSchema": OBJECT},
            "text",
            None,
            {"name": "hints", "inputSchema": OBJECT, "annotations": {"readOnlyHint": "perhaps"}},
        ],
        tool("go"),
    ),
    "resources/list": ("resources", [{"name": "no-uri"}], {"name": "r", "uri": "a://b"}),
    "resources/templates/list": (
        "resourceTemplates",
        [{"name": "no-template", "uriTemplate": 1}],
        {"name": "t", "uriTemplate": "a://{b}"},
    ),
    "prompts/list": ("prompts", [{"name": "args", "arguments": 1}], {"name": "p"}),
}


def page(cursor: str | None) -> dict[str, Any]:
    if how == "schemas":
        return {"tools": [*hostile_tools(), tool("go")]}
    if how == "clashes":
        return {"tools": [tool(name) for name in ("go", "a b", "a;b", "go", "own", "", "x" * 90)]}
    if how == "crowd":
        return {"tools": [tool("go"), *(tool(f"t{number}") for number in range(10_050))]}
    if how == "wordy":
        return {"tools": [tool("go") | {"description": "x" * 900_000}]}
    if how == "growing":
        return {
            "tools": [tool(f"t{cursor}") | {"description": "x" * 900_000}],
            "nextCursor": f"{cursor}1",
        }
    if how in RETURNS:
        return {"tools": [tool("go") | {"outputSchema": RETURNS[how][0]}]}
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
    if how == "strangers":
        say({"id": 987_654, "result": {"content": []}})
        say({"id": "nobody", "error": {"code": 1, "message": "for nobody"}})
        say({"id": None, "result": {}})
    if how == "asks":
        for number, method in enumerate(
            ["sampling/createMessage", "roots/list", "no/such", "ping"]
        ):
            say({"id": number + 1000, "method": method, "params": {}})
    if how.startswith("samples"):
        number = int(how.removeprefix("samples"))
        ask = {
            "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}],
            "maxTokens": 100_000,
        }
        for at in range(number):
            say({"id": at + 1000, "method": "sampling/createMessage", "params": ask})
        answers = [json.loads(sys.stdin.readline()) for _ in range(number)]
        refused = sorted({a["error"]["message"] for a in answers if "error" in a})
        given = sum("result" in answer for answer in answers)
        return {"content": [{"type": "text", "text": f"{given} given; {' '.join(refused)}"}]}
    if how == "news":
        for _ in range(2000):
            say({"method": "notifications/tools/list_changed"})
    if how == "progress":
        for value in (1e308, -1, 0):
            say(
                {
                    "method": "notifications/progress",
                    "params": {"progressToken": "x", "progress": value},
                }
            )
        say({"method": "notifications/no_such", "params": {"a": 1}})
        say(
            {
                "method": "notifications/message",
                "params": {"level": "error", "data": {"a": ["b"] * 50_000}},
            }
        )
    if how == "image":
        return {"content": [{"type": "image", "data": "!!", "mimeType": "image/png"}]}
    if how == "kinds":
        return {"content": [{"type": "hologram", "data": "x"}]}
    if how == "blank":
        return {"content": []}
    if how == "number":
        return {"content": [{"type": "text", "text": 7}]}
    if how == "noresult":
        say({"id": request["id"]})
    if how == "twice":
        say({"id": request["id"], "result": {"content": [{"type": "text", "text": "fine"}]}})
    if how == "halves":
        return {"content": [{"type": "text", "text": "half \ud800 of a letter"}]}
    if how == "ill":
        return {"content": [{"type": "text", "text": "no"}], "isError": "perhaps"}
    if how in RETURNS:
        content = {"content": [{"type": "text", "text": "fine"}]}
        value = RETURNS[how][1]
        return content if value is ... else content | {"structuredContent": value}
    if how == "question":
        bad = {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/"}}}
        say(
            {
                "id": 77,
                "method": "elicitation/create",
                "params": {"message": "?", "requestedSchema": bad},
            }
        )
        answer = json.loads(sys.stdin.readline())
        return {"content": [{"type": "text", "text": answer["error"]["message"]}]}
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
    if "method" not in request:
        continue
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}}
                | ({"resources": {}, "prompts": {}} if how == "unfit" else {}),
                "serverInfo": {"name": "rogue", "version": "1"},
            }
        case method if how == "unfit" and method in UNFIT:
            kind, unfit, fit = UNFIT[method]
            result = {kind: [*unfit, fit]}
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
