"""An operation that cannot be used is left out by name, and the others of its document stay."""

import json
from typing import Any

import pytest
from tests.sources.openapi._calling import answers, document

from toolwright import Agent
from toolwright.sources import OpenAPIToolset
from toolwright.sources.openapi import _tool
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
DEEP = json.loads("[" * 100 + "]" * 100)


def with_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A document whose operation `act` has a parameter like that, and which has another one."""
    other = {"/other": {"get": {"operationId": "other"}}}
    bad = document({"parameters": [{"name": "q", "in": "query", "schema": schema}]})
    return {**bad, "tags": ["a"], "paths": {**bad["paths"], **other}}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"enum": ["x" * 600_000]}, "letters, more than 524,288"),
        ({"const": DEEP}, "nested more than 50 levels"),
        ({"type": "number", "minimum": float("inf")}, 'null is not of type "number"'),
    ],
    ids=["long", "deep", "none"],
)
async def test_a_schema_that_is_too_much_is_not_offered_and_the_log_says_why(
    schema: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    toolset = OpenAPIToolset(spec_dict=with_schema(schema), name="shop")
    offered: list[str] = []

    def look(request: Any) -> str:
        offered.extend(tool.name for tool in request.tools)
        return "done"

    await Agent(name="a", model=ScriptedModel(look), tools=[toolset]).run("go")
    assert offered == ["other"]
    [line] = [line for line in caplog.messages if "'act' of shop is left out" in line]
    assert said in line
    assert said in str(toolset.problems()["act"])
    assert len(json.dumps(toolset.get_tool("act").spec.parameters)) < 100
    (result,) = await answers(toolset, call("act"))
    assert result.status == "error"


@pytest.mark.parametrize("index", ["²", "٣", "9" * 5000, "-1", "1e0", " 0"], ids=ascii)
async def test_a_reference_that_leads_nowhere_is_no_more_than_that(index: str) -> None:
    toolset = OpenAPIToolset(spec_dict=with_schema({"$ref": f"#/tags/{index[:5000]}"}))
    assert [tool.name for tool in await toolset.list_tools()] == ["act", "other"]
    assert "leads nowhere" in str(toolset.problems()["act"])
    assert len(str(toolset.problems())) < 1000


async def test_whatever_goes_wrong_in_one_operation_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = _tool.plan_call

    def plan(operation: Any, **settings: Any) -> Any:
        if operation.name == "act":
            raise OverflowError("too large")
        return planned(operation, **settings)

    monkeypatch.setattr(_tool, "plan_call", plan)
    toolset = OpenAPIToolset(spec_dict=with_schema({}))
    assert toolset.problems() == {"act": ("OverflowError: too large",)}
