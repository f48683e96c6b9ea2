import asyncio

from toolwright.backends import MemoryStore
from toolwright.testing import check_store

asyncio.run(check_store(MemoryStore))  # yours instead; raises AssertionError and says why
