"""What runs of a skill is what was judged: a copy of its own for each run, out of reach of file tools."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.skills._make import make_skill

from toolwright.agent import Agent
from toolwright.backends import Executor, LocalExecutor, PortableSandbox, open_sandbox
from toolwright.backends.files import FilesystemBackend
from toolwright.backends.sandboxes import Bubblewrap, Landlock
from toolwright.builtin import Skill, SkillToolset, file_tools
from toolwright.messages import ToolMessage, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool

pytestmark = pytest.mark.anyio
TIDY = 'cat $SKILL_DIR/assets/x.txt; echo "$@"; ls -d .skills 2>/dev/null; echo $SKILL_DIR'
RUN = call("run_skill_script", skill_name="pdf-forms", script_path="scripts/tidy.sh", args=["a b"])


@asynccontextmanager
async def local(work: Path) -> AsyncIterator[Executor]:
    async with LocalExecutor(work) as executor:
        yield executor


@asynccontextmanager
async def portable(work: Path) -> AsyncIterator[Executor]:
    async with await PortableSandbox.open(work) as executor:
        yield executor


def walled(walls: Any) -> Callable[[Path], Any]:
    @asynccontextmanager
    async def opened(work: Path) -> AsyncIterator[Executor]:
        async with await open_sandbox(work, walls=walls()) as executor:
            yield executor

    return opened


PLACES = {
    "local": local,
    "bubblewrap": walled(Bubblewrap),
    "landlock": walled(Landlock),
    "portable": portable,
}


async def results(tools: list[Any], *turns: Any) -> list[ToolResult]:
    agent = Agent(name="clerk", model=ScriptedModel(*turns, "done"), tools=tools)
    result = await agent.run("go")
    messages = [message for message in result.history if isinstance(message, ToolMessage)]
    return [found for message in messages for found in message.results]


def told(result: ToolResult) -> dict[str, Any]:
    return json.loads(result.text)


@pytest.mark.parametrize("place", PLACES)
async def test_scripts_run_from_a_copy_that_goes_with_the_run(tmp_path: Path, place: str) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh=TIDY, assets__x_DOT_txt="asset ")
    work = tmp_path / "work"
    work.mkdir()
    async with PLACES[place](work) as executor:
        toolset = SkillToolset([Skill.from_directory(folder)], code_executor=executor)
        first, second = [told(found) for found in await results([toolset], RUN, RUN)]
        for found in (first, second):
            assert (found["exit_code"], found["stderr"]) == (0, "")
            assert found["stdout"].startswith("asset a b\n")
        homes = [found["stdout"].splitlines()[-1] for found in (first, second)]
        assert homes[0] != homes[1]
        gone = await executor.run(["ls", homes[0]])
        assert gone.exit_code != 0
    assert list(work.iterdir()) == []


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
