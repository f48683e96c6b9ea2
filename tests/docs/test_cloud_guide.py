"""What the page on Google Cloud shows, works; the services themselves are tested with their tools."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "cloud"


def snippet(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


async def shown(agent: Any, model: ScriptedModel) -> list[str]:
    await agent.run("hi")
    return [spec.name for spec in model.requests[0].tools]


async def test_pubsub_tools_are_chosen() -> None:
    model = ScriptedModel("hello")
    agent = snippet("pubsub")["event_router"](model, "my-project")
    assert await shown(agent, model) == ["publish_message", "pull_messages"]


async def test_spanner_tools_are_listed() -> None:
    model = ScriptedModel("hello")
    names = await shown(snippet("spanner")["sql_assistant"](model), model)
    assert {"spanner_list_table_names", "spanner_execute_sql"} <= set(names)


async def test_the_other_toolsets_and_tools_can_be_made() -> None:
    snippet("apihub")["hub_tools"]()
    integration = snippet("integration")
    integration["order_tools"]()
    integration["crm_tools"]()
    search = snippet("search")
    assert search["by_gemini"].name == "vertex_ai_search"
    assert search["from_here"].name == "discovery_engine_search"
