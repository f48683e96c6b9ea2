"""A tool called by hand from the shell: stored only if somebody is to find it again."""

import json
import uuid
from typing import Any

from toolwright.agent import Runner
from toolwright.backends import MemoryStore, Store
from toolwright.cli import _exit as exits
from toolwright.cli._go import choose_asker, go, named_when_interrupted
from toolwright.cli._json import read_json
from toolwright.cli._options import USER
from toolwright.cli._out import say
from toolwright.cli._show import Show, outcome
from toolwright.cli._target import is_made, made
from toolwright.cli._tools import find_tool
from toolwright.kits import hand_runner
from toolwright.messages import Event, Scope, TextPart, ToolEnded, encode_event

__all__ = ["HAND", "call_tool"]

HAND = "hand-"
"""How the ids of sessions begin in which a person has called a tool."""


async def call_tool(
    runner: Runner, name: str, arguments: dict[str, Any], *, approve: bool = False
) -> int:
    """Call a tool the way a model would: validated, gated, bounded. Prints one JSON object."""
    await find_tool(runner, name)
    # Where nothing was ever stored, nothing is made for a call that leaves nothing behind.
    store = runner.store if is_made(runner.store) else MemoryStore()
    by_hand = hand_runner(runner, store=store)
    assert by_hand is not None
    ended: list[ToolEnded] = []
    session = f"{HAND}{uuid.uuid4().hex[:8]}"
    scope = Scope(app_name=by_hand.app_name, user_id=USER, session_id=session)
    prompt = f"{name} {json.dumps(arguments)}"

    async def tell_waiting() -> None:
        await _keep(scope, store, runner)
        waiting = await by_hand.pending(session)
        waits = [{"call_id": p.call_id, "kind": p.kind, "hint": p.hint} for p in waiting]
        say(json.dumps({"status": "pending", "session": session, "pending": waits}))

    async def tell_interrupted() -> None:
        if await by_hand.pending(session):
            await tell_waiting()

    try:
        async with named_when_interrupted(tell_interrupted):
            await go(by_hand, scope, prompt, _Collect(ended), choose_asker(call=approve))
    except (KeyboardInterrupt, EOFError):
        return exits.CANCELLED
    if not ended:
        await tell_waiting()
        return exits.PAUSED
    [event] = ended
    say(json.dumps(_as_json(event), ensure_ascii=False, indent=2))
    await _keep(scope, store, runner)
    return exits.DONE if outcome(event.result) == "ok" else exits.FAILED


async def _keep(scope: Scope, store: Store, runner: Runner) -> None:
    """Move the session to where the runner keeps them, if somebody is to find it there: because a call
    waits, or the tool has left something for other sessions."""
    if store is runner.store:
        return
    waits = await store.open_calls(scope.app_name, scope.session_id)
    state = await store.state(scope)
    if waits or any(key.startswith(("app:", "user:")) for key in state):
        kept = made(runner.store)
        if kept is not None:
            await kept.open(scope)
            await kept.append(scope, await store.events(scope))


class _Collect(Show):
    def __init__(self, ended: list[ToolEnded]) -> None:
        self._ended = ended

    def __call__(self, event: Event) -> None:
        if isinstance(event, ToolEnded) and not event.path:
            self._ended.append(event)


def _as_json(event: ToolEnded) -> dict[str, Any]:
    """The result's text and data; where there is more than text, all parts as the HTTP API has them."""
    result = event.result
    try:
        output: Any = read_json(result.text)
    except ValueError:
        output = result.text
    shown = {"status": outcome(result), "output": output}
    if not all(isinstance(part, TextPart) for part in result.content):
        shown["content"] = json.loads(encode_event(event))["result"]["content"]
    return shown if result.data is None else {**shown, "data": result.data}
