"""The examples of tools from elsewhere run and do what they say."""

import json

from examples import petstore, product_lookup
from toolwright import Result
from toolwright.messages import ToolMessage, ToolResult


def results(result: Result) -> list[ToolResult]:
    return [r for m in result.history if isinstance(m, ToolMessage) for r in m.results]


def test_the_petstore_is_used_through_its_document() -> None:
    added, listed = results(petstore.main())
    assert json.loads(added.text) == {"added": "Rex"}
    assert json.loads(listed.text) == ["Rex"]


def test_a_product_is_looked_up_with_bound_values() -> None:
    result = product_lookup.main()
    found, missing = (json.loads(r.text) for r in results(result))
    assert found == {"name": "Widget", "price": 9.5, "stock": 7}
    assert "was not found" in missing["error"]
    assert result.state["last_sku"] == "WIDGET-42"
