"""What the page on SQL databases shows, works."""

import inspect
import json
import re
import runpy
from pathlib import Path

from toolwright import SqlToolset
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


def test_the_limits_are_those_of_the_page() -> None:
    page = (SNIPPETS.parents[1] / "guides" / "sql.md").read_text()
    shown = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", page, re.MULTILINE))
    settings = inspect.signature(SqlToolset.__init__).parameters
    assert len(shown) == 4
    for name, number in shown.items():
        assert settings[name].default == int(number.replace(",", ""))
