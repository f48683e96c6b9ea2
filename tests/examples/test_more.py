"""The examples of deep agents, credentials, toolsets, memory and skills do what they say."""

import pytest
from tests.docs._snippets import results_of

from examples import (
    assistant,
    deep_agent,
    internal_api,
    list_files,
    localised,
    math_and_search,
    python_helper,
    return_values,
    role_based,
    sandbox_agent,
    weather_tool,
)
from toolwright.testing import ScriptedModel


def test_the_deep_agent_finds_fixes_and_runs() -> None:
    result = deep_agent.main()
    found = {answer.name: answer.text for answer in results_of(result)}
    assert "Hello, world!" in found["execute"]
    assert found["task"] == "The change is fine."
    assert result.state["todos"] == [{"content": "Fix the greeting", "status": "completed"}]


def test_code_and_commands_share_a_sandboxed_folder() -> None:
    python, bash = results_of(sandbox_agent.main())
    assert "4" in python.text
    assert "4" in bash.text


@pytest.mark.row("002-58", "002-59", "002-60", "002-62", "002-63")
def test_a_wrong_unit_is_refused_before_the_weather_tool_runs() -> None:
    ghent, oslo, wrong, unknown = results_of(weather_tool.main())
    assert ghent.text == "Weather in Ghent: 25 °C"
    assert oslo.text == "Weather in Oslo: 44 °F"
    assert wrong.status == "error"
    assert "'units'" in wrong.text
    assert unknown.text.startswith("No station in 'Atlantis'")


@pytest.mark.row("003-N6a")
def test_the_interface_gets_the_data_and_the_model_the_text() -> None:
    _, user, weather, unknown = results_of(return_values.main())
    assert user.text == "User: Ada (ada@example.org)"
    assert user.data["visits"] == [3, 5, 8]
    assert weather.name == "weather_lookup"
    assert unknown.status == "error"


def test_the_second_sum_waits_for_a_person_and_the_search_is_the_providers() -> None:
    result = math_and_search.main()
    assert [answer.text for answer in results_of(result)] == ["5", "9"]
    model = ScriptedModel("Hello.")
    math_and_search.build(model).run_sync("Hello")
    assert [tool.name for tool in model.requests[0].server_tools] == ["google_search"]


@pytest.mark.row("004-F2")
def test_the_listed_folder_is_remembered() -> None:
    result = list_files.main()
    assert '"count":2' in results_of(result)[0].text
    assert "last_listed" in result.state


def test_two_tools_share_a_token_that_nobody_sees() -> None:
    result = internal_api.main()
    assert [answer.status for answer in results_of(result)] == ["ok", "ok"]
    assert internal_api.TOKEN not in repr(result)


def test_the_second_conversation_knows_what_the_first_one_told() -> None:
    first, second = assistant.main()
    assert [answer.status for answer in results_of(first)] == ["ok", "ok"]
    assert all("metric units" in answer.text for answer in results_of(second))


@pytest.mark.row("004-H3")
def test_each_role_is_offered_its_own_tools() -> None:
    assert role_based.main() == {
        "guest": ["read_data"],
        "editor": ["read_data", "write_data"],
        "admin": ["read_data", "write_data", "delete_data"],
    }


@pytest.mark.parametrize(("role", "status"), [("guest", "error"), ("admin", "ok")])
def test_a_tool_that_was_not_offered_does_not_run(role: str, status: str) -> None:
    result, _ = role_based.ask(role)
    assert [answer.status for answer in results_of(result)] == [status]


def test_instructions_follow_the_users_language() -> None:
    dutch, other = localised.main()
    assert "'nl'" in dutch
    assert "'en'" in other


def test_a_skill_is_the_same_in_memory_and_in_a_folder() -> None:
    made, kept = python_helper.main()
    assert "Helps to write and explain" in results_of(made)[0].text
    assert "Give a short example that runs." in results_of(made)[1].text
    assert "Short functions." in results_of(kept)[1].text
