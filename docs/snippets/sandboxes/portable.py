import tempfile

import anyio

from toolwright.backends import PortableSandbox


async def main() -> tuple[str, str | None, tuple[str, ...]]:
    async with await PortableSandbox.open(tempfile.mkdtemp()) as sandbox:
        listed = await sandbox.run("printf '3\\n1\\n2\\n' | sort > sorted.txt; cat sorted.txt")
        value = await sandbox.run_code("open('/workspace/sorted.txt').read().split()")
        return listed.stdout, value.value, sandbox.capabilities.notes


listed, value, notes = anyio.run(main)
