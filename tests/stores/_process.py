"""A second program that uses the same store; its work is named on the command line."""

import sys

import anyio

from toolwright.backends import Store, open_store
from toolwright.errors import StoreError
from toolwright.messages import Given, Scope, StateChanged


async def append(store: Store, name: str) -> int:
    """Write forty events to the one session; how often another process was first."""
    scope = Scope(app_name="app", user_id="ada", session_id="shared")
    seq, refused = (await store.open(scope)).last_seq, 0
    for number in range(40):
        while True:
            try:
                await store.append(scope, [StateChanged(seq=seq + 1, delta={name: number})])
            except StoreError:
                refused += 1
                seq = (await store.open(scope)).last_seq
            else:
                seq += 1
                break
    return refused


async def answer(store: Store, name: str) -> int:
    """Answer all fifty calls; how many answers were the first."""
    outcomes = [await store.answer("app", "shared", f"c{n}", Given(value=name)) for n in range(50)]
    return outcomes.count("accepted")


async def endless(store: Store, name: str) -> int:
    """Write until killed, each event saying its own number in the state."""
    scope = Scope(app_name="app", user_id="ada", session_id="shared")
    seq = (await store.open(scope)).last_seq
    while True:
        seq += 1
        change = StateChanged(seq=seq, delta={name: seq, "user:last": seq})
        await store.append(scope, [change])
        print(seq, flush=True)


async def main() -> None:
    """Connect, wait for the word, work, say how it went."""
    address, work, name = sys.argv[1:]
    store = open_store(address)
    await store.sessions("app")
    print("ready", flush=True)
    sys.stdin.readline()
    works = {"append": append, "answer": answer, "endless": endless}
    print(await works[work](store, name), flush=True)
    await store.close()


if __name__ == "__main__":
    anyio.run(main)
