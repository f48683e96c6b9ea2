"""One address says where artifacts are kept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolwright.backends import (
    DirectoryArtifacts,
    MemoryArtifacts,
    ObjectArtifacts,
    open_artifacts,
)
from toolwright.errors import StoreError, UsageError
from toolwright.messages import Scope, TextPart

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")


def test_each_form_of_address_gives_its_service(tmp_path: Path) -> None:
    assert isinstance(open_artifacts("memory://"), MemoryArtifacts)
    assert isinstance(open_artifacts(tmp_path.as_uri()), DirectoryArtifacts)
    assert isinstance(open_artifacts("s3://bucket/prefix"), ObjectArtifacts)
    assert isinstance(open_artifacts("gs://bucket"), ObjectArtifacts)
    given = MemoryArtifacts()
    assert open_artifacts(given) is given


@pytest.mark.parametrize("wrong", ["", "/tmp/x", "s3://", "file://", "ftp://x/y", 7, None])
def test_a_wrong_address_is_refused_with_the_right_forms(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"memory://.*file:///.*s3://"):
        open_artifacts(wrong)


def test_what_an_object_store_lacks_is_told() -> None:
    with pytest.raises(UsageError, match=r"'az://container' .*: .*Account must be specified$"):
        ObjectArtifacts("az://container")
    with pytest.raises(UsageError, match=r"'s3://bucket' cannot be used .*colour"):
        ObjectArtifacts("s3://bucket", colour="green")


async def test_what_is_no_artifact_is_refused_with_what_would_be() -> None:
    with pytest.raises(UsageError, match=r"TextPart\('…'\) or a BlobPart.*got str"):
        await MemoryArtifacts().save(ADA, "a.txt", "text")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="name is text; got 3"):
        await MemoryArtifacts().load(ADA, 3)  # type: ignore[arg-type]


@pytest.mark.row("004-R1b")
async def test_files_in_a_directory_keep_their_suffix(tmp_path: Path) -> None:
    artifacts = DirectoryArtifacts(tmp_path)
    await artifacts.save(ADA, "report.csv", TextPart("a,b"))
    [version] = await artifacts.versions(ADA, "report.csv")
    assert version.media_type == "text/csv"
    assert version.canonical_uri.startswith(tmp_path.as_uri())
    assert version.canonical_uri.endswith(".csv")


async def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(StoreError, match="Cannot store"):
        await DirectoryArtifacts(blocked).save(ADA, "a.txt", TextPart("x"))


def test_processes_that_save_the_same_name_lose_nothing(tmp_path: Path) -> None:
    program = """
import sys, anyio
from toolwright.backends import open_artifacts
from toolwright.messages import Scope, TextPart
async def main():
    artifacts = open_artifacts(sys.argv[1])
    scope = Scope(app_name="app", user_id="ada", session_id="s1")
    print([await artifacts.save(scope, "a.txt", TextPart("x")) for _ in range(20)])
anyio.run(main)
"""
    command = [sys.executable, "-c", program, tmp_path.as_uri()]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    saved = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    assert sorted(version for versions in saved for version in versions) == list(range(60))
