"""The workbench's agent in tests: a model that follows a script per request, with real tools."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from sqlalchemy import text
from tests.serve._serving import serving

from toolwright import (
    Agent,
    AgentTool,
    AuthConfig,
    BlobPart,
    CustomAuthScheme,
    Runner,
    ToolContext,
    deferred_tool,
    tool,
)
from toolwright.backends import MemoryArtifacts
from toolwright.backends.files import FilesystemBackend
from toolwright.builtin import ask_user, get_user_choice, todo_tools
from toolwright.messages import (
    ModelMessage,
    ReasoningPart,
    TextPart,
    ToolCall,
    Usage,
    UserMessage,
)
from toolwright.models import Delta, ModelRequest, OnDelta
from toolwright.serve import ServeSettings, Suggestion, Welcome, create_app
from toolwright.testing import call

__all__ = ["STORY", "Story", "bench_runner", "spoil", "wipe", "workbench"]

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f0005000201ff8a5b0e0000000049454e44ae426082"
)
STORY: dict[str, list[Any]] = {
    "wipe": ["I need to wipe **staging**.", call("wipe", target="staging"), "Staging is wiped."],
    "parallel": [[call("add", a=1, b=2), call("draw"), call("fail")], "All three are back."],
    "twice": [[call("add", a=1, b=2), call("add", a=3, b=4)], "Both are back."],
    "long": [[call("add", a=n, b=n) for n in range(40)], "All forty are back."],
    "choose": [call("get_user_choice", options=["red", "blue"], question="Which colour?"), "Ok."],
    "ask": [call("ask_user", question="What is your name?"), "Hello."],
    "defer": [call("order_parts", part="gear"), "The part is here."],
    "both": [[call("order_parts", part="gear"), call("wipe", target="staging")], "Both are back."],
    "plan": [
        call(
            "write_todos",
            todos=[
                {"content": "Read the files", "status": "completed"},
                {"content": "Fix the bug", "status": "in_progress"},
            ],
        ),
        "The plan stands.",
    ],
    "think": [ReasoningPart(text="First I weigh it up."), "Weighed."],
    "wait": [call("wait_for_it"), "It came."],
    "sign in": [call("read_mail"), "You have no mail."],
    "delegate": [call("apprentice", request="sweep"), "The floor is clean."],
    "sweep": [call("add", a=4, b=4), "I swept it."],
}


class Story:
    """Follows the script that the last message names; the turn is told by the history alone."""

    name = "test:story"

    def __init__(self, story: Mapping[str, Sequence[Any]] = STORY) -> None:
        self.story = story

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        messages = list(request.history)
        start = max(i for i, m in enumerate(messages) if isinstance(m, UserMessage))
        said = messages[start].text.strip()  # type: ignore[union-attr]
        turns = _turns(self.story.get(said, [f"You said: {said}"]))
        done = sum(isinstance(message, ModelMessage) for message in messages[start:])
        parts = [_part(part, f"{len(messages)}-{n}") for n, part in enumerate(turns[done])]
        for part in parts:
            if isinstance(part, TextPart) and on_delta is not None:
                for word in part.text.split(" "):
                    on_delta(Delta(kind="text", text=f"{word} "))
                    await anyio.lowlevel.checkpoint()
        usage = Usage(requests=1, input_tokens=100, output_tokens=20, cost=0.001)
        return ModelMessage(parts=tuple(parts), model=self.name, usage=usage)


def _turns(script: Sequence[Any]) -> list[list[Any]]:
    """A text or reasoning before a call is part of its turn."""
    turns: list[list[Any]] = [[]]
    for item in script:
        several = item if isinstance(item, list) else [item]
        turns[-1] += several
        last = several[-1]
        if isinstance(last, ToolCall) or item is script[-1]:
            turns.append([])
    return turns[:-1]


def _part(item: Any, key: str) -> Any:
    if isinstance(item, str):
        return TextPart(item)
    if isinstance(item, ToolCall):
        return ToolCall(call_id=f"c{key}", name=item.name, arguments=item.arguments)
    return item


@tool(require_confirmation=True, effects="destructive")
async def wipe(target: str, force: bool = False) -> str:
    """Wipe a target for good.

    Args:
        target: What to wipe.
    """
    return f"wiped {target}"


@tool(effects="read")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effects="read")
async def draw() -> BlobPart:
    """Draw a picture."""
    return BlobPart(media_type="image/png", data=PIXEL, name="pixel.png")


@tool
async def fail() -> str:
    """Always fail."""
    raise RuntimeError("the wheel came off")


@deferred_tool(timeout=3600)
async def order_parts(part: str) -> None:
    """Order a part; it comes later."""


KEY = AuthConfig(auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="X-Key"))


@tool
async def read_mail(tool_context: ToolContext) -> str:
    """Read the mail, once there is a key for it."""
    given = tool_context.get_auth_response(KEY)
    if given is None:
        tool_context.request_credential(KEY)
        return "asking"
    return f"{len(given.api_key or '')} characters of key"


def bench_runner(
    store: str = "memory://", gate: anyio.Event | None = None, story: Any = STORY
) -> Runner:
    """A runner with a tool of every kind; `wait_for_it` waits for `gate`, if there is one."""

    @tool(idempotent=True)
    async def wait_for_it(tool_context: ToolContext) -> str:
        """Wait for something."""
        tool_context.progress("waiting")
        if gate is not None:
            await gate.wait()
        return "it came"

    tools = [wipe, add, draw, fail, order_parts, get_user_choice, ask_user, *todo_tools()]
    apprentice = Agent(
        name="apprentice", description="Does small jobs.", model=Story(story), tools=[add]
    )
    tools += [read_mail, AgentTool(apprentice)]
    agent = Agent(
        name="smith",
        description="Looks after the workshop.",
        model=Story(story),
        tools=[*tools, wait_for_it],
    )
    return Runner(
        agent,
        app_name="workshop",
        store=store,
        artifacts=MemoryArtifacts(),
        credentials="memory://",
    )


async def spoil(store: Any, session_id: str, call_id: str = "%", **columns: str) -> None:
    """What a newer version, or a damaged disk, leaves of a session's pending calls, or of one."""
    changes = ", ".join(f"{column} = :{column}" for column in columns)
    of = "(SELECT key FROM toolwright_sessions WHERE session_id = :session)"
    update = text(
        f"UPDATE toolwright_pending SET {changes} WHERE call_id LIKE :call AND session_key = {of}"
    )
    values = {"session": session_id, "call": call_id, **columns}
    await store.database.write(lambda connection: connection.execute(update, values).rowcount)


@contextmanager
def workbench(
    runner: Runner | None = None, folder: Path | None = None, token: str | None = None
) -> Iterator[str]:
    """The address of a workbench."""
    app = create_app(
        runner or bench_runner(),
        settings=ServeSettings(requests_per_second=0, token=token),
        files=None if folder is None else FilesystemBackend(folder),
        welcome=Welcome(
            notice="The model is a recording.",
            suggestions=(Suggestion(title="Clean up", prompt="wipe", detail="Asks first."),),
        ),
    )
    with serving(app) as address:
        yield address
