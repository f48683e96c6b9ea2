"""A wrong argument is explained: the right name, or what another framework's name is called here."""

import inspect
from typing import Any

import pytest

import toolwright
from toolwright import (
    Agent,
    BaseAgent,
    BaseTool,
    BlobPart,
    FunctionTool,
    Hooks,
    Limits,
    LoopAgent,
    ModelSettings,
    Runner,
    SequentialAgent,
    ToolError,
    Toolset,
    UsageError,
    Workflow,
    careful,
    create_deep_agent,
    reviewed_by,
    rules,
    tool,
)
from toolwright._settings import _FOREIGN
from toolwright.errors import SettingError
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel

# The functions below are called wrongly on purpose, which a type checker would not allow.
make_agent: Any = Agent
make_runner: Any = Runner


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def refusal(make: Any, *args: Any, **settings: Any) -> str:
    with pytest.raises(TypeError) as caught:
        make(*args, **settings)
    assert isinstance(caught.value, UsageError)
    return str(caught.value)


@pytest.mark.row("000-93", "001-15", "004-F1")
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("instruction", "Here it is called 'instructions'."),
        ("system_prompt", "Here it is called 'instructions'."),
        ("subagents", "Here it is called 'sub_agents'."),
        ("handoffs", "Here it is called 'sub_agents'."),
        ("functions", "Here it is called 'tools'."),
        ("llm", "Here it is called 'model'."),
        ("output_type", "Here it is called 'output_schema'."),
        ("temperature", "Here it is written settings=ModelSettings(…)."),
        ("before_tool_callback", "Here it is written hooks=Hooks(before_tool=…)."),
        ("deps", "Here it is written run(prompt, deps=…)."),
        ("artifact_service", "It is a setting of the runner: Runner(agent, artifacts=…)."),
        ("checkpointer", "It is a setting of the runner: Runner(agent, store=…)."),
        ("memory", "It is a setting of the runner: Runner(agent, memory=…)."),
        ("llm_config", "Here it is called 'model'."),
        ("model_kwargs", "Here it is written settings=ModelSettings(…)."),
        ("run_config", "Here it is written limits=Limits(…)."),
        (
            "output_key",
            "Take result.output, or write it to the state in hooks=Hooks(after_agent=…).",
        ),
        (
            "tool_use_behavior",
            "Set tool_context.actions.skip_summarization in a tool whose result is the answer.",
        ),
        ("end_strategy", "A run ends with the first reply that has no calls."),
        ("instrucions", "Did you mean 'instructions'?"),
        ("tool", "Did you mean 'tools'?"),
    ],
)
def test_an_unknown_setting_of_an_agent_names_the_right_one(given: str, wanted: str) -> None:
    text = refusal(make_agent, name="a", **{given: "x"})
    assert text.startswith(f"Agent has no setting {given!r}. {wanted} It takes: name, model, ")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("require_approval", "Here it is called 'require_confirmation'."),
        ("args_schema", "The parameters are those of the function: annotate them"),
        (
            "return_direct",
            "Set tool_context.actions.skip_summarization in a tool whose result is the answer.",
        ),
        ("strict", "Arguments are always validated"),
    ],
)
def test_an_unknown_setting_of_a_tool_names_the_right_one(given: str, wanted: str) -> None:
    make: Any = tool
    text = refusal(make, **{given: True})
    assert text.startswith(f"tool has no setting {given!r}. {wanted}")
    assert ". It takes: " in text
    mine: Any = type("Mine", (BaseTool,), {})(name="mine")
    with pytest.raises(AttributeError, match=f"'{given}'.*would do nothing"):
        setattr(mine, given, True)


def test_a_setting_that_is_like_no_other_gets_the_list_alone() -> None:
    text = refusal(make_agent, name="a", zzz=1)
    assert text.startswith("Agent has no setting 'zzz'. It takes: name, model, instructions, ")


