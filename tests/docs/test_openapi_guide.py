"""What the page on OpenAPI shows, works."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.openapi._calling import answers
from tests.sources.openapi._certificates import self_signed
from tests.sources.openapi._recorder import Recorder

from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "openapi"


def snippet(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


@pytest.fixture
def server() -> Iterator[Recorder]:
    with Recorder().running() as recorder:
        yield recorder


async def test_an_agent_calls_an_api_from_its_document(server: Recorder) -> None:
    model = ScriptedModel(call("petstore_create_pet", pet_name="Rex"), "Rex was added.")
    agent = snippet("petstore")["pet_agent"](model, server_url=server.url)
    result = await agent.run("Add Rex")
    assert result.text == "Rex was added."
    assert (server.last.method, server.last.path) == ("POST", "/pets")
    assert json.loads(server.last.body) == {"petName": "Rex"}


async def test_one_operation_is_a_tool_of_its_own() -> None:
    model = ScriptedModel("hello")
    await snippet("one_tool")["lister"](model).run("hi")
    assert [spec.name for spec in model.requests[0].tools] == ["list_pets"]


async def test_operations_are_chosen() -> None:
    chosen = snippet("choose")
    kept = {
        name: [t.name for t in await chosen[name].list_tools()]
        for name in chosen
        if name[:3] == "by_"
    }
    assert kept == {
        "by_name": ["list_pets", "get_pet"],
        "by_kind": ["list_pets", "get_pet"],
        "by_path": ["get_pet"],
        "by_rule": ["list_pets", "get_pet"],
    }


async def test_a_key_and_headers_are_sent(server: Recorder) -> None:
    await answers(
        snippet("sign_in")["signed_in"]("k-123", server_url=server.url), call("list_pets")
    )
    assert server.last.headers["x-api-key"] == "k-123"
    await answers(snippet("headers")["for_tenants"](server_url=server.url), call("list_pets"))
    assert server.last.headers["x-tenant-id"] == "default"


async def test_own_certificates_are_trusted(tmp_path: Path) -> None:
    bundle = self_signed(tmp_path)
    with Recorder().running(bundle) as server:
        for name in ("behind_a_proxy", "pinned"):
            toolset = snippet("certificates")[name](bundle, server_url=server.url)
            (result,) = await answers(toolset, call("get_pet", pet_id=1))
            assert result.status == "ok"
            await toolset.close()
