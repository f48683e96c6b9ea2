"""A yes to a skill is a yes to its files as they were: no rule, helper or reload leads around it."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from tests.pending._outside import answered

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Rule,
    Runner,
    SkillRegistry,
    SkillToolset,
    rules,
    tool,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import RESERVED, Toolset, guarded

pytestmark = pytest.mark.anyio

LOAD = call("load_skill", skill_name="tidy")
READ = call("load_skill_resource", skill_name="tidy", file_path="guide.md")
ASK = rules(Rule.ask("load_*", reason="Skills are asked about."), otherwise="allow")


def write(root: Path, guide: str, allowed: str = "", name: str = "tidy") -> None:
    folder = root / name
    folder.mkdir(exist_ok=True)
    front = f"name: {name}\ndescription: Tidies.\n{allowed}"
    (folder / "SKILL.md").write_text(f"---\n{front}---\nTidy up.")
    (folder / "guide.md").write_text(guide)


Asking = Callable[[Toolset, ScriptedModel], Runner]
ASKING: dict[str, Asking] = {
    "the agent's policy": lambda skills, model: Runner(
        Agent(name="a", model=model, tools=[skills], policy=ASK)
    ),
    "the runner's policy": lambda skills, model: Runner(
        Agent(name="a", model=model, tools=[skills]), policy=ASK
    ),
    "interrupt_on": lambda skills, model: Runner(
        Agent(
            name="a",
            model=model,
            tools=[skills],
            interrupt_on={"load_skill": True, "load_skill_resource": True},
        )
    ),
    "a policy around the tools": lambda skills, model: Runner(
        Agent(name="a", model=model, tools=[guarded(skills, ASK)])
    ),
}
every_way = pytest.mark.parametrize("way", ASKING)


@every_way
async def test_whoever_else_asks_a_changed_skill_is_told_on_the_card(
    way: str, tmp_path: Path
) -> None:
    write(tmp_path, "one")
    skills = SkillToolset(registry=SkillRegistry(tmp_path))
    runner = ASKING[way](skills, ScriptedModel(".", READ, "."))
    await runner.run("go", session_id="s")
    write(tmp_path, "two")
    [pending] = (await runner.run("go", session_id="s")).pending
    assert "not as it was when this session first saw it" in pending.hint
    assert ("Skills are asked about." in pending.hint) is (way != "interrupt_on")
    assert "the session's pinned skills" in pending.rule
    assert ";" in pending.rule, "beside the rule that asks"


@every_way
@pytest.mark.parametrize("remember", ["arguments", "session", "user"])
async def test_a_remembered_yes_is_for_the_skill_as_it_was(
    way: str, remember: Literal["arguments", "session", "user"], tmp_path: Path
) -> None:
    write(tmp_path, "one")
    skills = SkillToolset(registry=SkillRegistry(tmp_path))
    runner = ASKING[way](skills, ScriptedModel(READ, ".", READ, ".", READ, ".", READ))
    asked = await runner.run("go", session_id="s")
    assert (await answered(runner, asked, Approve(remember=remember))).status == "done"
    assert (await runner.run("go", session_id="s")).status == "done", "it is remembered"
    write(tmp_path, "two")
    asked = await runner.run("go", session_id="s")
    assert "changed: guide.md" in asked.pending[0].hint
    assert (await answered(runner, asked)).status == "done"
    other = await runner.run("go", session_id="another")
    assert other.status == "paused", (
        "that yes was for no other session, and the first for other files"
    )


@every_way
@pytest.mark.parametrize("is_new", [True, False])
async def test_a_skill_that_changes_between_question_and_yes_is_asked_about_again(
    way: str, is_new: bool, tmp_path: Path
) -> None:
    write(tmp_path, "one", name="other" if is_new else "tidy")
    skills = SkillToolset(registry=SkillRegistry(tmp_path))
    model = ScriptedModel(".", READ, ".")
    runner = ASKING[way](skills, model)
    await runner.run("go", session_id="s")
    write(tmp_path, "one")
    asked = await runner.run("go", session_id="s")
    write(tmp_path, "two")
    again = await answered(runner, asked)
    assert again.status == "paused"
    assert (await answered(runner, again)).status == "done"
    assert "two" in str(model.requests[-1].history[-1])


async def test_a_helper_that_lists_later_asks_about_what_its_caller_saw_otherwise(
    tmp_path: Path,
) -> None:
    write(tmp_path, "one")
    skills = SkillToolset(registry=SkillRegistry(tmp_path))
    helper = Agent(name="helper", description="h", model=ScriptedModel(READ, "."), tools=[skills])
    model = ScriptedModel(".", call("helper", request="go"), ".")
    runner = Runner(Agent(name="a", model=model, tools=[skills, AgentTool(helper)]))
    await runner.run("go", session_id="s")
    write(tmp_path, "two")
    asked = await runner.run("go", session_id="s")
    assert "not as it was when this session first saw it" in asked.pending[0].hint
    assert (await answered(runner, asked)).status == "done"


async def test_a_helper_notes_the_skills_that_only_it_has_when_it_is_first_listed(
    tmp_path: Path,
) -> None:
    (mine := tmp_path / "mine").mkdir()
    (its := tmp_path / "its").mkdir()
    write(mine, "one", name="other")
    write(its, "one")
    helper = Agent(
        name="helper",
        description="h",
        model=ScriptedModel(".", READ, "."),
        tools=[SkillToolset(registry=SkillRegistry(its))],
    )
    ask = call("helper", request="go")
    runner = Runner(
        Agent(
            name="a",
            model=ScriptedModel(ask, ".", ask, "."),
            tools=[SkillToolset(registry=SkillRegistry(mine)), AgentTool(helper)],
        )
    )
    assert (await runner.run("go", session_id="s")).status == "done"
    write(its, "two")
    assert (await runner.run("go", session_id="s")).status == "paused"


@tool
def look() -> str:
    """Look."""
    return "seen"


@tool
def wipe() -> str:
    """Wipe."""
    return "wiped"


def _offered(model: ScriptedModel) -> set[str]:
    return {"look", "wipe"} & {spec.name for spec in model.requests[-1].tools}


@pytest.mark.parametrize(
    ("before", "after", "then", "loaded_again"),
    [
        ("allowed-tools: look\n", "allowed-tools: look wipe\n", {"look"}, {"look", "wipe"}),
        ("allowed-tools: look\n", "", {"look"}, {"look", "wipe"}),
        ("", "allowed-tools: wipe\n", {"wipe"}, {"wipe"}),
        ("allowed-tools: look\n", "allowed-tools: wipe\n", set(), {"wipe"}),
    ],
)
async def test_a_loaded_skill_unlocks_no_more_until_it_is_loaded_again_which_asks(
    before: str, after: str, then: set[str], loaded_again: set[str], tmp_path: Path
) -> None:
    write(tmp_path, "one", before)
    skills = SkillToolset(registry=SkillRegistry(tmp_path), additional_tools=[look, wipe])
    model = ScriptedModel(LOAD, ".", LOAD, ".")
    runner = Runner(Agent(name="a", model=model, tools=[skills]))
    await runner.run("go", session_id="s")
    write(tmp_path, "one", after)
    asked = await runner.run("go", session_id="s")
    assert _offered(model) == then
    assert "changed: SKILL.md" in asked.pending[0].hint
    assert (await answered(runner, asked)).status == "done"
    assert _offered(model) == loaded_again


async def test_no_state_that_a_tool_can_write_unlocks_anything(tmp_path: Path) -> None:
    write(tmp_path, "one")
    skills = SkillToolset(registry=SkillRegistry(tmp_path), additional_tools=[look])
    model = ScriptedModel(LOAD, ".")
    result = await Runner(Agent(name="a", model=model, tools=[skills])).run("go", session_id="s")
    assert _offered(model) == {"look"}
    assert result.state
    assert all(key.startswith(RESERVED) for key in result.state)
