"""What the page on SQL databases shows, works."""

import json
import runpy
from pathlib import Path

from toolwright.messages import ToolMessage

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "sql"


def test_a_shop_is_queried_and_cannot_be_emptied() -> None:
    result = runpy.run_path(str(SNIPPETS / "shop.py"))["result"]
    described, queried, deleted = (
        m.results[0] for m in result.history if isinstance(m, ToolMessage)
    )
    assert json.loads(described.text)["primary_key"] == ["sku"]
    assert json.loads(queried.text)["rows"] == [{"name": "Widget"}]
    assert (deleted.status, deleted.text) == ("error", "The database refused: not authorized")
