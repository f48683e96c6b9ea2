"""Where tests keep what they fetch: once for all checkouts of a user, since each has its exact version."""

import os
from pathlib import Path

__all__ = ["FETCHED"]

FETCHED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolwright-tests"
