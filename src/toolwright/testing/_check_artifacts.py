"""What every artifact service must do, as checks that its author can run."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from toolwright.errors import ToolError
from toolwright.messages import BlobPart, Scope, TextPart
from toolwright.testing._checks import raises, run_checks
from toolwright.tools import Artifacts

__all__ = ["ARTIFACT_CHECKS", "check_artifacts"]

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
OTHERS = (
    replace(ADA, session_id="s2"),
    replace(ADA, user_id="bob"),
    replace(ADA, app_name="other"),
    # Not to be mixed up with the first, however the parts are joined.
    Scope(app_name="app/ada", user_id="s1", session_id=""),
)
NAMES = (
    "a.txt", "A b.pdf", "dir/x.csv", "..", "../up", ".hidden", "ünï€.png", "=41", "100%", "-",
    "港" * 90, "港" * 90 + ".txt", "x" * 250,
)  # fmt: skip


async def check_artifacts(factory: Callable[[], Artifacts]) -> None:
    """Run every check on a fresh, empty service from `factory`; the first failure is raised."""
    await run_checks(ARTIFACT_CHECKS, factory)


async def check_versions_count_from_zero(artifacts: Artifacts) -> None:
    """Each save is a new version; the newest is loaded unless one is named."""
    for number in range(12):
        assert await artifacts.save(ADA, "a.txt", TextPart(f"text {number}")) == number
    newest = await artifacts.load(ADA, "a.txt")
    assert newest == BlobPart(media_type="text/plain", data=b"text 11", name="a.txt")
    third = await artifacts.load(ADA, "a.txt", 2)
    assert third is not None
    assert third.data == b"text 2"
    assert [v.version for v in await artifacts.versions(ADA, "a.txt")] == list(range(12))


async def check_what_is_not_there_is_none(artifacts: Artifacts) -> None:
    """Unknown names and versions are no error."""
    assert await artifacts.load(ADA, "none.txt") is None
    assert await artifacts.versions(ADA, "none.txt") == []
    assert await artifacts.names(ADA) == []
    await artifacts.save(ADA, "a.txt", TextPart("x"))
    assert await artifacts.load(ADA, "a.txt", 1) is None
    assert await artifacts.load(ADA, "a.txt", -1) is None
    await artifacts.delete(ADA, "none.txt")


async def check_bytes_and_metadata_come_back(artifacts: Artifacts) -> None:
    """Bytes, media type and metadata are kept as they were."""
    image = BlobPart(media_type="image/png", data=bytes(range(256)) * 40)
    version = await artifacts.save(ADA, "x.png", image, {"by": "ada", "tags": [1, None]})
    assert await artifacts.load(ADA, "x.png", version) == replace(image, name="x.png")
    [known] = await artifacts.versions(ADA, "x.png")
    assert (known.filename, known.version, known.media_type) == ("x.png", 0, "image/png")
    assert (known.size, known.custom_metadata) == (10240, {"by": "ada", "tags": [1, None]})
    assert "://" in known.canonical_uri
    assert known.created_at > 0
    empty = BlobPart(media_type="application/x-empty", data=b"")
    await artifacts.save(ADA, "empty", empty)
    assert await artifacts.load(ADA, "empty") == replace(empty, name="empty")


async def check_any_name_is_a_name(artifacts: Artifacts) -> None:
    """Slashes, dots and other alphabets stay inside, and names do not mix."""
    for name in NAMES:
        assert await artifacts.save(ADA, name, TextPart(name)) == 0
    assert await artifacts.names(ADA) == sorted(NAMES)
    for name in NAMES:
        found = await artifacts.load(ADA, name)
        assert found is not None
        assert (found.data, found.name) == (name.encode(), name)


async def check_bad_artifacts_are_refused(artifacts: Artifacts) -> None:
    """No name, a name too long, and a part without bytes."""
    for name in ("", "user:", "x" * 1000):
        await raises(ToolError, artifacts.save(ADA, name, TextPart("x")))
    elsewhere = BlobPart(media_type="image/png", url="https://example.com/x.png")
    await raises(ToolError, artifacts.save(ADA, "x.png", elsewhere))


async def check_sessions_are_apart(artifacts: Artifacts) -> None:
    """No other session, user or app sees a session's artifacts."""
    await artifacts.save(ADA, "a.txt", TextPart("mine"))
    for scope in OTHERS:
        assert await artifacts.names(scope) == []
        assert await artifacts.load(scope, "a.txt") is None
        assert await artifacts.save(scope, "a.txt", TextPart("theirs")) == 0
        await artifacts.delete(scope, "a.txt")
    assert [v.version for v in await artifacts.versions(ADA, "a.txt")] == [0]


