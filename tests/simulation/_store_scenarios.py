"""The stores themselves, used by several callers at once of which some lose patience."""

import math
from typing import Any

import anyio
from tests.simulation._session_scenarios import finish, results, stored

from toolwright import Agent, AuthConfig, AuthenticatedFunctionTool, CustomAuthScheme, Runner
from toolwright.backends import MemoryCredentials
from toolwright.backends.sql import SqlStore
from toolwright.errors import StoreError
from toolwright.messages import PendingAnswered, RunStarted, Scope, user_message
from toolwright.testing import call
from toolwright.testing.simulation import ProcessDied, Simulation


async def group_commit(sim: Simulation) -> None:
    """Callers of one process write at the same time; those who are told 'stored' are stored."""
    process = sim.process("app")
    store = SqlStore(sim.database())
    told: dict[str, int] = {}

    async def write(name: str, patience: float) -> None:
        scope = Scope(app_name="app", user_id="ada", session_id=name)
        with anyio.move_on_after(patience):
            row: Any = await store.open(scope)
            sim.check(row is not None, f"{name} was told 'opened' but given nothing")
            for seq in range(1, 6):
                await store.append(scope, [_event(name, seq)])
                told[name] = seq

    async def caller(name: str, patience: float) -> None:
        try:
            await process.run(lambda: write(name, patience))
        except (ProcessDied, StoreError) as error:
            sim.note(f"{name} ended: {type(error).__name__}: {error}")

    async with anyio.create_task_group() as group:
        for n in range(3):
            group.start_soon(caller, f"honest-{n}", math.inf)
        for n in range(6):
            group.start_soon(caller, f"hasty-{n}", 10 ** sim.random.uniform(-4, -2))
    outside = SqlStore(sim.database())
    for name, seq in told.items():
        events = await outside.events(Scope(app_name="app", user_id="ada", session_id=name))
        sim.check(len(events) >= seq, f"{name} was told of {seq} events, {len(events)} are stored")
    if not sim.happened("kill", "fail_before", "fail_after", "outage"):
        for name in ("honest-0", "honest-1", "honest-2"):
            sim.check(told.get(name) == 5, f"{name} wrote {told.get(name, 0)} of 5")


def _event(name: str, seq: int) -> RunStarted:
    event = RunStarted(run_id=name, agent="a", at=0.0, message=user_message(str(seq)))
    object.__setattr__(event, "seq", seq)
    return event


async def credential_race(sim: Simulation) -> None:
    """Two people answer one credential request: the one whose answer was accepted is signed in."""
    kept = MemoryCredentials()
    scheme = CustomAuthScheme(type="apiKey", name="X-Key", location="header")
    config = AuthConfig(auth_scheme=scheme, credential_key="service")

    async def use(n: int, credential: Any) -> str:
        """Use the service."""
        await sim.effect("use", str(n))
        return f"used by {credential.api_key.partition('-')[0]}"

    made = AuthenticatedFunctionTool(use, config)
    agent = Agent(name="user", model=sim.model([call("use", n=1)], "done"), tools=[made])

    def make() -> Runner:
        return Runner(agent, store=sim.database(), credentials=sim.handle(kept))

    accepted: list[str] = []

    def person(name: str) -> Any:
        async def main() -> None:
            runner = make()
            while True:
                for pending in await runner.pending("s"):
                    value = {"api_key": f"{name}-secret-000"}
                    said = await runner.answer("s", pending.call_id, value)
                    sim.note(f"{name} answers: {said}")
                    if said == "accepted":
                        accepted.append(name)
                await anyio.sleep(sim.random.choice([0.01, 0.2, 2.0]))

        return main

    for name in ("alice", "mallory"):
        sim.start(name, person(name))
    await finish(sim, make)
    events = await stored(sim, make)
    asked = sum(isinstance(event, PendingAnswered) for event in events)
    for text in results(events, "use"):
        if text.startswith("used by ") and asked == 1 and len(accepted) == 1:
            sim.check(text == f"used by {accepted[0]}", f"{accepted[0]} was accepted, but {text}")
    await anyio.sleep(3.0)  # Whoever was about to be refused has been.
    # Where somebody was lost with a secret, or is still under way with it, there may be one more.
    if not sim.faults.happened:
        left = [at for at in kept._saved if "answer:" in at]
        sim.check(not left, f"a secret that nobody uses is kept: {left}")
