import asyncio

from toolwright.backends import SqlMemory
from toolwright.messages import MemoryEntry, Scope

CONCEPTS = {"car": 0, "automobile": 0, "drives": 0, "dog": 1, "puppy": 1}


def embed(texts: list[str]) -> list[list[float]]:
    """Stands in for a real model, such as `SentenceTransformer(…).encode`."""
    vectors = [[0.0, 0.0] for _ in texts]
    for vector, text in zip(vectors, texts, strict=True):
        for word in text.lower().split():
            if word in CONCEPTS:
                vector[CONCEPTS[word]] += 1.0
    return vectors


async def main() -> list[str]:
    ada = Scope(app_name="app", user_id="ada", session_id="s1")
    memory = SqlMemory("memory://", embedder=embed)
    await memory.add(ada, [MemoryEntry(content="Has an old automobile")])
    found = await memory.search(ada, "Which car")
    await memory.close()
    return [entry.content for entry in found.memories]


found = asyncio.run(main())
