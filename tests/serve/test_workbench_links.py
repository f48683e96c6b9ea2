"""An approve link in a real browser: the page says what it does, one button does it."""

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.serve._serving import serving

from toolwright import Agent, Runner, ToolContext, deferred_tool
from toolwright.serve import Links, ServeSettings, create_app
from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]


def test_a_person_opens_the_link_and_presses_the_button(page: Page) -> None:
    links = Links("a secret of some length", "http://bank.example")
    mailed: list[str] = []

    @deferred_tool(timeout=3600)
    async def transfer(tool_context: ToolContext) -> None:
        """Move money, once somebody has agreed."""
        mailed.append(links.answer(tool_context, {"status": "approved"}, label="Approve it"))

    model = ScriptedModel(call("transfer"), "Done.")
    runner = Runner(Agent(name="bank", model=model, tools=[transfer]))
    settings = ServeSettings(token="a-token-the-person-does-not-have")
    headers = {"Authorization": f"Bearer {settings.token}"}
    with serving(create_app(runner, settings=settings, links=links)) as address:
        session = httpx2.post(f"{address}/api/sessions", json={}, headers=headers).json()["id"]
        path = f"{address}/api/sessions/{session}"
        httpx2.post(f"{path}/runs", json={"message": "Pay"}, headers=headers)
        page.goto(mailed[0].replace("http://bank.example", address))
        expect(page.get_by_role("heading", name="Approve it")).to_be_visible()
        page.get_by_role("button", name="Approve it").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        page.reload()
        expect(page.get_by_text("Thank you")).to_have_count(0)
