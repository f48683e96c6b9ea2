"""Rank texts by how well they fit a query: BM25 over word stems."""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import accumulate

from toolwright._sealed import Sealed

__all__ = ["Ranking", "load_stemmer"]

_K1, _B = 1.2, 0.75
_TITLE_WEIGHT = 3
_WORD = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_COMMON = frozenset(
    {"a", "an", "and", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"}
)


class Ranking(Sealed):
    """Searches documents, each of a title and a text; a word in a title counts three times.

    There is no index of words: scanning one long text for a few of them takes a moment, while
    taking ten thousand texts apart first would take many.
    """

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        pairs = [(_spaced(title), text) for title, text in documents]
        texts = [f"{title} {text}\n".lower() for title, text in pairs]
        self._text = "".join(texts)
        self._lengths = [len(text) for text in texts]
        self._starts = [0, *accumulate(self._lengths)]
        self._title_lengths = [len(title) for title, _ in pairs]
        self._mean_length = len(self._text) / (len(texts) or 1)

    def search(self, query: str) -> list[int]:
        """The numbers of the documents that hold a word of the query, best first."""
        words = [word for word in _WORD.findall(_spaced(query).lower()) if word not in _COMMON]
        scores: defaultdict[int, float] = defaultdict(float)
        for stem in dict.fromkeys(map(_stem, words)):
            counts = self._count(stem)
            rarity = math.log(1 + (len(self._lengths) - len(counts) + 0.5) / (len(counts) + 0.5))
            for number, count in counts.items():
                stretch = 1 - _B + _B * self._lengths[number] / self._mean_length
                scores[number] += rarity * count * (_K1 + 1) / (count + _K1 * stretch)
        return sorted(scores, key=lambda number: (-scores[number], number))

    def _count(self, stem: str) -> dict[int, int]:
        """How often words with this stem stand in each document that has one."""
        counts: dict[int, int] = {}
        fits: dict[str, bool] = {}
        number = 0
        # Words with the same stem begin alike, but for its last letters: repositori, repository.
        beginning = stem[: max(2, len(stem) - 2)]
        for match in re.finditer(re.escape(beginning) + r"[^\W_]*", self._text):
            word, start = match[0], match.start()
            if word not in fits:
                fits[word] = _stem(word) == stem
            if fits[word] and (start == 0 or not self._text[start - 1].isalnum()):
                number = bisect_right(self._starts, start, lo=number) - 1
                in_title = start - self._starts[number] < self._title_lengths[number]
                counts[number] = counts.get(number, 0) + (_TITLE_WEIGHT if in_title else 1)
        return counts


def _spaced(text: str) -> str:
    """`listPets` as `list Pets`."""
    return text if text.islower() else _HUMPS.sub(" ", text)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return load_stemmer()(word)


@cache
def load_stemmer() -> Callable[[str], str]:
    """The function from a word to its stem; loading it takes longer than a search does."""
    try:
        import snowballstemmer  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("Tool search needs an extra: pip install 'toolwright[search]'") from error
    return snowballstemmer.stemmer("english").stemWord
