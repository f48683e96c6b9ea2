"""What runs of a skill is what was judged: a copy of its own for each run, out of reach of file tools."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.skills._make import make_skill

from toolwright.agent import Agent
from toolwright.backends import LocalExecutor
from toolwright.backends.files import FilesystemBackend
from toolwright.builtin import Skill, SkillToolset, file_tools
from toolwright.messages import ToolMessage, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool

pytestmark = pytest.mark.anyio
RUN = call("run_skill_script", skill_name="pdf-forms", script_path="scripts/tidy.sh", args=["a b"])


async def results(tools: list[Any], *turns: Any) -> list[ToolResult]:
    agent = Agent(name="clerk", model=ScriptedModel(*turns, "done"), tools=tools)
    result = await agent.run("go")
    messages = [message for message in result.history if isinstance(message, ToolMessage)]
    return [found for message in messages for found in message.results]


def told(result: ToolResult) -> dict[str, Any]:
    return json.loads(result.text)


async def test_nothing_that_lies_in_the_workspace_is_run_in_its_place(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh="echo tidied")
    work, outside = tmp_path / "work", tmp_path / "outside"
    (outside / "pdf-forms" / "scripts").mkdir(parents=True)
    work.mkdir()
    (work / ".skills").symlink_to(outside)
    toolset = SkillToolset([Skill.from_directory(folder)], code_executor=LocalExecutor(work))
    evil = call("write_file", file_path=".skills/pdf-forms/scripts/tidy.sh", content="echo evil")
    tools = [toolset, *file_tools(FilesystemBackend(work))]
    found = await results(tools, RUN, evil, RUN)
    assert [told(found[0])["stdout"], told(found[-1])["stdout"]] == ["tidied\n", "tidied\n"]
    assert list((outside / "pdf-forms" / "scripts").iterdir()) == []


@pytest.mark.parametrize(
    ("made", "file"),
    [
        (RUN, "scripts/tidy.sh"),
        (call("load_skill_resource", skill_name="pdf-forms", file_path="assets/x.txt"), "assets/x.txt"),
        (call("load_skill", skill_name="pdf-forms"), "assets/new.txt"),
    ],
    ids=["run", "read", "load"],
)  # fmt: skip
async def test_a_skill_that_changes_between_judging_and_running_is_not_used(
    tmp_path: Path, made: Any, file: str
) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh="echo tidied", assets__x_DOT_txt="asset")
    skill = Skill.from_directory(folder)
    toolset = SkillToolset([skill], code_executor=LocalExecutor(tmp_path))

    def meanwhile(held: Tool) -> Tool:
        async def run(args: Any, ctx: Any) -> Any:
            (folder / file).write_text("echo evil")
            return await held.run(args, ctx)

        return held.replace(run=run)

    tools = [meanwhile(held) for held in await toolset.list_tools()]
    [found] = await results(tools, made)
    assert found.status == "error"
    assert "has changed since this call was judged; call it again" in found.text
    assert "evil" not in found.text


async def test_links_are_no_files_of_a_skill(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh="cat $SKILL_DIR/assets/* && ls $SKILL_DIR")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "assets" / "x.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "more").symlink_to(tmp_path)
    skill = Skill.from_directory(folder)
    assert skill.files() == ["scripts/tidy.sh"]
    toolset = SkillToolset([skill], code_executor=LocalExecutor(tmp_path))
    [found] = await results([toolset], RUN)
    assert "secret" not in found.text


@pytest.mark.parametrize("place", ["inside", "itself", "linked", "relative", "missing", "empty"])
async def test_the_copy_lies_outside_the_workspace_wherever_tmpdir_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    script = "echo $SKILL_DIR; cd -P $SKILL_DIR && pwd"
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh=script)
    work = tmp_path / "work"
    (work / "tmp").mkdir(parents=True)
    (tmp_path / "link").symlink_to(work / "tmp")
    places = {
        "inside": str(work / "tmp"),
        "itself": str(work),
        "linked": str(tmp_path / "link"),
        "relative": "tmp",
        "missing": str(tmp_path / "nowhere"),
        "empty": "",
    }
    monkeypatch.setenv("TMPDIR", places[place])
    toolset = SkillToolset([Skill.from_directory(folder)], code_executor=LocalExecutor(work))
    [found] = await results([toolset], RUN)
    named, real = map(Path, told(found)["stdout"].splitlines())
    assert named == real
    assert named.is_absolute()
    assert not named.is_relative_to(work.resolve())
    assert not named.exists()
    assert list(work.rglob("*")) == [work / "tmp"]


async def test_a_tmpdir_outside_the_workspace_is_where_the_copy_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh="echo $SKILL_DIR")
    work, other = tmp_path / "work", tmp_path / "work of others"
    work.mkdir()
    other.mkdir()
    monkeypatch.setenv("TMPDIR", str(other))
    toolset = SkillToolset([Skill.from_directory(folder)], code_executor=LocalExecutor(work))
    [found] = await results([toolset], RUN)
    assert Path(told(found)["stdout"].strip()).parent == other.resolve()


async def test_a_script_does_not_run_where_there_is_no_place_for_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh="echo ran > ran")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setattr("toolwright.builtin.skills._scripts._PLACES", f"'{work}' /nowhere")
    toolset = SkillToolset([Skill.from_directory(folder)], code_executor=LocalExecutor(work))
    [found] = await results([toolset], RUN)
    assert told(found)["exit_code"] == 126
    assert "Set TMPDIR to a directory outside it" in told(found)["stderr"]
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "timeout"),
    [
        ("trap '' TERM HUP INT; echo > $SKILL_DIR/more; sleep 30", 0.3),
        ("kill -9 $PPID; echo > $SKILL_DIR/more", 30),
        ("exit 1", 30),
    ],
    ids=["ignores", "kills", "fails"],
)
async def test_the_copy_goes_with_the_run_whatever_the_script_does(
    script: str, timeout: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh=script)
    work, place = tmp_path / "work", tmp_path / "place"
    work.mkdir()
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    toolset = SkillToolset(
        [Skill.from_directory(folder)], code_executor=LocalExecutor(work), script_timeout=timeout
    )
    await results([toolset], RUN)
    assert list(place.iterdir()) == []
