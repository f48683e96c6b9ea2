"""Scripts of skills run from a copy of their own wherever commands run."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.skills._make import make_skill
from tests.skills.test_skill_copies import RUN, results

from toolwright.backends import Executor, LocalExecutor, PortableSandbox, open_sandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock
from toolwright.builtin import Skill, SkillToolset

pytestmark = pytest.mark.anyio
TIDY = 'cat $SKILL_DIR/assets/x.txt; echo "$@"; ls -d .skills 2>/dev/null; echo $SKILL_DIR'


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


@pytest.mark.parametrize("place", PLACES)
async def test_scripts_run_from_a_copy_that_goes_with_the_run(tmp_path: Path, place: str) -> None:
    folder = make_skill(tmp_path, scripts__tidy_DOT_sh=TIDY, assets__x_DOT_txt="asset ")
    work = tmp_path / "work"
    work.mkdir()
    async with PLACES[place](work) as executor:
        toolset = SkillToolset([Skill.from_directory(folder)], code_executor=executor)
        first, second = [json.loads(found.text) for found in await results([toolset], RUN, RUN)]
        for found in (first, second):
            assert (found["exit_code"], found["stderr"]) == (0, "")
            assert found["stdout"].startswith("asset a b\n")
        homes = [found["stdout"].splitlines()[-1] for found in (first, second)]
        assert homes[0] != homes[1]
        gone = await executor.run(["ls", homes[0]])
        assert gone.exit_code != 0
    assert list(work.iterdir()) == []
