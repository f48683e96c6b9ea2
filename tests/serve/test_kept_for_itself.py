"""What the framework keeps of a session for itself leaves the server through no door."""

from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from tests.serve._serving import listening, new_session, say, serving, until

from toolwright import Agent, FunctionTool, Hooks, Runner
from toolwright.messages import (
    Actions,
    Event,
    Pending,
    PendingOpened,
    StateChanged,
    ToolEnded,
    ToolResult,
    encode_event,
)
from toolwright.serve import ServeSettings, create_app
from toolwright.serve._public import public_event, public_state
from toolwright.testing import ScriptedModel, call
from toolwright.tools import RESERVED, SEAL


def open_door(door: str, pin: SecretStr | None = None) -> str:
    """Open a door."""
    return "open"


async def fill(ctx: Any, tool: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "pin": SecretStr("4711")}


@pytest.mark.anyio
async def test_nobody_gets_the_key_that_digests_of_secrets_are_made_with() -> None:
    agent = Agent(
        name="porter",
        model=ScriptedModel(call("open_door", door="main")),
        tools=[FunctionTool(open_door, require_confirmation=True)],
        hooks=Hooks(before_tool=fill),
    )
    runner = Runner(agent)
    with serving(create_app(runner, settings=ServeSettings(requests_per_second=0))) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            session = await new_session(http)
            async with listening(http, f"/api/sessions/{session}/stream") as frames:
                await say(http, session, "Open it")
                seen = str(await until(frames, "run_ended"))
            key = (await runner.state(session))[SEAL]
            paths = (await http.get("/api/openapi.json")).json()["paths"]
            read = [path for path, methods in paths.items() if "get" in methods]
            for path in read:
                if path.endswith("/stream"):
                    continue
                seen += (await http.get(path.replace("{session_id}", session))).text
    assert "/api/sessions/{session_id}/state" in read
    assert "pending_opened" in seen
    assert key not in seen
    assert SEAL not in seen


@pytest.mark.parametrize("key", RESERVED)
@pytest.mark.parametrize("kind", ["state_changed", "tool_ended", "pending_opened"])
def test_no_event_carries_it(kind: str, key: str) -> None:
    delta = {f"{key}x": "mine", "yours": 1}
    made: dict[str, Event] = {
        "state_changed": StateChanged(delta=delta),
        "tool_ended": ToolEnded(
            result=ToolResult(call_id="c", name="t", status="ok"),
            actions=Actions(state_delta=delta),
        ),
        "pending_opened": PendingOpened(
            pending=Pending(call_id="c", name="t", kind="confirmation"),
            actions=Actions(state_delta=delta),
        ),
    }
    shown = encode_event(public_event(made[kind]))
    assert "mine" not in shown
    assert '"yours":1' in shown
    assert public_state(delta) == {"yours": 1}
