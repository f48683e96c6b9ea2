"""Every artifact service does the same, whatever it keeps files in."""

import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.artifacts._clouds import azure, s3

from toolwright.backends import DirectoryArtifacts, MemoryArtifacts, ObjectArtifacts
from toolwright.testing import ARTIFACT_CHECKS, check_artifacts
from toolwright.tools import Artifacts

pytestmark = pytest.mark.anyio

Check = Callable[[Artifacts], Awaitable[None]]
each_check = pytest.mark.parametrize("check", ARTIFACT_CHECKS, ids=lambda check: check.__name__)


@pytest.fixture(
    scope="module", params=[s3, pytest.param(azure, marks=pytest.mark.npm)], ids=["s3", "azure"]
)
def cloud(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    with request.param() as options:
        yield options


@pytest.mark.row("001-39", "001-40", "001-41")
@each_check
async def test_memory_conforms(check: Check) -> None:
    await check(MemoryArtifacts())


@each_check
async def test_a_directory_conforms(check: Check, tmp_path: Path) -> None:
    await check(DirectoryArtifacts(tmp_path / "made" / "on" / "use"))


@each_check
async def test_a_directory_as_object_store_conforms(check: Check, tmp_path: Path) -> None:
    await check(ObjectArtifacts(tmp_path.as_uri()))


@each_check
async def test_memory_as_object_store_conforms(check: Check) -> None:
    await check(ObjectArtifacts("memory:///"))


@each_check
async def test_a_cloud_conforms(check: Check, cloud: dict[str, Any]) -> None:
    options = {**cloud, "url": f"{cloud['url']}/{uuid.uuid4().hex}"}
    await check(ObjectArtifacts(**options, client_options={"allow_http": True}))


async def test_the_whole_suite_runs_on_a_factory() -> None:
    await check_artifacts(MemoryArtifacts)
