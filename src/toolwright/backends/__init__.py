"""Ways to touch the world: files, processes, the network, and stores for what must be kept."""

from toolwright.backends._store import OpenCall, SessionRow, Store

__all__ = ["OpenCall", "SessionRow", "Store"]
