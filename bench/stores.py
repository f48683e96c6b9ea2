"""What it costs to keep a session: microseconds per append of one tool turn's three events.

    python -m bench.stores [address …]

Without addresses: memory, SQLite in a temporary directory, and a Postgres server from a wheel.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from toolwright.backends import Store, open_store, sqlite_address
from toolwright.messages import (
    Event,
    ModelMessage,
    ModelReplied,
    Scope,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
)

TURNS = 500
SESSIONS = 100
CALL = ToolCall(call_id="c1", name="add", arguments='{"a": 1, "b": 2}')
RESULT = ToolResult(call_id="c1", name="add", status="ok", content=(TextPart("3"),))


def turn(number: int) -> list[Event]:
    """The events of one tool turn, numbered from where the turn before it ended."""
    first = number * 3 + 1
    reply = ModelMessage(parts=(TextPart("I will add them."), CALL))
    return [
        ModelReplied(seq=first, message=reply),
        ToolStarted(seq=first + 1, call=CALL),
        ToolEnded(seq=first + 2, result=RESULT),
    ]


async def write(store: Store, session_id: str, turns: int) -> None:
    """Open a session and append turn after turn."""
    scope = Scope(app_name="bench", user_id="ada", session_id=session_id)
    await store.open(scope)
    for number in range(turns):
        await store.append(scope, turn(number))


async def measure(address: str) -> None:
    """Print wall and processor time per append, alone and with many sessions at once."""
    store = open_store(address)
    await write(store, "warm", 5)
    wall, processor = time.perf_counter(), time.process_time()
    await write(store, "one", TURNS)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    alone = f"{wall / TURNS * 1e6:7.0f} µs wall, {processor / TURNS * 1e6:5.0f} µs processor"
    started = time.perf_counter()
    await asyncio.gather(*(write(store, f"s{n}", TURNS // SESSIONS) for n in range(SESSIONS)))
    together = f"{(time.perf_counter() - started) / TURNS * 1e6:7.0f} µs"
    print(f"{address.partition(':')[0]:12} {alone}; {SESSIONS} sessions at once: {together} each")
    await store.close()


def main() -> None:
    """Measure each address."""
    with tempfile.TemporaryDirectory() as directory:
        addresses = sys.argv[1:]
        if not addresses:
            from tests._postgres import new_database

            addresses = ["memory://", sqlite_address(Path(directory) / "bench.db"), new_database()]
        for address in addresses:
            asyncio.run(measure(address))


if __name__ == "__main__":
    main()
