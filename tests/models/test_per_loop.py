"""One client for each event loop, also while other threads' loops come and go."""

import asyncio
from threading import Thread

from toolwright.models._per_loop import PerLoop


class ClosedLoop:
    """Just when one thread finds it closed, another one does too, and asks for its own client."""

    def __init__(self, clients: PerLoop[object]) -> None:
        self.clients = clients
        self.looks = 0
        self.given: list[object] = []

    def is_closed(self) -> bool:
        self.looks += 1
        if self.looks == 1:
            other = Thread(target=lambda: asyncio.run(self.ask()))
            other.start()
            other.join()
        return True

    async def ask(self) -> None:
        self.given.append(self.clients.get())


def test_two_threads_forget_one_closed_loop_while_they_get_clients() -> None:
    clients: PerLoop[object] = PerLoop(object)
    closed = ClosedLoop(clients)
    clients._clients[closed] = object()

    asyncio.run(closed.ask())

    assert closed.looks == 2
    assert len(set(map(id, closed.given))) == 2
    assert closed not in clients._clients
