"""What is not a message is refused where it enters, and the session stays readable."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, BlobPart, Runner, UsageError, tool
from toolwright.errors import SettingError
from toolwright.messages import ModelMessage, TextPart, UserMessage
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

# The functions below are called wrongly on purpose, which a type checker would not allow.
message: Any = UserMessage
CHAT = {"role": "user", "content": "hi"}
WRONG: list[Any] = [
    [CHAT], ["hi", CHAT], CHAT, {}, b"xy", [b"xy"], [None], [1, 2], 5, None, Path("a.png"),
    iter(["hi"]), message("hi"), message((CHAT,)), message(None), ModelMessage(parts=()),
]  # fmt: skip


def runner(*turns: Any) -> Runner:
    return Runner(Agent(name="t", model=ScriptedModel(*turns)))


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: type(wrong).__name__)
async def test_it_is_refused_before_anything_is_stored(wrong: Any) -> None:
    made = runner("Fine.")
    with pytest.raises(SettingError, match="A message is a string"):
        await made.run(wrong, session_id="s")
    with pytest.raises(SettingError):
        await made.begin_or_resume(wrong, user_id="user", session_id="s")
    with pytest.raises(SettingError):
        await made.begin_or_resume("go", user_id="user", session_id="s", steered=[wrong])
    if wrong is not None:  # to stream without a message is to resume
        with pytest.raises(SettingError):
            async for _ in made.stream(wrong, session_id="s"):
                pass
    with pytest.raises(SettingError):
        await Agent(name="t", model=ScriptedModel()).run(wrong)
    assert await made.sessions() == []


@pytest.mark.parametrize("wrong", [[CHAT], 5], ids=repr)
async def test_a_task_with_it_is_not_added_and_a_task_is_not_steered_with_it(
    wrong: Any, tmp_path: Path
) -> None:
    orchestrator = Orchestrator(f"sqlite:///{tmp_path / 'tasks.db'}")
    async with orchestrator:
        with pytest.raises(UsageError, match=r"a string .*; got"):
            await orchestrator.enqueue("t", wrong)
        task = await orchestrator.enqueue("t", "go")
        with pytest.raises(UsageError, match="A message is a string"):
            await orchestrator.steer(task, wrong)
        assert len(await orchestrator.list()) == 1


async def test_a_run_that_is_steered_with_it_goes_on_without_it() -> None:
    started, goes_on = anyio.Event(), anyio.Event()

    @tool
    async def hold() -> str:
        """Wait."""
        started.set()
        await goes_on.wait()
        return "held"

    made = Runner(Agent(name="t", model=ScriptedModel(call("hold"), "Done."), tools=[hold]))
    wrong: Any = [CHAT]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: made.run("go", session_id="s"))
            await started.wait()
            with pytest.raises(SettingError):
                await made.steer("s", wrong)
            goes_on.set()
    assert [m.kind for m in await made.history("s")] == ["user", "model", "tool", "model"]


async def test_steering_a_session_without_a_run_refuses_it_too() -> None:
    wrong: Any = [CHAT]
    with pytest.raises(SettingError):
        await runner().steer("nobody", wrong)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ([CHAT], "at place 0. Earlier messages are not given with it: a session keeps them"),
        (["hi", ModelMessage(parts=())], "at place 1. Earlier messages are not given"),
        (CHAT, "got {'content': 'hi', 'role': 'user'}. Earlier messages"),
        (b"xy", "BlobPart(media_type=…, data=…)"),
        (Path("a.png"), "BlobPart.from_path(…)"),
        (5, "got 5."),
        ({"text": "hi"}, "got {'text': 'hi'}."),
    ],
    ids=repr,
)
def test_the_reason_says_what_was_found_and_what_to_give(wrong: Any, advice: str) -> None:
    with pytest.raises(SettingError) as caught:
        runner().run_sync(wrong)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("right", "parts"),
    [
        ("hi", ("hi",)),
        (["hi", TextPart("there")], ("hi", "there")),
        (TextPart("hi"), ("hi",)),
        (message(["hi"]), ("hi",)),
        ((BlobPart(media_type="text/plain", data=b"hi", name="a.txt"), "see"), ("hi", "see")),
        (BlobPart(media_type="image/png", url="http://127.0.0.1/a.png"), (None,)),
    ],
    ids=repr,
)
async def test_every_kind_of_message_is_stored_and_read_back(
    right: Any, parts: tuple[str | None, ...]
) -> None:
    made = runner("Fine.")
    await made.run(right, session_id="s")
    first = (await made.history("s"))[0]
    assert tuple(part.text for part in first.parts) == parts
