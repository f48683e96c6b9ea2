"""Any object with async methods as a process sees it: calls fail, are slow, and lose their answers."""

import inspect
from typing import Any, Protocol

import anyio

from toolwright.testing.simulation._faults import FaultPlan
from toolwright.testing.simulation._process import current_process

__all__ = ["Handle"]


class _World(Protocol):
    faults: FaultPlan

    def away(self) -> bool: ...
    def note(self, text: str) -> None: ...
    def slowness(self) -> float: ...


class Handle:
    """Hands calls on to `thing` from living processes, with faults around them."""

    def __init__(self, thing: Any, world: _World, error: type[Exception]) -> None:
        self._thing = thing
        self._world = world
        self._error = error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **settings: Any) -> Any:
            process = current_process()
            await anyio.sleep(self._world.slowness())
            if process is None:
                return await found(*args, **settings)
            if self._world.away() or self._fails("fail_before", process.name, name):
                raise self._error(f"simulated: {name} could not be reached")
            result = await found(*args, **settings)
            process.must_live()
            if self._fails("fail_after", process.name, name):
                raise self._error(f"simulated: the answer of {name} was lost")
            return result

        return call

    def _fails(self, kind: Any, process: str, name: str) -> bool:
        hit = self._world.faults.hits(kind, process, name)
        if hit:
            self._world.note(f"{name}: {kind}")
        return hit