def test_each_foreign_name_leads_to_something_that_exists() -> None:
    runner, agent = inspect.signature(Runner).parameters, inspect.signature(Agent).parameters
    others = [
        inspect.signature(c) for c in (Orchestrator, Limits, Hooks, ModelSettings, Toolset, tool)
    ]
    elsewhere = {name for signature in others for name in signature.parameters}
    elsewhere |= inspect.signature(FunctionTool).parameters.keys()
    elsewhere |= inspect.signature(Runner.run).parameters.keys()
    pairs = [
        (given, meant)
        for given, found in _FOREIGN.items()
        for meant in ([found] if isinstance(found, str) else found)
    ]
    for given, meant in pairs:
        assert given not in agent
        setting, _, value = meant.partition("=")
        if setting.isidentifier():
            assert setting in {*agent, *runner, *elsewhere}, given
        for word in value.replace("[", " ").replace("(", " ").split():
            if word.isidentifier():
                assert hasattr(toolwright, word), given
    assert hasattr(Agent, "run")
    assert "deps" in inspect.signature(Agent.run).parameters


def test_the_error_names_the_class_that_was_called() -> None:
    class Helper(Agent):
        """One of the user's own."""

    make_helper: Any = Helper
    make_loop: Any = LoopAgent
    make_workflow: Any = Workflow
    make_orchestrator: Any = Orchestrator
    assert refusal(make_helper, name="a", zzz=1).startswith("Helper has no setting 'zzz'.")
    assert refusal(make_loop, name="a", sub_agent=[]).startswith(
        "LoopAgent has no setting 'sub_agent'. Did you mean 'sub_agents'?"
    )
    assert refusal(make_workflow, name="a", nodes={}, edge=[]).startswith(
        "Workflow has no setting 'edge'. Did you mean 'edges'?"
    )
    assert refusal(make_orchestrator, db_url="x").startswith(
        "Orchestrator has no setting 'db_url'. Here it is called 'url'."
    )
    assert refusal(make_runner, 1, session_service=1).startswith(
        "Runner has no setting 'session_service'. Here it is called 'store'."
    )
    assert refusal(make_runner, 1, max_turns=1).startswith(
        "Runner has no setting 'max_turns'. It is a setting of the agent: Agent(limits=Limits(turns=…))."
    )


def test_a_deep_agent_names_what_the_agent_in_it_does_not_take() -> None:
    make: Any = create_deep_agent
    assert "Here it is called 'instructions'" in refusal(make, system_prompt="x")
    assert refusal(make, "a", "test:x", [add]) == (
        "create_deep_agent takes its settings by name: create_deep_agent(tools=…); "
        f"got {[add]!r} without a name."
    )


def test_an_agent_is_shown_by_its_kind_and_name() -> None:
    flow = SequentialAgent(name="flow", sub_agents=[Agent(name="first")])
    assert f"{flow} {flow.sub_agents}" == "<SequentialAgent 'flow'> (<Agent 'first'>,)"


@pytest.mark.row("003-N2")
def test_settings_without_a_name_and_missing_ones_are_explained() -> None:
    assert refusal(make_agent, "weather") == (
        "Agent takes its settings by name: Agent(name=…); got 'weather' without a name."
    )
    assert refusal(make_agent, model="test:x") == "Agent needs 'name': Agent(name=…)."
    assert refusal(make_runner) == "Runner needs 'agent': Runner(agent=…)."
    assert refusal(Agent(name="a").replace, tool=[add]).startswith("Agent has no setting 'tool'.")


@pytest.mark.parametrize("one", [add, add.func, "add", {"add": add}])
def test_tools_that_are_no_list_are_explained(one: Any) -> None:
    with pytest.raises(UsageError, match=r"tools takes a list: tools=\[(add|…)\]; got"):
        Agent(name="a", tools=one)
    with pytest.raises(UsageError, match=r"sub_agents takes a list: sub_agents=\[b\]"):
        make_agent(name="a", sub_agents=Agent(name="b"))


def test_tools_may_come_from_a_generator() -> None:
    agent = make_agent(name="a", tools=(t for t in [add]))
    assert agent.tools == agent.replace().tools == (add,)
    assert [t.name for t in agent.shelf.tools] == ["add"]


def test_the_signature_stays_visible() -> None:
    assert list(inspect.signature(Agent).parameters)[:3] == ["name", "model", "instructions"]
    assert list(inspect.signature(Runner).parameters)[:2] == ["agent", "app_name"]
    assert "subagents" in inspect.signature(create_deep_agent).parameters


def test_a_setting_cannot_be_changed_and_the_error_says_how_to_make_another_agent() -> None:
    agent: Any = Agent(name="a", model=ScriptedModel("hi"))
    for name, value in {
        "tools": [add], "sub_agents": [], "model": "test:x", "instructions": "x",
        "limits": Limits(), "hooks": Hooks(), "interrupt_on": {}, "name": "b",
    }.items():  # fmt: skip
        with pytest.raises(AttributeError, match=rf"agent\.replace\({name}=…\)"):
            setattr(agent, name, value)
    assert agent.replace(tools=[add]).tools == (add,)


