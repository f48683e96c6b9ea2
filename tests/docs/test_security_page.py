"""What the page on security says of the defaults, holds."""

import pytest
from tests.docs._snippets import results_of

from toolwright import Agent, Rule, ToolContext, ToolError, rules, tool
from toolwright.backends import Reachable
from toolwright.serve import ServeSettings
from toolwright.testing import ScriptedModel, call


@tool
def whoami(tool_context: ToolContext) -> str:
    """Say whose session this is."""
    return tool_context.user_id


def test_a_model_cannot_set_an_injected_parameter() -> None:
    model = ScriptedModel(call("whoami", tool_context={"user_id": "root"}), "?")
    [answer] = results_of(Agent(name="a", model=model, tools=[whoami]).run_sync("Who am I?"))
    assert answer.status == "error"


def test_a_disabled_tool_never_runs() -> None:
    hidden = whoami.replace(is_enabled=lambda ctx: False)
    model = ScriptedModel(call("whoami"), "?")
    [answer] = results_of(Agent(name="a", model=model, tools=[hidden]).run_sync("Who am I?"))
    assert answer.status == "error"


def test_a_rule_that_denies_comes_before_any_person() -> None:
    model = ScriptedModel(call("whoami"), "Denied.")
    policy = rules(Rule.deny("whoami", reason="no"), Rule.ask("*"))
    result = Agent(name="a", model=model, tools=[whoami], policy=policy).run_sync("Who am I?")
    assert [r.status for r in results_of(result)] == ["denied"]


def test_the_server_is_reachable_from_this_machine_only() -> None:
    assert ServeSettings().host == "127.0.0.1"


@pytest.mark.anyio
@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1"])
async def test_private_addresses_are_refused(address: str) -> None:
    with pytest.raises(ToolError, match="not a public address"):
        await Reachable().addresses(address, 80)
