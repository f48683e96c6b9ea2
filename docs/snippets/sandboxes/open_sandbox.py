import tempfile

import anyio

from toolwright.backends import Limits, open_sandbox


async def main() -> list[str]:
    workspace = tempfile.mkdtemp()
    async with await open_sandbox(workspace, require=["network_confined"]) as sandbox:
        said = await sandbox.run("echo $GREETING from $(pwd)", env={"GREETING": "hello"})
        late = await sandbox.run("echo early; sleep 60", limits=Limits(timeout=0.5))
        await sandbox.write_file("data/in.txt", "1 2 3")
        total = await sandbox.run_code("sum(int(n) for n in open('data/in.txt').read().split())")
        server = await sandbox.start("python3 -m http.server 8000")
        await server.stop()
        return [said.stdout, late.ended, late.stdout, total.value or ""]


outputs = anyio.run(main)