@pytest.mark.row("001-32")
def test_an_attribute_that_would_do_nothing_cannot_be_set() -> None:
    agent: Any = Agent(name="a")
    with pytest.raises(AttributeError, match=r"no attribute 'children'.*called 'sub_agents'"):
        agent.children = []
    with pytest.raises(AttributeError, match="no attribute 'my_tag'; setting it would do nothing"):
        agent.my_tag = 1
    steps: Any = SequentialAgent(name="s", sub_agents=[agent])
    with pytest.raises(
        AttributeError, match="'sub_agents' of SequentialAgent 's' cannot be changed"
    ):
        steps.sub_agents = []


def test_an_agent_of_the_users_own_may_have_attributes_of_its_own() -> None:
    class Counting(BaseAgent):
        """Counts how often it was asked."""

        def __init__(self, *, name: str, step: int) -> None:
            super().__init__(name=name)
            self.step = step
            self.asked = 0

    class Tagged(Agent):
        """An agent with a tag."""

    counting, tagged = Counting(name="c", step=1), Tagged(name="t")
    counting.asked += counting.step
    counting.step = 2
    tagged.tag = "x"  # type: ignore[missing-attribute]
    assert (counting.asked, counting.step) == (1, 2)


def test_errors_of_this_kind_are_of_the_library() -> None:
    from toolwright.errors import SettingError

    assert issubclass(SettingError, toolwright.ToolwrightError)
    assert not issubclass(SettingError, ToolError)


@pytest.mark.parametrize("method", ["run_sync", "stream"])
def test_a_run_names_what_it_takes(method: str) -> None:
    agent = Agent(name="a", model=ScriptedModel("hi"))
    with pytest.raises(UsageError, match=rf"Agent.{method} has no setting 'session'. .*Runner\("):
        getattr(agent, method)("x", session="s")
    with pytest.raises(UsageError, match=rf"Agent.{method} needs 'prompt'"):
        getattr(agent, method)()


def test_a_run_of_a_runner_names_what_it_takes() -> None:
    run: Any = Runner(Agent(name="a", model=ScriptedModel("hi"))).run_sync
    with pytest.raises(
        UsageError, match=r"Runner.run_sync has no setting 'session'. .*'session_id'"
    ):
        run("x", session="s")
    assert run(prompt="x", session_id="s").text == "hi"


@pytest.mark.anyio
async def test_what_is_awaited_names_what_it_takes_and_is_async_still() -> None:
    agent: Any = Agent(name="a", model=ScriptedModel("hi"))
    runner: Any = Runner(agent)
    for run, told in {
        agent.run: r"Agent.run has no setting 'session'. .*Runner\(",
        runner.run: "Runner.run has no setting 'session'. Here it is called 'session_id'",
        agent.resume: "Agent.resume has no setting 'session'",
        runner.resume: "Runner.resume has no setting 'session'",
    }.items():
        assert inspect.iscoroutinefunction(run)
        with pytest.raises(UsageError, match=told):
            await run("x", session="s")
    assert (await runner.run("x", session_id="s")).text == "hi"


@pytest.mark.parametrize("state", [5, 0, ["a"], "abc"])
def test_state_that_has_no_keys_is_told(state: Any) -> None:
    agent = Agent(name="a", model=ScriptedModel("hi", "hi"))
    for run in (agent.run_sync, Runner(agent).run_sync):
        with pytest.raises(UsageError, match=r"State is given by key, such as \{'count': 1\}; got"):
            run("x", state=state)


def test_a_part_names_what_it_takes() -> None:
    make: Any = BlobPart
    with pytest.raises(SettingError, match=r"'mime_type'. Did you mean 'media_type'\?"):
        make(mime_type="image/png", data=b"")
    with pytest.raises(SettingError, match=r"by name: BlobPart\(media_type=…\)") as caught:
        make(b"x" * 1_000_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("make", [careful, rules, reviewed_by], ids=lambda make: make.__name__)
def test_what_makes_a_policy_is_none(make: Any) -> None:
    with pytest.raises(UsageError, match=rf"write policy={make.__name__}\(…\)"):
        Agent(name="a", policy=make)