async def check_user_names_are_shared_by_sessions(artifacts: Artifacts) -> None:
    """`user:` names belong to the user: all their sessions see them, no one else does."""
    await artifacts.save(ADA, "user:photo.png", TextPart("x"))
    await artifacts.save(ADA, "photo.png", TextPart("y"))
    second = replace(ADA, session_id="s2")
    assert await artifacts.save(second, "user:photo.png", TextPart("z")) == 1
    assert await artifacts.names(second) == ["user:photo.png"]
    assert await artifacts.names(ADA) == ["photo.png", "user:photo.png"]
    found = await artifacts.load(ADA, "user:photo.png")
    assert found is not None
    assert found.data == b"z"
    assert await artifacts.names(replace(ADA, user_id="bob")) == []


async def check_deleting_forgets_all_versions(artifacts: Artifacts) -> None:
    """A deleted name is gone, and counts from 0 again."""
    for _ in range(3):
        await artifacts.save(ADA, "a.txt", TextPart("x"))
    await artifacts.save(ADA, "b.txt", TextPart("x"))
    await artifacts.delete(ADA, "a.txt")
    assert await artifacts.names(ADA) == ["b.txt"]
    assert await artifacts.versions(ADA, "a.txt") == []
    assert await artifacts.save(ADA, "a.txt", TextPart("x")) == 0


async def check_deleting_a_session_forgets_its_artifacts(artifacts: Artifacts) -> None:
    """All names of the session are gone, whatever they are; those of the user and of others stay."""
    for name in (*NAMES, "user:a.txt"):
        await artifacts.save(ADA, name, TextPart("x"))
    for scope in OTHERS:
        await artifacts.save(scope, "a.txt", TextPart("theirs"))
    for _ in range(2):
        await artifacts.delete_session(ADA)
        assert await artifacts.names(ADA) == ["user:a.txt"]
    for scope in OTHERS:
        assert await artifacts.load(scope, "a.txt") is not None
    assert await artifacts.load(ADA, "user:a.txt") is not None
    assert await artifacts.save(ADA, "a.txt", TextPart("x")) == 0


async def check_saves_at_once_get_numbers_of_their_own(artifacts: Artifacts) -> None:
    """Ten saves of one name at once: ten versions, none lost."""
    saved: dict[int, bytes] = {}

    async def save(text: str) -> None:
        saved[await artifacts.save(ADA, "a.txt", TextPart(text))] = text.encode()

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(save, f"text {number}")
    assert sorted(saved) == list(range(10))
    for version, data in saved.items():
        found = await artifacts.load(ADA, "a.txt", version)
        assert found is not None
        assert found.data == data


ARTIFACT_CHECKS: tuple[Callable[[Artifacts], Awaitable[None]], ...] = (
    check_versions_count_from_zero,
    check_what_is_not_there_is_none,
    check_bytes_and_metadata_come_back,
    check_any_name_is_a_name,
    check_bad_artifacts_are_refused,
    check_sessions_are_apart,
    check_user_names_are_shared_by_sessions,
    check_deleting_forgets_all_versions,
    check_deleting_a_session_forgets_its_artifacts,
    check_saves_at_once_get_numbers_of_their_own,
)
"""Each takes a fresh, empty service; its docstring says what it proves."""
