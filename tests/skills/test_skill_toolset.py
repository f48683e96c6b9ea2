"""A model finds, reads and uses skills through tools."""

from pathlib import Path
from typing import Any

import pytest
from tests.skills._make import make_skill

from toolwright.agent import Agent, Runner
from toolwright.backends import LocalExecutor
from toolwright.builtin import Skill, SkillRegistry, SkillToolset
from toolwright.errors import UsageError
from toolwright.messages import BlobPart, ToolMessage, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import tool

pytestmark = pytest.mark.anyio


@tool
def stamp(text: str) -> str:
    """Put a stamp on it."""
    return f"*{text}*"


@tool
def weigh(text: str) -> str:
    """Weigh it."""
    return str(len(text))


def _skill(tmp_path: Path, **files: str) -> Skill:
    return Skill.from_directory(make_skill(tmp_path, **files))


async def _results(toolset: SkillToolset, *turns: Any) -> tuple[ScriptedModel, list[ToolResult]]:
    """The model's requests, and the results of all calls of its turns."""
    model = ScriptedModel(*turns, "done")
    agent = Agent(name="clerk", model=model, tools=[toolset])
    result = await agent.run("go")
    messages = [message for message in result.history if isinstance(message, ToolMessage)]
    return model, [found for message in messages for found in message.results]


def _names(request: Any) -> list[str]:
    return [spec.name for spec in request.tools]


