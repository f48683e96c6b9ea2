"""A choice of models on the page: what is offered, what is chosen, and nothing made before that."""

import httpx2
import pytest
from tests.serve._serving import listening, new_session, say, serving, until

from toolwright import Agent, Runner, UsageError
from toolwright.serve import ModelChoice, ModelOffer, create_app
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio


async def last_words(http: httpx2.AsyncClient, message: str) -> str:
    session = await new_session(http)
    await say(http, session, message)
    async with listening(http, f"/api/sessions/{session}/stream") as frames:
        return (await until(frames, "run_ended"))[-1]["data"]["text"]


async def test_the_first_offer_answers_until_another_is_chosen() -> None:
    made: list[str] = []

    def paid() -> ScriptedModel:
        made.append("paid")
        return ScriptedModel("That was not free.")

    free = ModelOffer(title="free", make=lambda: ScriptedModel("Free."), notice="A recording.")
    models = ModelChoice(free, ModelOffer(title="paid", make=paid, notice="Costs money."))
    runner = Runner(Agent(name="a", model=models), app_name="test")
    with serving(create_app(runner, models=models)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            info = (await http.get("/api/info")).json()
            offered = [{"title": "free", "chosen": True}, {"title": "paid", "chosen": False}]
            assert (info["models"], info["notice"]) == (offered, "A recording.")
            assert await last_words(http, "hello") == "Free."
            assert made == []
            reply = await http.post("/api/model", json={"title": "best"})
            assert reply.status_code == 422
            assert "choose one of 'free', 'paid'" in reply.json()["detail"]
            assert (await http.post("/api/model", json={"title": "paid"})).status_code == 204
            assert (await http.get("/api/info")).json()["notice"] == "Costs money."
            assert await last_words(http, "hello") == "That was not free."
            assert made == ["paid"]


async def test_an_offer_that_cannot_be_made_leaves_the_choice_as_it_was() -> None:
    def broken() -> ScriptedModel:
        raise UsageError("The key is empty.")

    models = ModelChoice(
        ModelOffer(title="free", make=ScriptedModel), ModelOffer(title="broken", make=broken)
    )
    runner = Runner(Agent(name="a", model=models), app_name="test")
    with serving(create_app(runner, models=models)) as address:
        async with httpx2.AsyncClient(base_url=address, timeout=20) as http:
            reply = await http.post("/api/model", json={"title": "broken"})
            assert (reply.status_code, reply.json()["detail"]) == (422, "The key is empty.")
            chosen = [
                o["title"] for o in (await http.get("/api/info")).json()["models"] if o["chosen"]
            ]
            assert chosen == ["free"]


async def test_a_server_without_a_choice_says_so() -> None:
    runner = Runner(Agent(name="a", model=ScriptedModel()), app_name="test")
    with serving(create_app(runner)) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            assert (await http.get("/api/info")).json()["models"] == []
            assert (await http.post("/api/model", json={"title": "x"})).status_code == 422


def test_a_choice_of_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="at least one"):
        ModelChoice()
