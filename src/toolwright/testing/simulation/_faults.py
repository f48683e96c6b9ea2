"""What goes wrong in one seed: which kinds of fault, how often, and where."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, get_args

__all__ = ["Draw", "Fault", "FaultKind", "FaultPlan"]

FaultKind = Literal[
    "fail_before",
    "fail_after",
    "outage",
    "slow",
    "kill",
    "pause",
    "cancel",
    "error",
    "late",
    "lost_notice",
]
"""A transaction fails before it took effect, or after (its acknowledgement is lost); a store is away
for a while; work in a thread takes long; a process is killed, or paused; a caller gives up; an
effect or a model raises, or takes long; a notification between processes is lost."""

_HIGHEST: dict[FaultKind, float] = {
    "fail_before": 0.2,
    "fail_after": 0.2,
    "outage": 0.05,
    "slow": 0.1,
    "kill": 0.9,
    "pause": 0.9,
    "cancel": 0.9,
    "error": 0.3,
    "late": 0.3,
    "lost_notice": 0.5,
}
"""The most likely that a fault is at each place where it can happen."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong. `name` says where: the process, the kind, the n-th such place."""

    name: str
    kind: FaultKind
    at: float
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.detail}".strip()


class Draw(NamedTuple):
    """A fault that is to happen, and the stream from which its details are drawn."""

    kind: FaultKind
    name: str
    random: Random

    def between(self, shortest: float, longest: float) -> float:
        """A duration; each order of magnitude is as likely as another."""
        return shortest * (longest / shortest) ** self.random.random()

    def steps(self, most: int) -> int:
        """A number of steps; half of the time rather a small one."""
        few = int(self.between(1, most))
        return few if self.random.random() < 0.5 else self.random.randint(1, most)


class FaultPlan:
    """Draws the faults of a seed.

    Each seed has only some of the kinds, each at a rate of its own, and a small number of faults
    altogether: a few faults that meet find more than many that drown each other.
    Every place draws from a stream of its own, so that leaving one fault out moves the others little.
    """

    def __init__(
        self,
        seed: int,
        clock: Callable[[], float],
        kinds: Collection[FaultKind] | None = None,
        without: Collection[str] = (),
    ) -> None:
        swarm = Random(f"{seed}/swarm")
        self.rates: dict[FaultKind, float] = {}
        for kind in get_args(FaultKind):
            chosen, rate = swarm.random() < 0.5, 10 ** swarm.uniform(-1, 0)
            if chosen and (kinds is None or kind in kinds):
                self.rates[kind] = _HIGHEST[kind] * rate
        self.left = swarm.choice([1, 1, 2, 2, 3, 4, 6, 12])
        self.ends_at = clock() + 10 ** swarm.uniform(0, 2)
        """When the faults are over at the latest, and all must come to its end."""
        self.happened: list[Fault] = []
        self._seed = seed
        self._clock = clock
        self._without = frozenset(without)
        self._streams: dict[str, Random] = {}
        self._places: Counter[str] = Counter()

    def draw(self, kind: FaultKind, process: str) -> "Draw | None":
        """A fault of this kind for this place, if it is to have one."""
        rate = self.rates.get(kind)
        if rate is None or self.over:
            return None
        place = f"{process}/{kind}"
        stream = self._streams.get(place)
        if stream is None:
            stream = self._streams[place] = Random(f"{self._seed}/{place}")
        self._places[place] += 1
        if stream.random() >= rate:
            return None
        return Draw(kind, f"{place}/{self._places[place]}", stream)

    def happens(self, drawn: "Draw", detail: str = "") -> bool:
        """Let it happen now; False when it is to be left out, or faults are over by now."""
        if self.over:
            return False
        self.left -= 1
        if drawn.name in self._without:
            return False
        self.happened.append(Fault(drawn.name, drawn.kind, self._clock(), detail))
        return True

    def hits(self, kind: FaultKind, process: str, detail: str = "") -> bool:
        """Whether such a fault happens here and now."""
        drawn = self.draw(kind, process)
        return drawn is not None and self.happens(drawn, detail)

    def stop(self) -> None:
        """No fault from now on."""
        self.left = 0

    @property
    def over(self) -> bool:
        """Whether no more faults will come."""
        return self.left <= 0 or not self.rates or self._clock() >= self.ends_at
