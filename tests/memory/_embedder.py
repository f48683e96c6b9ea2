"""A small deterministic embedder: words are directions, and some words mean the same."""

import re
import zlib

__all__ = ["embed_words"]

_SAME = {"hound": "dog", "puppy": "dog", "automobile": "car", "vehicle": "car"}
_SIZE = 256


def embed_words(texts: list[str]) -> list[list[float]]:
    """One vector per text; texts that share meanings point the same way."""
    return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.0] * _SIZE
    for word in re.findall(r"\w{4,}|dog|car", text.lower()):
        meaning = _SAME.get(word, word)
        vector[zlib.crc32(meaning.encode()) % _SIZE] += 1.0
    return vector
