"""Tools that a model's provider calls: offered only where every rule on the path allows them."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from toolwright import Agent, AgentTool, Hooks, Rule, Runner, Tool, ToolContext, UsageError, rules
from toolwright.messages import ServerTool
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision, with_approval, with_confirmation

pytestmark = pytest.mark.anyio
SEARCH = ServerTool(name="web_search")


async def reviewed(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    async def review() -> Decision:
        return Decision(verdict="allow")

    return Decision(verdict="allow", review=review)


def needs_arguments(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    return Decision(verdict="deny" if args["query"] == "secret" else "allow")


async def offered(**settings: Any) -> list[str]:
    model = ScriptedModel("done")
    await Agent(name="a", model=model, tools=[SEARCH], **settings).run("go")
    return [tool.name for tool in model.requests[-1].server_tools]


ALLOWED: dict[str, dict[str, Any]] = {
    "no rule": {},
    "allowed by name": {"policy": rules(Rule.allow("web_search"), otherwise="deny")},
    "rules about others": {
        "policy": rules(Rule.deny("web_fetch", optional=True), otherwise="allow")
    },
}
LEFT_OUT: dict[str, dict[str, Any]] = {
    "denied by name": {"policy": rules(Rule.deny("web_search"), otherwise="allow")},
    "denied otherwise": {"policy": rules(otherwise="deny")},
    "asked otherwise": {"policy": rules()},
    "asked by name": {"interrupt_on": {"web_search": True}},
    "asked by its arguments": {"interrupt_on": {"web_search": lambda query: query == "secret"}},
    "allowed by its arguments": {
        "policy": rules(Rule.allow("web_search", when="query == 'ok'"), otherwise="deny")
    },
    "reviewed": {"policy": reviewed},
    "a function that needs arguments": {"policy": needs_arguments},
}


@pytest.mark.parametrize("how", ALLOWED)
async def test_what_all_rules_allow_is_offered(how: str) -> None:
    assert await offered(**ALLOWED[how]) == ["web_search"]


@pytest.mark.parametrize("how", LEFT_OUT)
async def test_what_a_rule_denies_or_asks_about_is_not_offered_and_the_log_says_why(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "toolwright"):
        assert await offered(**LEFT_OUT[how]) == []
    [said] = [r.getMessage() for r in caplog.records if "is not offered to agent 'a'" in r.message]
    assert "Rule.allow('web_search')" in said


async def test_the_rules_of_everybody_around_count() -> None:
    model = ScriptedModel("done")
    helper = Agent(name="h", description="Looks.", model=model, tools=[SEARCH])
    outer = ScriptedModel(call("h", request="go"), "done")
    policy = rules(Rule.deny("web_search"), otherwise="allow")
    await Runner(Agent(name="a", model=outer, tools=[AgentTool(helper)], policy=policy)).run("go")
    assert model.requests[-1].server_tools == ()


async def test_one_that_a_hook_adds_to_the_request_is_judged_as_well() -> None:
    model = ScriptedModel("done")
    hooks = Hooks(before_model=lambda _, request: replace(request, server_tools=(SEARCH,)))
    await Agent(name="a", model=model, hooks=hooks, policy=rules(otherwise="deny")).run("go")
    assert model.requests[-1].server_tools == ()


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no tool 'web_serch'.*near names: web_search"):
        Agent(name="a", tools=[SEARCH], policy=rules(Rule.deny("web_serch"), otherwise="allow"))


@pytest.mark.parametrize("wrap", [with_confirmation, with_approval])
def test_a_confirmation_around_a_tool_of_the_provider_is_refused_in_words(wrap: Any) -> None:
    with pytest.raises(
        UsageError, match=r"'web_search', which the model's provider runs.*Rule.deny"
    ):
        wrap(SEARCH, True)
    with pytest.raises(UsageError, match="takes a tool, such as"):
        wrap(print, True)


@pytest.mark.parametrize(
    ("policy", "verdict", "reason"),
    [
        (rules(Rule.allow("web_search")), "allow", ""),
        (rules(Rule.deny("web_search", reason="no"), otherwise="allow"), "deny", "no"),
        (rules(Rule.ask("web_search"), otherwise="allow"), "deny", "is not offered"),
        (reviewed, "deny", "is not offered"),
    ],
    ids=["allow", "deny", "ask", "review"],
)
async def test_a_tool_of_the_provider_is_explained(policy: Any, verdict: str, reason: str) -> None:
    tools = [SEARCH]
    agent = Agent(name="a", model=ScriptedModel(), tools=tools, policy=policy)
    found = await Runner(agent).explain("web_search", {})
    assert (found.tool, found.verdict) == ("web_search", verdict)
    assert found.decided is not None
    assert reason in found.decided.reason
    assert "the policy of agent 'a'" in found.decided.rule
