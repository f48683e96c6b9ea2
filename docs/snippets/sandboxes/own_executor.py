import tempfile

import anyio

from toolwright.backends import LocalExecutor
from toolwright.testing import check_executor


async def open_mine() -> LocalExecutor:
    """In your test: open your executor on an empty workspace."""
    return LocalExecutor(tempfile.mkdtemp())


anyio.run(check_executor, open_mine)
