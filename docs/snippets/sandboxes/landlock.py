import tempfile

import anyio

from toolwright.backends import Bubblewrap, Landlock, open_sandbox


async def main() -> tuple[str, tuple[str, ...]]:
    walls = [Bubblewrap(), Landlock()]  # Landlock only where bubblewrap is forbidden
    async with await open_sandbox(tempfile.mkdtemp(), walls=walls) as sandbox:
        return sandbox.walls.name, sandbox.capabilities.notes


chosen, notes = anyio.run(main)
