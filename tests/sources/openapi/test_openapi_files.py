"""What a document refers to may be missing, broken, slow or too much: the rest of it stays."""

import json
import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, Runner
from toolwright.errors import UsageError
from toolwright.sources import OpenAPIToolset
from toolwright.sources.openapi import _load, _site
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
URL = "http://docs.example/api.json"
FILES = {
    "broken.json": b'{"a',
    "broken.yaml": b"\x00: [",
    "deep.json": b"[" * 200_000,
    "list.json": b"[1]",
}
REFS = [*FILES, "gone.json", "//[x", "http://[::1", "https://other.example/a.json", "list.json#/7"]  # fmt: skip


def document(where: str, *refs: str) -> dict[str, Any]:
    """A good operation, and another that a reference is needed for."""
    spec: dict[str, Any] = {
        "openapi": "3.0.0",
        "info": {"title": "x", "version": "1"},
        "servers": [{"url": "https://x.example/"}],
        "paths": {"/fine": {"get": {"operationId": "fine", "responses": {}}}},
    }
    for number, ref in enumerate(refs):
        node = {"$ref": ref}
        act: dict[str, Any] = {"operationId": f"act{number}", "responses": {}}
        match where:
            case "parameter":
                act["parameters"] = [node]
            case "schema":
                act["parameters"] = [{"name": "q", "in": "query", "schema": node}]
            case "body":
                act["requestBody"] = node
            case "security":
                spec["components"] = {"securitySchemes": {"s": node}}
                act["security"] = [{"s": []}]
        spec["paths"][f"/act{number}"] = node if where == "path" else {"post": act}
    return spec


class Web:
    """A site in place of the network; `slow` never comes."""

    def __init__(self, patch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
        self.asked: list[str] = []

        async def fetch(_site: Any, address: str, most: int) -> bytes:
            self.asked.append(address)
            if "slow" in address:
                await anyio.sleep_forever()
            if address not in files:
                raise UsageError(f"{address} is not there.")
            return files[address]

        patch.setattr(_site.Site, "fetch", fetch)


def site(spec: dict[str, Any]) -> dict[str, bytes]:
    others = {f"http://docs.example/{name}": content for name, content in FILES.items()}
    return {URL: json.dumps(spec).encode(), **others}


async def listed(toolset: OpenAPIToolset) -> list[str]:
    names: list[str] = []

    def note(request: Any) -> str:
        names.extend(spec.name for spec in request.tools)
        return "Done."

    agent = Agent(name="a", model=ScriptedModel(note), tools=[toolset])
    async with Runner(agent) as runner:
        assert (await runner.run("go")).status == "done"
    return names


@pytest.mark.parametrize("ref", REFS)
@pytest.mark.parametrize("where", ["path", "parameter", "schema", "body", "security"])
@pytest.mark.parametrize("kind", ["folder", "web"])
async def test_a_reference_that_cannot_be_followed_costs_no_other_operation(
    kind: str, where: str, ref: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = document(where, ref)
    Web(monkeypatch, site(spec))
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "api.json").write_text(json.dumps(spec))
    assert "fine" in await listed(OpenAPIToolset(URL if kind == "web" else tmp_path / "api.json"))


async def test_a_path_that_is_left_out_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Web(monkeypatch, site(document("path", "gone.json")))
    with caplog.at_level(logging.WARNING):
        await OpenAPIToolset(URL).list_tools()
    assert (
        "'/act0' of an OpenAPI document is left out: http://docs.example/gone.json is"
        in caplog.text
    )


async def test_files_that_do_not_come_are_waited_for_once_and_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_site, "_SECONDS", 0.05)
    spec = document("schema", *(f"slow{number}.json" for number in range(40)), "list.json#/0")
    Web(monkeypatch, site(spec))
    toolset = OpenAPIToolset(URL)
    names = [tool.name for tool in await toolset.list_tools()]
    assert len(names) == 42
    assert "within 0.05 s" in str(toolset.problems()["act7"])


async def test_cancelling_waits_for_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(monkeypatch, site(document("path", "slow.json")))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(OpenAPIToolset(URL).list_tools)
            while len(web.asked) < 2:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert scope.cancelled_caught


async def test_files_lead_to_further_files_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_site, "_MOST_FILES", 20)
    chain = {
        f"http://docs.example/{n}.json": json.dumps({"s": {"$ref": f"{n + 1}.json#/s"}}).encode()
        for n in range(100)
    }
    spec = document("schema", "0.json#/s")
    web = Web(monkeypatch, {**chain, **site(spec)})
    toolset = OpenAPIToolset(URL)
    await toolset.list_tools()
    assert len(web.asked) == 1 + 20
    assert "may refer to 20 other files" in str(toolset.problems())


async def test_files_have_their_bytes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    large = {
        f"http://docs.example/{n}.json": b'{"s": {"type": "string"}}' + b" " * 1000
        for n in range(9)
    }
    spec = document("schema", *(f"{n}.json#/s" for n in range(9)))
    Web(monkeypatch, {**large, **site(spec)})
    most = len(json.dumps(spec)) + 4 * 1030
    toolset = OpenAPIToolset(URL, max_document_bytes=most)
    await toolset.list_tools()
    assert sum("too large" in str(problem) for problem in toolset.problems().values()) == 5


@pytest.mark.parametrize("text", ['{"a": [%s{}]}' % ("{}," * 60), "a:\n" + "- b\n" * 120])
@pytest.mark.parametrize("encoded", [False, True])
def test_a_document_has_a_bounded_number_of_values(
    text: str, encoded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_load, "_MOST_VALUES", 100)
    with pytest.raises(UsageError, match="a document may have 100"):
        _load.parse_text(text.encode() if encoded else text, origin="it")
