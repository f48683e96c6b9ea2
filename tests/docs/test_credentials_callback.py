"""The callback that the page on credentials shows refuses what a callback has to refuse."""

import runpy
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests._oauth import Provider, started_provider

from toolwright import Agent, AuthCredential, AuthenticatedFunctionTool, Runner
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
_SNIPPET = Path(__file__).parents[2] / "docs" / "snippets" / "credentials" / "callback.py"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with started_provider() as provider:
        yield provider


def calendar(credential: AuthCredential) -> str:
    """Read the calendar."""
    return "read"


class Site:
    """The snippet's application below a prefix, and the browsers of several people."""

    def __init__(self, runner: Runner, provider: Provider, scheme: str) -> None:
        create_app = runpy.run_path(str(_SNIPPET))["create_app"]
        app = create_app(runner, lambda request: request.headers.get("x-user"))
        self.app = Starlette(routes=[Mount("/desk", app)])
        self.runner, self.provider, self.scheme = runner, provider, scheme

    def browser(self, user: str | None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.app),
            base_url=f"{self.scheme}://127.0.0.1/desk",
            headers={"x-user": user} if user else {},
        )

    async def begun(self, browser: httpx2.AsyncClient) -> str:
        """Press 'Sign in' and sign in at the provider; the path that it sends the browser to."""
        reply = await browser.get("/sign-in")
        assert reply.status_code == 303
        came_back_to = self.provider.sign_in(reply.headers["location"])
        return f"/sign-in/callback?{urlsplit(came_back_to).query}"

    async def waits(self, user: str) -> bool:
        return bool(await self.runner.pending(f"chat-{user}"))


@asynccontextmanager
async def site(provider: Provider, scheme: str = "http") -> AsyncIterator[Site]:
    tool = AuthenticatedFunctionTool(func=calendar, auth_config=provider.oidc())
    model = ScriptedModel(*[call("calendar")] * 2, *["Done."] * 2)
    agent = Agent(name="aide", model=model, tools=[tool])
    async with Runner(agent, credentials="memory://") as runner:
        for user in ("ada", "eve"):
            await runner.run("go", user_id=user, session_id=f"chat-{user}")
        yield Site(runner, provider, scheme)
    provider.admin(forget=True)


async def test_who_began_a_sign_in_finishes_it_once(provider: Provider) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada:
        back = await desk.begun(ada)
        reply = await ada.get(f"{back}&next=https://evil.example")
        assert (reply.status_code, reply.headers["location"]) == (303, "/desk/")
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert not await desk.waits("ada")
        assert (await ada.get(back)).status_code == 403
        assert provider.admin()["grants"] == ["authorization_code"]
        assert (await ada.get("/sign-in")).status_code == 404


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_cookie_is_out_of_reach_for_scripts_and_other_paths(
    provider: Provider, scheme: str
) -> None:
    async with site(provider, scheme) as desk, desk.browser("ada") as ada:
        cookie = (await ada.get("/sign-in")).headers["set-cookie"]
    for attribute in ("HttpOnly", "SameSite=lax", "Path=/desk/sign-in", "Max-Age=3600"):
        assert attribute in cookie
    assert ("Secure" in cookie) == (scheme == "https")


async def test_another_browser_is_refused_and_told_what_to_do(provider: Provider) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada, desk.browser("eve") as eve:
        back, hers = await desk.begun(ada), await desk.begun(eve)
        async with desk.browser("ada") as other, desk.browser(None) as nobody:
            for browser, address in ((other, back), (nobody, back), (eve, back), (ada, hers)):
                reply = await browser.get(address)
                assert reply.status_code == 403
                assert "press 'Sign in' there" in reply.text
            # Not even with Eve's cookies, planted in a browser where Ada is logged in.
            other.cookies.update(eve.cookies)
            assert (await other.get(hers)).status_code == 403
        assert provider.admin()["grants"] == []
        assert await desk.waits("ada")
        assert (await ada.get(back)).status_code == 303


async def test_looking_at_the_link_does_not_use_it_up(provider: Provider) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada:
        back = await desk.begun(ada)
        assert (await ada.head(back)).status_code == 503
        prefetch = {"sec-purpose": "prefetch;prerender"}
        assert (await ada.get(back, headers=prefetch)).status_code == 503
        assert await desk.waits("ada")
        assert (await ada.get(back)).status_code == 303
        assert not await desk.waits("ada")


async def test_two_tabs_can_be_finished_in_any_order(provider: Provider) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada:
        first, _second = await desk.begun(ada), await desk.begun(ada)
        assert (await ada.get(first)).status_code == 303
        assert not await desk.waits("ada")


@pytest.mark.parametrize("kind", ["no state", "two states", "all in the fragment"])
async def test_a_callback_without_one_state_is_refused(provider: Provider, kind: str) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada:
        back = await desk.begun(ada)
        odd = {
            "no state": "/sign-in/callback?code=c",
            "two states": f"{back}&state=x",
            "all in the fragment": back.replace("?", "#"),
        }
        assert (await ada.get(odd[kind])).status_code == 403
        assert await desk.waits("ada")


async def test_an_answer_of_another_provider_redeems_nothing_and_asks_again(
    provider: Provider,
) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada:
        back = await desk.begun(ada)
        await ada.get(f"{back}&iss=https://evil.example")
        assert provider.admin()["grants"] == []
        [asked] = await desk.runner.pending("chat-ada")
        assert "came from 'https://evil.example'" in asked.hint


async def test_a_person_who_declines_is_not_asked_again(provider: Provider) -> None:
    async with site(provider) as desk, desk.browser("ada") as ada:
        state = (await desk.begun(ada)).partition("state=")[2].partition("&")[0]
        no_code = await ada.get(f"/sign-in/callback?state={state}")
        assert no_code.status_code == 400
        assert await desk.waits("ada")
        declined = f"/sign-in/callback?error=access_denied&state={state}"
        assert (await ada.get(declined)).status_code == 303
        assert not await desk.waits("ada")