async def test_tools_are_there_where_they_are_of_use(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills")
    plain = SkillToolset([_skill(tmp_path)])
    assert [t.name for t in await plain.list_tools()] == [
        "list_skills",
        "load_skill",
        "load_skill_resource",
    ]
    full = SkillToolset(
        registry=SkillRegistry(tmp_path / "skills"), code_executor=LocalExecutor(tmp_path)
    )
    names = [t.name for t in await full.list_tools()]
    assert names[3:] == ["search_skills", "run_skill_script"]


@pytest.mark.row("004-S1")
async def test_skills_are_listed_found_and_loaded(tmp_path: Path) -> None:
    make_skill(tmp_path, references__fields_DOT_md="# Fields")
    toolset = SkillToolset(registry=SkillRegistry(tmp_path))
    _, results = await _results(
        toolset,
        call("list_skills"),
        call("search_skills", query="filling a form"),
        call("search_skills", query="astronomy"),
        call("load_skill", skill_name="pdf-forms"),
        call("load_skill_resource", skill_name="pdf-forms", file_path="references/fields.md"),
    )
    listed, found, nothing, loaded, resource = [result.text for result in results]
    assert listed == found
    assert listed == ("- pdf-forms: Fills in PDF forms. Use it when a form has to be filled in.")
    assert "No skill fits 'astronomy'" in nothing
    assert loaded.startswith("# PDF forms")
    assert "Files of this skill: references/fields.md" in loaded
    assert "# Fields" in resource


async def test_mistakes_are_told_with_what_there_is(tmp_path: Path) -> None:
    toolset = SkillToolset([_skill(tmp_path, references__fields_DOT_md="x")])
    _, results = await _results(
        toolset,
        call("load_skill", skill_name="pdf-form"),
        call("load_skill_resource", skill_name="pdf-forms", file_path="../secret"),
        call("load_skill_resource", skill_name="pdf-forms", file_path="fields.md"),
    )
    assert [result.status for result in results] == ["error"] * 3
    assert "no skill 'pdf-form'. Skills: pdf-forms" in results[0].text
    assert "not a path inside a skill" in results[1].text
    assert "Its files: references/fields.md" in results[2].text


async def test_images_among_the_resources_are_shown_as_images(tmp_path: Path) -> None:
    folder = make_skill(tmp_path)
    (folder / "assets").mkdir()
    (folder / "assets" / "logo.png").write_bytes(b"\x89PNG")
    toolset = SkillToolset([Skill.from_directory(folder)])
    _, [result] = await _results(
        toolset, call("load_skill_resource", skill_name="pdf-forms", file_path="assets/logo.png")
    )
    assert result.content[1] == BlobPart(
        media_type="image/png", data=b"\x89PNG", name="assets/logo.png"
    )


@pytest.mark.row("004-S3")
async def test_loading_a_skill_unlocks_the_tools_it_names(tmp_path: Path) -> None:
    toolset = SkillToolset([_skill(tmp_path)], additional_tools=[stamp, weigh])
    model, results = await _results(
        toolset,
        call("stamp", text="too early"),
        call("load_skill", skill_name="pdf-forms"),
        call("stamp", text="now"),
    )
    assert results[0].status == "error"
    assert "Tools you can call from your next turn on: stamp" in results[1].text
    assert results[2].text == "*now*"
    assert "stamp" not in _names(model.requests[1])
    assert "stamp" in _names(model.requests[2])
    assert "weigh" not in _names(model.requests[2])


async def test_a_skill_that_names_no_tools_unlocks_all(tmp_path: Path) -> None:
    text = "---\nname: {name}\ndescription: x\n---\nDo it."
    skill = Skill.from_directory(make_skill(tmp_path, text=text))
    toolset = SkillToolset([skill], additional_tools=[stamp, weigh])
    model, _ = await _results(toolset, call("load_skill", skill_name="pdf-forms"))
    assert _names(model.requests[-1])[-2:] == ["stamp", "weigh"]


async def test_what_is_unlocked_stays_unlocked_in_the_session(tmp_path: Path) -> None:
    toolset = SkillToolset([_skill(tmp_path)], additional_tools=[stamp])
    model = ScriptedModel(call("load_skill", skill_name="pdf-forms"), "ok", "ok", "ok")
    runner = Runner(
        Agent(name="clerk", model=model, tools=[toolset]), store=f"sqlite:///{tmp_path}/s.db"
    )
    await runner.run("go", session_id="s1")
    await runner.run("again", session_id="s1")
    assert "stamp" in _names(model.requests[-1])
    await runner.run("new", session_id="s2")
    assert "stamp" not in _names(model.requests[-1])
    await runner.close()


@pytest.mark.row("004-S2")
async def test_scripts_run_in_the_workspace_with_their_files_beside_them(tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib\n"
        "here = pathlib.Path(__file__).parent.parent\n"
        "print(sys.argv[1:], (here / 'assets/x.txt').read_text(), os.environ['SKILL_DIR'] == str(here))\n"
        "print(pathlib.Path('task.txt').read_text())\n"
    )
    skill = _skill(tmp_path, scripts__go_DOT_py=script, assets__x_DOT_txt="asset")
    work = tmp_path / "work"
    work.mkdir()
    (work / "task.txt").write_text("task")
    toolset = SkillToolset([skill], code_executor=LocalExecutor(work))
    arguments = {
        "skill_name": "pdf-forms",
        "script_path": "./scripts/go.py",
        "args": ["a b", "$HOME"],
    }
    _, [result] = await _results(toolset, call("run_skill_script", **arguments))
    assert result.status == "ok"
    assert "['a b', '$HOME'] asset True\\ntask\\n" in result.text
    assert '"exit_code":0' in result.text
    assert result.failed is None


async def test_a_script_that_fails_or_takes_too_long_is_told(tmp_path: Path) -> None:
    skill = _skill(
        tmp_path, scripts__bad_DOT_sh="echo oops >&2; exit 3", scripts__slow_DOT_sh="sleep 60"
    )
    toolset = SkillToolset([skill], code_executor=LocalExecutor(tmp_path), script_timeout=0.3)
    _, results = await _results(
        toolset,
        call("run_skill_script", skill_name="pdf-forms", script_path="scripts/bad.sh"),
        call("run_skill_script", skill_name="pdf-forms", script_path="scripts/slow.sh"),
    )
    assert '"exit_code":3' in results[0].text
    assert "oops" in results[0].text
    assert "killed: timeout (limit 0.3 s)" in results[1].text
    assert [(result.status, result.failed) for result in results] == [("error", True)] * 2


@pytest.mark.parametrize(
    "path", ["scripts/none.py", "../evil.sh", "references/x.sh", "scripts/x.exe"]
)
async def test_only_scripts_of_the_skill_run(path: str, tmp_path: Path) -> None:
    (tmp_path / "evil.sh").write_text("touch ran")
    skill = _skill(tmp_path, references__x_DOT_sh="touch ran", scripts__x_DOT_exe="touch ran")
    toolset = SkillToolset([skill], code_executor=LocalExecutor(tmp_path))
    _, [result] = await _results(
        toolset, call("run_skill_script", skill_name="pdf-forms", script_path=path)
    )
    assert result.status == "error"
    assert "scripts" in result.text


def test_what_is_no_skill_or_there_twice_is_refused(tmp_path: Path) -> None:
    skill = _skill(tmp_path)
    with pytest.raises(UsageError, match="two skills named 'pdf-forms'"):
        SkillToolset([skill, skill])
    with pytest.raises(UsageError, match="takes SkillRegistry or None as 'registry'"):
        SkillToolset(registry=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="takes Executor or None as 'code_executor'; got 'local'"):
        SkillToolset(code_executor="local")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="above 0; got 0"):
        SkillToolset(code_executor=LocalExecutor(tmp_path), script_timeout=0)
    with pytest.raises(UsageError, match="takes a list of Skill"):
        SkillToolset([str(tmp_path)])  # type: ignore[list-item]
