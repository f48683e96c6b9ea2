import tempfile

import anyio

from toolwright.backends import open_sandbox


async def main() -> tuple[bool, str]:
    workspace = tempfile.mkdtemp()
    async with await open_sandbox(
        workspace, allow_hosts=["pypi.org", "*.pythonhosted.org"]
    ) as sandbox:
        refused = await sandbox.run("curl -sS -m 5 https://example.com")
        return sandbox.capabilities.network_confined, refused.stderr


confined, refused = anyio.run(main)
