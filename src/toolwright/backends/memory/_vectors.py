"""Search by meaning: texts as vectors, compared by the angle between them."""

import inspect
import math
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from operator import mul
from typing import cast

from toolwright.concurrency import in_user_thread
from toolwright.errors import StoreError

__all__ = ["Embedder", "embed", "fuse", "nearest"]

Vectors = Sequence[Sequence[float]]
Embedder = Callable[[list[str]], Vectors | Awaitable[Vectors]]
"""Gives one vector for each text. A plain function is run in a thread."""

_RANK_OFFSET = 60


async def embed(embedder: Embedder, texts: list[str]) -> list[bytes]:
    """The vectors of `texts`, scaled to length one, as they are stored."""
    if inspect.iscoroutinefunction(embedder):
        vectors = await embedder(texts)
    else:
        made = await in_user_thread(partial(embedder, texts))
        vectors = await made if inspect.isawaitable(made) else cast(Vectors, made)
    if len(vectors) != len(texts):
        raise StoreError(f"The embedder gave {len(vectors)} vectors for {len(texts)} texts.")
    return [_packed(vector) for vector in vectors]


def nearest(
    query: bytes, stored: Iterable[tuple[int, bytes]], at_least: float
) -> list[tuple[int, float]]:
    """Keys and cosines of the vectors near `query`, nearest first.

    Vectors of another length were made by another embedder, and are passed over.
    """
    wanted = array("f", query)
    found = []
    for key, packed in stored:
        if len(packed) == len(query):
            found.append((key, sum(map(mul, wanted, array("f", packed)))))
    return sorted((pair for pair in found if pair[1] >= at_least), key=lambda pair: -pair[1])


def fuse(*rankings: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """One ranking out of several whose scores cannot be compared (reciprocal rank fusion)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (key, _) in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (_RANK_OFFSET + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def _packed(vector: Sequence[float]) -> bytes:
    try:
        length = math.sqrt(sum(x * x for x in vector)) or 1.0
        return array("f", [x / length for x in vector]).tobytes()
    except TypeError as error:
        raise StoreError(f"The embedder gave {vector!r:.80} instead of a vector.") from error
